"""How a source of ours asks a server: one GET with a time-out and a limit of size; a web page is no data."""

import asyncio
import email.utils
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_core.finance.sources.source import NoData, SourceDown
from agent_core.ports import Clock

if TYPE_CHECKING:
    from aiohttp import StreamReader

TIMEOUT = 15.0
MAX_BYTES = 32 * 1024 * 1024
_PAUSED = {429, 503}


async def fetch(
    source: str,
    url: str,
    *,
    clock: Clock,
    params: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    within: float = TIMEOUT,
) -> bytes:
    """The body of a 200.

    `within` is in seconds. Raises NoData for 404, SourceDown for everything else that is no data.
    """
    from aiohttp import ClientError, ClientSession, ClientTimeout

    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=within)) as session,
            session.get(url, params=params, headers=headers, max_redirects=3) as answer,
        ):
            if answer.status in _PAUSED:
                after = seconds(answer.headers.get("Retry-After"), clock)
                raise limited(source, after)
            if answer.status == 404:
                raise NoData("no such page", source, "check the symbol")
            if answer.status != 200:
                raise down(source, f"it answered {answer.status}")
            body = await _whole(source, answer.content)
            kind = answer.headers.get("Content-Type", "")
    except TimeoutError:
        raise down(source, f"no answer within {within:g} s") from None
    except (ClientError, OSError) as error:
        raise down(source, type(error).__name__) from error
    if "text/html" in kind or _is_page(body):
        raise down(source, "it answered a web page in place of data")
    return body


async def fetch_json(source: str, url: str, *, clock: Clock, **asked: Any) -> Any:
    """The JSON of a 200, read in a thread where it is long. Raises as `fetch` does."""
    body = await fetch(source, url, clock=clock, **asked)
    try:
        return (
            json.loads(body) if len(body) < 100_000 else await asyncio.to_thread(json.loads, body)
        )
    except ValueError as error:
        raise down(source, "it answered something that is no JSON") from error


async def _whole(source: str, content: "StreamReader") -> bytes:
    """All of a body, however many pieces it comes in."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > MAX_BYTES:
            raise down(source, f"it answered more than {MAX_BYTES // 1024 // 1024} MB")
    return bytes(body)


def down(source: str, why: str) -> SourceDown:
    """The source cannot be used now."""
    return SourceDown(f"{source} cannot be asked: {why}", source, "try again later")


def limited(source: str, retry_after: float | None) -> SourceDown:
    """The source has had enough of us."""
    cure = "try again later" if retry_after is None else f"try again in {retry_after:.0f} s"
    return SourceDown(f"{source} limits our requests", source, cure, retry_after=retry_after)


def seconds(header: str | None, clock: Clock) -> float | None:
    """What a Retry-After header says, in seconds; None where it says nothing."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header.strip())
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(header) - clock.now()).total_seconds())
    except (TypeError, ValueError):
        return None


def _is_page(body: bytes) -> bool:
    return body[:200].lstrip().lower().startswith((b"<!doctype", b"<html"))
