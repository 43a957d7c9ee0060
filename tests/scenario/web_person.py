"""A person at the web chat of a gateway process: one page that is open, over HTTP and server-sent events."""

import asyncio
import json
import uuid
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import aiohttp

from tests.scenario.process import Launched
from tests.twins.twin import Changes

WAIT_S = 30.0


class WebPerson:
    """Logged in by the code that the gateway prints, in a new session. Used as an async context manager."""

    def __init__(self, gateway: Launched) -> None:
        self._gateway = gateway
        self._messages: dict[str, dict[str, Any]] = {}
        self._changes = Changes()

    async def __aenter__(self) -> Self:
        link = urlsplit((await self._gateway.said("web chat:")).removeprefix("web chat: "))
        site = f"{link.scheme}://{link.netloc}"
        jar = aiohttp.CookieJar(unsafe=True)
        self._client = aiohttp.ClientSession(site, cookie_jar=jar, headers={"Origin": site})
        await self._client.post("/login", data={"code": parse_qs(link.query)["code"][0]})
        async with self._client.post("/chat/sessions", json={}) as response:
            self._session = (await response.json())["id"]
        opened = asyncio.Event()
        self._page = asyncio.create_task(self._read(opened))
        await opened.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._page.cancel()
        await asyncio.wait([self._page])
        await self._client.close()

    async def _read(self, opened: asyncio.Event) -> None:
        name = ""
        params = {"session": self._session}
        async with self._client.get("/chat/events", params=params) as response:
            async for raw in response.content:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    opened.set()
                    if name == "message":
                        message = json.loads(line[6:])["message"]
                        self._messages[message["id"]] = message
                        self._changes.notify()

    async def say(self, words: str) -> None:
        """Send a message; it is stored when this returns."""
        fields = {"session": self._session, "key": str(uuid.uuid4()), "text": words}
        async with self._client.post("/chat/messages", json=fields) as response:
            assert response.status == 202, await response.text()

    async def messages(self, count: int) -> list[dict[str, Any]]:
        """The bot's messages as the page reads them, once there are `count`."""
        await self._changes.until(lambda: len(self._messages) >= count, WAIT_S)
        return list(self._messages.values())

    async def texts(self, count: int) -> list[str]:
        """The texts of the bot's messages, once there are `count`."""
        return [message["text"] for message in await self.messages(count)]
