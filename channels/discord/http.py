"""discord.py's REST and gateway clients, pointed at the addresses of one bot.

The library keeps its addresses in class attributes, over which several bots would fight; here each bot has its own.
"""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import yarl
from discord import RateLimited
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Ratelimit, Route

from channels.discord.config import DiscordConfig

CONNECT_TIMEOUT = 5.0
# Uploads are up to 10 MB (more in boosted servers), and the platform answers after the last byte.
UPLOAD_TIMEOUT = 120.0


def proxy_for(url: str) -> str | None:
    """HTTPS_PROXY and the like: Discord is not reachable directly from everywhere."""
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


class Bucket(Ratelimit):
    """A rate limit that is waited for before a request, `patience` seconds at most; longer is RateLimited.

    The library's own sleeps after the request that used the window up, which keeps back an answer that is there, and
    with a limit on waiting it refuses requests for which there is room.
    """

    __slots__ = ("patience",)

    def __init__(self, patience: float) -> None:
        super().__init__(None)
        self.patience = patience

    async def acquire(self) -> None:
        """Take one of the window's tokens, in order of arrival."""
        self._last_request = self._loop.time()
        while not self._room():
            left = None if self.expires is None else max(0.0, self.expires - self._loop.time())
            if left is not None and left > self.patience:
                raise RateLimited(left)
            await self._turn(left)
        self.remaining -= 1
        self.outgoing += 1

    def _room(self) -> bool:
        if self.is_expired():
            self.reset()  # type: ignore[no-untyped-call]
        return self.remaining > 0

    async def _turn(self, left: float | None) -> None:
        """Until a token is free or the window is over."""
        future = self._loop.create_future()
        self._pending_requests.append(future)
        try:
            await asyncio.wait([future], timeout=left)
        except asyncio.CancelledError:
            if future.done():
                self._wake_next()
            raise
        finally:
            future.cancel()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let those who wait look again, in their order: there is room now, or a window to wait for."""
        self.outgoing -= 1
        if self.expires is None:  # no answer said anything of a window
            self.reset()  # type: ignore[no-untyped-call]
        self._wake(len(self._pending_requests))


class Http(HTTPClient):
    """REST and the opening of gateway connections."""

    def __init__(self, loop: asyncio.AbstractEventLoop, config: DiscordConfig) -> None:
        super().__init__(loop, proxy=proxy_for(config.api_url))
        self._config = config
        # The constructor takes nothing under 30 s; a place that is flooded must not hold its sender so long unseen.
        self.max_ratelimit_timeout = config.patience

    def get_ratelimit(self, key: str) -> Ratelimit:
        """The window of a route; see Bucket."""
        if key not in self._buckets:
            self._buckets[key] = Bucket(self._config.patience)
            self._try_clear_expired_ratelimits()
        return self._buckets[key]

    async def request(
        self, route: Route, *, files: Sequence[Any] | None = None, **more: Any
    ) -> Any:
        """One request, with this bot's address and a time-out."""
        route.url = self._config.api_url.rstrip("/") + route.url.removeprefix(Route.BASE)
        total = UPLOAD_TIMEOUT if files else self._config.request_timeout
        more.setdefault("timeout", aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_TIMEOUT))
        return await super().request(route, files=files, **more)

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """A gateway connection. An address that Discord gave for resuming is used as it is."""
        wanted = yarl.URL(url)
        if self._config.gateway_url and wanted.host == DiscordWebSocket.DEFAULT_GATEWAY.host:
            url = str(yarl.URL(self._config.gateway_url).with_query(wanted.query))
        return await super().ws_connect(url, compress=compress)
