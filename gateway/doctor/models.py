"""Whether the models answer. Nothing is generated, so it costs nothing."""

import asyncio

from agent_core.models.discover import discover
from agent_core.models.reach import Reached, reach
from gateway.doctor.findings import Finding, fail, ok, warn
from gateway.doctor.ground import Ground
from gateway.settings.models import Models, Provider
from gateway.settings.settings import Settings

FREE = "listing models costs nothing"


async def reachable(ground: Ground) -> list[Finding]:
    """The default model, the fallbacks, and what hears voice messages: each asked once."""
    models = ground.settings.models
    named = [("models.default", models.default)]
    named += [(f"models.fallback.{at}", name) for at, name in enumerate(models.fallback)]
    if models.transcriber:
        named.append(("models.transcriber", models.transcriber))
    return list(await asyncio.gather(*(_one(ground.settings, key, name) for key, name in named)))


async def _one(settings: Settings, key: str, name: str) -> Finding:
    models, local = settings.models, None
    if name == "auto":
        choice = await discover(models.keyed())
        name, local = choice.model, choice.base_url
    if name == "demo":
        return ok(key, "the demo planner, which needs no key and costs nothing")
    provider, _, model = name.partition("/")
    entry = models.providers.get(provider) or Provider(base_url=local)
    secret = entry.api_key.get_secret_value() if entry.api_key else ""
    return _told(
        settings, key, name, await reach(entry.kind, entry.base_url or local, secret, model)
    )


def _told(settings: Settings, key: str, name: str, found: Reached) -> Finding:
    if found.verdict == "listed":
        return ok(key, f"{name} is there ({FREE})")
    if found.verdict == "answers":
        return ok(key, f"{name}: the endpoint answers, and {found.said}")
    place, cure = _where(settings.models, key, name, found)
    problem = settings.refuse(place, f"{name}: {found.said}", cure).problems[0]
    return (fail if found.verdict == "refused" else warn)(key, problem)


def _where(models: Models, key: str, name: str, found: Reached) -> tuple[str, str]:
    """The key of the settings to look at, and the cure."""
    provider = f"models.providers.{name.partition('/')[0]}"
    if found.verdict == "refused":
        return f"{provider}.api_key", "make a new one at the provider, and set it"
    if found.verdict == "unlisted":
        return key, "write its name as the provider does"
    return f"{provider}.base_url", "check the network, the proxy and the provider's status page"
