"""Which model `models.default: auto` means here: a provider with a key, else a local server, else the demo planner."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.models.catalog import PROVIDERS

LOCAL = ("ollama", "lmstudio", "llamacpp", "vllm")
PROBE_SECONDS = 0.3
_NO_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "clip")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A local OpenAI-compatible server to look for; `base_url` ends in /v1."""

    provider: str
    base_url: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen. `model` is `<provider>/<model>` or "demo"; `why` is one line by language."""

    model: str
    provider: str
    base_url: str | None
    why: Mapping[str, str]


def local_endpoints() -> tuple[Endpoint, ...]:
    """The usual places of Ollama, LM Studio, llama.cpp and vLLM, in order of preference."""
    return tuple(Endpoint(name, PROVIDERS[name].base_url or "") for name in LOCAL)


async def discover(
    keyed: Mapping[str, str | None],
    endpoints: Sequence[Endpoint] | None = None,
    timeout: float = PROBE_SECONDS,  # noqa: ASYNC109 - a bound of each probe, not of the caller
) -> Choice:
    """Choose a model (DESIGN.md 8). Never raises for a server that is not there or answers nonsense.

    Args:
        keyed: provider entries that have an API key, in order of preference, each with its own model or None.
        endpoints: local servers to look for; None means the usual places.
        timeout: seconds for each; all are asked at once, so it bounds the whole.
    """
    for provider, wanted in keyed.items():
        entry = PROVIDERS.get(provider)
        model = wanted or (entry.model if entry else "")
        if model:
            return _keyed(provider, model)
    places = local_endpoints() if endpoints is None else endpoints
    found = await asyncio.gather(*(_probe(place, timeout) for place in places))
    for place, served in zip(places, found, strict=True):
        if served:
            return _local(place, served)
    return Choice(
        "demo",
        "demo",
        None,
        {
            "en": "models.default: auto → demo (no API key is set and no local model server answers)",
            "zh": "models.default: auto → demo（没有设置 API 密钥，本机也没有模型服务）",
        },
    )


def _keyed(provider: str, model: str) -> Choice:
    name = f"{provider}/{model}"
    return Choice(
        name,
        provider,
        None,
        {
            "en": f"models.default: auto → {name} (an API key for {provider} is set)",
            "zh": f"models.default: auto → {name}（已设置 {provider} 的 API 密钥）",
        },
    )


def _local(place: Endpoint, model: str) -> Choice:
    name = f"{place.provider}/{model}"
    return Choice(
        name,
        place.provider,
        place.base_url,
        {
            "en": f"models.default: auto → {name} (a local server answers at {place.base_url})",
            "zh": f"models.default: auto → {name}（本机服务 {place.base_url} 有应答）",
        },
    )


async def _probe(place: Endpoint, timeout: float) -> str | None:  # noqa: ASYNC109 - see discover
    """The first chat model that a server lists, or None."""
    import aiohttp

    limit = aiohttp.ClientTimeout(total=timeout)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(f"{place.base_url}/models") as answer,
        ):
            return _first_model(await answer.json(content_type=None)) if answer.ok else None
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None


def _first_model(listing: Any) -> str | None:
    rows = listing.get("data") if isinstance(listing, dict) else None
    for row in rows if isinstance(rows, list) else ():
        name = row.get("id") if isinstance(row, dict) else None
        if isinstance(name, str) and name and not any(w in name.lower() for w in _NO_CHAT):
            return name
    return None
