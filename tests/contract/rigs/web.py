"""The web chat: one page that is open, over HTTP and server-sent events."""

import asyncio
import base64
import json
import uuid
from typing import Any

import aiohttp

from channels.types import Address, Attachment
from channels.web.channel import WebChannel
from channels.web.host import FileData
from gateway.clock import SystemClock
from gateway.http.app import HttpServer
from gateway.http.auth import CookieSessions, OneTimeCodes
from gateway.http.login import Login
from tests.browser.memory_host import MemoryHost
from tests.contract.rigs.base import PATIENCE_S, Rig, Shown
from tests.twins.passes import MemoryPasses
from tests.twins.receipt import MemoryReceipt

SESSION = "s1"


async def nothing() -> None:
    """Nobody asks for a code here."""


class WebRig(Rig):
    """A page shows each message id once; a preview gives way to its message."""

    name = "web"
    author = "alice"

    async def open(self) -> None:
        """See Rig."""
        passes, clock = MemoryPasses(), SystemClock()
        self.codes = OneTimeCodes(passes, clock)
        cookies = CookieSessions(b"k" * 32, passes, clock)
        self.host = MemoryHost(cookies)
        self.host.add(SESSION, "alice")
        self.channel: WebChannel = WebChannel(self.host)
        login = Login(self.codes, cookies, renew=nothing)
        routes = [*login.routes(), *self.channel.routes()]
        stop = [self.channel.close_streams]
        self._server = HttpServer("127.0.0.1", 0, routes=routes, on_stop=stop)
        await self._server.start()
        jar = aiohttp.CookieJar(unsafe=True)
        headers = {"Origin": self._server.url}
        self._client = aiohttp.ClientSession(self._server.url, cookie_jar=jar, headers=headers)
        await self._client.post("/login", data={"code": await self.codes.issue("alice")})
        self._page: asyncio.Task[None] | None = None
        self._sends: list[asyncio.Task[int]] = []
        self._messages: dict[str, dict[str, Any]] = {}
        self._live: dict[str, Any] | None = None
        self._answers: set[str] = set()
        self._last: dict[str, Any] = {}

    async def shut(self) -> None:
        """See Rig."""
        await self._server.stop()
        await asyncio.gather(*self._sends)
        await self._client.close()

    async def start(self) -> None:
        """See Rig; the page is open from then on."""
        await super().start()
        opened = asyncio.Event()
        self._page = asyncio.create_task(self._read(opened))
        await opened.wait()

    async def stop(self) -> None:
        """See Rig."""
        await super().stop()
        if self._page is not None:
            await self._page  # the stream ends with the channel
            self._page = None

    async def _read(self, opened: asyncio.Event) -> None:
        name = ""
        async with self._client.get("/chat/events", params={"session": SESSION}) as response:
            async for raw in response.content:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    self._show(name, json.loads(line[6:]))
                    opened.set()

    def _show(self, name: str, data: dict[str, Any]) -> None:
        if name == "message":
            self._messages[data["message"]["id"]] = data["message"]
            if self._live and self._live["id"] == data["preview"]:
                self._live = None
        elif name == "preview":
            same = self._live if self._live and self._live["id"] == data["id"] else {"text": ""}
            text = data.get("text", same["text"]) + data.get("text_add", "")
            self._live = {"id": data["id"], "text": text}
        elif name == "answer":
            self._answers.add(data["key"])

    @property
    def address(self) -> Address:
        """See Rig."""
        return Address("web", "local", SESSION)

    async def say(self, text: str) -> None:
        """See Rig."""
        self._last = {"session": SESSION, "key": str(uuid.uuid4()), "text": text}
        await self.again()

    async def attach(self, name: str, data: bytes, text: str = "") -> None:
        """See Rig: the page hands the file over, and then names it."""
        params = {"session": SESSION, "name": name}
        headers = {"Content-Type": "text/csv"}
        async with self._client.post(
            "/chat/files", params=params, data=data, headers=headers
        ) as response:
            ref = (await response.json())["ref"]
        key = str(uuid.uuid4())
        self._last = {"session": SESSION, "key": key, "text": text, "files": [ref]}
        await self.again()

    async def again(self) -> None:
        """See Rig: the page sends again what was not confirmed."""
        self._sends.append(asyncio.create_task(self._post("/chat/messages", self._last)))

    async def press(self, label: str) -> None:
        """See Rig."""
        shown = [m for m in self._messages.values() if m["buttons"]][-1]
        (data,) = (b["data"] for b in shown["buttons"] if b["label"] == label)
        key = str(uuid.uuid4())
        self._last = {"session": SESSION, "key": key, "message_id": shown["id"], "data": data}
        self._sends.append(asyncio.create_task(self._post("/chat/presses", self._last)))

    async def _post(self, path: str, fields: dict[str, Any]) -> int:
        async with self._client.post(path, json=fields) as response:
            return response.status

    def told(self) -> bool:
        """202."""
        return bool(self._sends) and all(s.done() and s.result() == 202 for s in self._sends)

    async def until_told(self) -> None:
        """See Rig."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*self._sends)
        assert self.told()

    async def answered(self) -> None:
        """See Rig."""
        async with asyncio.timeout(PATIENCE_S):
            while self._last["key"] not in self._answers:
                await asyncio.sleep(0.01)

    def lose_answer(self, receipt: MemoryReceipt) -> None:
        """A kill between the receipt and the page."""
        receipt.fail_next = ConnectionResetError("the process was killed")

    def visible(self, address: Address | None = None) -> list[Shown]:
        """See Rig."""
        return [
            Shown(
                m["id"],
                m["text"],
                tuple(b["label"] for b in m["buttons"]),
                tuple(self._bytes(f["url"]) for f in m["files"]),
            )
            for m in self._messages.values()
        ]

    def _bytes(self, url: str) -> bytes:
        if url.startswith("data:"):
            return base64.b64decode(url.partition(",")[2])
        return self.host.files["alice", url.rpartition("/")[2]].data

    def preview(self) -> str:
        """See Rig."""
        return self._live["text"] if self._live else ""

    def file(self, name: str, media_type: str, data: bytes, caption: str = "") -> Attachment:
        """See Rig: the gateway has stored it, and the page fetches it."""
        ref = f"b{len(self.host.files)}"
        self.host.files["alice", ref] = FileData(data, media_type, name)
        return Attachment(name, media_type, ref=ref, caption=caption)

    def consumers(self) -> int:
        """Pages are the consumers here: what one says is taken by whoever runs."""
        return int(self._run is not None)

    def posted(self) -> int:
        """See Rig."""
        return len(self._messages)
