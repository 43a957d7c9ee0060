"""The clock, against those that the gateway talks to: signed requests and budgets' days go by it."""

import asyncio
import datetime as dt
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from agent_core.models.reach import home
from gateway.doctor.findings import Finding, fail, ok, warn
from gateway.doctor.ground import Ground
from gateway.problems import Problem
from gateway.settings.settings import Settings

SECONDS = 5.0
NOTICED, REFUSED = 5.0, 120.0  # seconds; platforms refuse signatures that are 300 s off
CURE = "switch time synchronisation on, such as: timedatectl set-ntp true"


async def skew(ground: Ground) -> list[Finding]:
    """The Date of the first endpoint that tells one. Nobody is asked whom the gateway would not talk to anyway."""
    endpoints = list(_endpoints(ground.settings))
    off = await asyncio.gather(*(_off(ground, address) for address in endpoints))
    told = zip(endpoints, off, strict=True)
    return [_judged(address, seconds) for address, seconds in told if seconds is not None][:1]


async def _off(ground: Ground, address: str) -> float | None:
    """Seconds that we are ahead of a server."""
    theirs = await _date(address)
    return None if theirs is None else (ground.clock.now() - theirs).total_seconds()


def _judged(address: str, seconds: float) -> Finding:
    off = abs(seconds)
    if off < NOTICED:
        return ok("machine.clock", f"as that of {urlsplit(address).hostname}")
    way = "ahead of" if seconds > 0 else "behind"
    problem = Problem(f"the clock is {off:.0f} s {way} that of {address}", CURE)
    return (fail if off >= REFUSED else warn)("machine.clock", problem)


def _endpoints(settings: Settings) -> Iterator[str]:
    """The roots of the models' and platforms' addresses, without anything secret in them."""
    found = dict.fromkeys(_root(address) for address in _addresses(settings))
    yield from found


def _addresses(settings: Settings) -> Iterator[str]:
    models, channels = settings.models, settings.channels
    for provider in models.providers.values():
        if provider.api_key is not None:
            yield home(provider.kind, provider.base_url)
    yield from (bot.base_url for bot in channels.telegram.bots())
    yield from (bot.base_url for bot in channels.slack.bots())
    yield from (bot.api_url for bot in channels.discord.bots())


def _root(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"


async def _date(address: str) -> dt.datetime | None:
    """What a server's clock says, to the second; None where it does not tell."""
    import aiohttp

    limit = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=True) as session,
            session.head(address, allow_redirects=False) as answer,
        ):
            return parsedate_to_datetime(answer.headers["Date"])
    except (aiohttp.ClientError, TimeoutError, OSError, KeyError, ValueError):
        return None
