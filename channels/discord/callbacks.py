"""Answers to interactions, and downloads: the calls that need no token and wait for no rate limit.

Discord wants an answer to an interaction within 3 seconds; a queue of other calls must not stand before it.
"""

import asyncio
import logging
from typing import Any

import aiohttp

from channels.discord.config import DiscordConfig
from channels.discord.http import CONNECT_TIMEOUT, proxy_for
from channels.errors import Ambiguous, Refused, Unreachable

log = logging.getLogger(__name__)

CDN = "https://cdn.discordapp.com"
ANSWER_TIMEOUT = 2.5
# discord.com/developers/docs/interactions/receiving-and-responding: callback types, and a message only one person sees
MESSAGE, DEFER, DEFER_UPDATE, CHOICES, MODAL = 4, 5, 6, 8, 9
EPHEMERAL = 1 << 6

Json = dict[str, Any]


class Callbacks:
    """Calls that belong to one interaction, by its id and token; opens its connections when they are needed."""

    def __init__(self, config: DiscordConfig) -> None:
        self._config = config
        self._session: aiohttp.ClientSession | None = None
        self._answering: dict[str, asyncio.Event] = {}

    async def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def answer(
        self, interaction: int, token: str, kind: int, data: Json | None = None
    ) -> Json | None:
        """The first answer; what Discord says of it, or None when it came too late or not at all."""
        body: Json = {"type": kind, **({"data": data} if data is not None else {})}
        url = f"/interactions/{interaction}/{token}/callback?with_response=true"
        done = self._answering[token] = asyncio.Event()
        try:
            return await self._call("POST", url, body)
        finally:
            done.set()
            del self._answering[token]

    async def edit(self, application: int, token: str, body: Json) -> None:
        """Change the first answer; harmless when it is too late."""
        await self._call("PATCH", f"/webhooks/{application}/{token}/messages/@original", body)

    async def delete(self, application: int, token: str) -> None:
        """Take the first answer away; harmless when it is too late."""
        await self._call("DELETE", f"/webhooks/{application}/{token}/messages/@original")

    async def tell(self, application: int, token: str, text: str) -> None:
        """Say something to the one person only; harmless when it is too late."""
        if (first := self._answering.get(token)) is not None:
            await first.wait()  # Discord takes nothing before the first answer
        body = {"content": text[:2000], "flags": EPHEMERAL, "allowed_mentions": {"parse": []}}
        await self._call("POST", f"/webhooks/{application}/{token}", body)

    async def fetch(self, url: str, limit: int) -> bytes | None:
        """Download at most `limit` bytes; None when the address has run out.

        Raises Refused (larger), Unreachable, Ambiguous.
        """
        url = (
            self._config.cdn_url.rstrip("/") + url.removeprefix(CDN) if url.startswith(CDN) else url
        )
        timeout = aiohttp.ClientTimeout(
            sock_connect=CONNECT_TIMEOUT, sock_read=self._config.request_timeout
        )
        data = bytearray()
        try:
            async with self._open().get(url, timeout=timeout) as response:
                if response.status in {403, 404}:
                    return None
                if response.status != 200:
                    raise Unreachable(f"the file cannot be had (status {response.status})")
                async for piece in response.content.iter_chunked(2**16):
                    data += piece
                    if len(data) > limit:
                        raise Refused(f"the file is larger than {limit} bytes")
        except aiohttp.ClientConnectorError as e:
            raise Unreachable("cannot connect to Discord") from e
        except (aiohttp.ClientError, OSError) as e:
            raise Ambiguous(type(e).__name__) from e
        return bytes(data)

    async def _call(self, method: str, path: str, body: Json | None = None) -> Json | None:
        timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT)
        url = self._config.api_url.rstrip("/") + path
        try:
            async with self._open().request(method, url, json=body, timeout=timeout) as response:
                if response.status >= 400:
                    # Never with the address: it holds the interaction's token.
                    log.info("an interaction was not answered: status %s", response.status)
                    return None
                return await response.json() if response.status == 200 else {}
        except (aiohttp.ClientError, OSError) as e:
            log.info("an interaction was not answered: %s", type(e).__name__)
            return None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), proxy=proxy_for(self._config.api_url)
            )
        return self._session
