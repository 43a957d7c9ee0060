"""One page of the web, fetched through the guard: redirects judged one by one, bounded in size and time.

Nothing is sent along but the address and an honest name: no cookies, no proxy of the environment, no credentials.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from agent_core.tools.spec import ToolFailure
from agent_core.tools.web_guard import Forbidden, Guard

if TYPE_CHECKING:
    from aiohttp import ClientSession

REDIRECTS = 5
BYTES = 2 * 2**20
SECONDS = 20.0  # for a page with all its redirects
AGENT = "Swarmgate/0.1 (fetches single pages that a person asks for)"
_MOVED = frozenset({301, 302, 303, 307, 308})
_TYPES = ("text/", "application/json", "application/xml", "application/pdf", "application/xhtml")
_ACCEPT = (
    "text/html, application/xhtml+xml, application/json, application/pdf, text/*;q=0.9, */*;q=0.1"
)
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came: `data` is at most BYTES, and `cut` says that there was more."""

    url: str
    media_type: str
    charset: str | None
    data: bytes
    cut: bool
    size: int | None


async def fetch(guard: Guard, url: str) -> Fetched:
    """Fetch one page. Raises ToolFailure, in one line, for whatever stands in the way. Cancelling closes it."""
    import aiohttp

    where = guard.check(url)
    connector = guard.connector()
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": AGENT, "Accept": _ACCEPT},
        trust_env=False,
    )
    try:
        async with asyncio.timeout(SECONDS), session:
            for _ in range(REDIRECTS + 1):
                found = await _once(session, where)
                if isinstance(found, Fetched):
                    return found
                where = guard.check(found)
    except Forbidden:
        raise
    except TimeoutError:
        raise ToolFailure(f"{where} did not answer in full within {SECONDS:g} s.") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        refused = _cause(error)
        raise refused or ToolFailure(f"{where} cannot be fetched: {_short(error)}.") from None
    raise ToolFailure(f"More than {REDIRECTS} redirects; the last one led to {where}.")


async def _once(session: "ClientSession", url: str) -> Fetched | str:
    """The page, or the address that it moved to."""
    async with session.get(url, allow_redirects=False, max_line_size=16_384) as answer:
        to = answer.headers.get("Location")
        if answer.status in _MOVED and to:
            return urljoin(url, to)
        if answer.status >= 400:
            raise ToolFailure(f"{url} answered {answer.status} {answer.reason or ''}".strip() + ".")
        media_type = answer.content_type.lower() if "Content-Type" in answer.headers else ""
        if media_type and not _is_readable(media_type):
            raise ToolFailure(f"{url} is {media_type}, which is not read here.")
        data = bytearray()
        async for chunk in answer.content.iter_chunked(_CHUNK):
            data += chunk
            if len(data) > BYTES:
                break
        return Fetched(
            url,
            media_type,
            answer.charset,
            bytes(data[:BYTES]),
            len(data) > BYTES,
            answer.content_length,
        )


def _is_readable(media_type: str) -> bool:
    return media_type.startswith(_TYPES) or media_type.endswith(("+json", "+xml"))


def _cause(error: BaseException | None) -> Forbidden | None:
    """The guard's refusal behind an error of the connection."""
    while error is not None:
        if isinstance(error, Forbidden):
            return error
        error = error.__cause__ or error.__context__
    return None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
