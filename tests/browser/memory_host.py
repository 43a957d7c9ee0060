"""The gateway as the web chat sees it, in memory: for tests of the channel and of its page."""

import asyncio
import datetime as dt
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from aiohttp import web

from agent_core.finance.chart_dark import darkened
from channels.types import Address, Attachment, Button, Inbound, Kind, Outbound, Step
from channels.web.channel import WebChannel
from channels.web.host import (
    FileData,
    FileItem,
    FileLimits,
    HistoryItem,
    SessionItem,
    Unfit,
)
from channels.web.routes import ref_of
from gateway.clock import SystemClock
from gateway.http.app import HttpServer
from gateway.http.auth import CookieSessions, OneTimeCodes
from gateway.http.login import Login
from tests.twins.passes import MemoryPasses
from tests.twins.receipt import MemoryReceipt

MAX_BYTES, MAX_FILES = 100_000, 3


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass
class Chat:
    """One session."""

    owner: str
    item: SessionItem
    messages: list[HistoryItem] = field(default_factory=list)


class MemoryHost:
    """Implements channels.web.host.WebHost."""

    def __init__(self, cookies: CookieSessions) -> None:
        self.cookies = cookies
        self.chats: dict[str, Chat] = {}
        self.files: dict[tuple[str, str], FileData] = {}

    async def person(self, request: web.Request) -> str | None:
        return await self.cookies.person(request)

    async def sessions(self, person: str) -> Sequence[SessionItem]:
        items = [c.item for c in self.chats.values() if c.owner == person]
        return sorted(items, key=lambda i: i.updated_at, reverse=True)

    async def create(self, person: str) -> SessionItem:
        return self.add(f"s{len(self.chats) + 1}", person)

    def add(self, session_id: str, person: str, title: str = "") -> SessionItem:
        item = SessionItem(session_id, title, now())
        self.chats[session_id] = Chat(person, item)
        return item

    async def owns(self, person: str, session_id: str) -> bool:
        return session_id in self.chats and self.chats[session_id].owner == person

    async def history(self, person: str, session_id: str) -> Sequence[HistoryItem]:
        if not await self.owns(person, session_id):
            raise KeyError(session_id)
        return tuple(self.chats[session_id].messages)

    async def file(self, person: str, ref: str, *, dark: bool = False) -> FileData:
        light = self.files[person, ref]
        turned = darkened(light.data) if dark else None
        return light if turned is None else replace(light, data=turned)

    @property
    def limits(self) -> FileLimits:
        return FileLimits(MAX_BYTES, MAX_FILES)

    def admit(self, person: str, name: str, media_type: str) -> None:
        if name.endswith(".zip"):
            raise Unfit("file_kind", f"Nothing can be done with {name}.")

    async def keep(
        self, person: str, session_id: str, name: str, media_type: str, data: bytes
    ) -> FileItem:
        ref = hashlib.sha256(data).hexdigest()
        self.files[person, ref] = FileData(data, media_type, name)
        return FileItem(ref, name, media_type, size=len(data))

    async def kept(self, person: str, refs: Sequence[str]) -> Sequence[FileItem]:
        files = [(ref, self.files[person, ref]) for ref in refs]
        return [FileItem(ref, f.name, f.media_type, size=len(f.data)) for ref, f in files]

    def commands(self, language: str) -> Sequence[tuple[str, str]]:
        if language == "zh":
            return [("help", "命令列表"), ("new", "开始新会话"), ("stop", "停止当前任务")]
        return [
            ("help", "What I can do"),
            ("new", "Start a new session"),
            ("stop", "Stop the running task"),
            ("status", "What is going on"),
        ]

    def note(self, session_id: str, message: HistoryItem) -> None:
        chat = self.chats[session_id]
        chat.messages.append(message)
        said = message.text or " ".join(file.name for file in message.files)
        title = chat.item.title or said[:60]
        chat.item = SessionItem(session_id, title, message.at)


Script = Callable[["Gateway", Inbound], Awaitable[None]]


class Gateway:
    """A channel with a server, a login and a scripted engine behind it; `taken` is what came in, each key once."""

    def __init__(self, script: Script | None = None, *, person: str = "alice") -> None:
        passes, clock = MemoryPasses(), SystemClock()
        self.codes = OneTimeCodes(passes, clock)
        self.cookies = CookieSessions(b"k" * 32, passes, clock)
        self.host = MemoryHost(self.cookies)
        self.channel = WebChannel(self.host)
        self.taken: list[Inbound] = []
        self.presses: asyncio.Queue[Inbound] = asyncio.Queue()
        self.printed: list[str] = []
        self.toast = ""
        self.person = person
        self.script = script
        self._tasks: set[asyncio.Task[None]] = set()
        self._run: asyncio.Task[None] | None = None
        self._server: HttpServer | None = None

    @property
    def url(self) -> str:
        assert self._server
        return self._server.url

    async def code(self) -> str:
        return await self.codes.issue(self.person)

    async def renew(self) -> None:
        self.printed.append(await self.code())

    async def start(self, port: int = 0) -> None:
        login = Login(self.codes, self.cookies, renew=self.renew)
        self._server = HttpServer(
            "127.0.0.1",
            port,
            routes=[*login.routes(), *self.channel.routes()],
            on_stop=[self.channel.close_streams],
        )
        ready = asyncio.Event()
        self._run = asyncio.create_task(self.channel.run(self.emit, ready.set))
        await ready.wait()
        await self._server.start()

    async def stop(self) -> None:
        assert self._server
        assert self._run
        await self._server.stop()
        for task in [self._run, *self._tasks]:
            task.cancel()
        await asyncio.gather(self._run, *self._tasks, return_exceptions=True)

    async def emit(self, inbound: Inbound) -> None:
        if any(known.key == inbound.key for known in self.taken):
            return
        self.taken.append(inbound)
        if inbound.kind is Kind.BUTTON:
            self.presses.put_nowait(inbound)
            if inbound.callback:
                await self.channel.answer(inbound.callback, self.toast)
            return
        files = [
            FileItem(ref_of(a)[1], a.name, a.media_type, size=a.size) for a in inbound.attachments
        ]
        message = HistoryItem(
            inbound.key, "user", inbound.text, inbound.at, files, again=inbound.again
        )
        self.host.note(inbound.address.chat, message)
        if self.script:
            task = asyncio.create_task(self.script(self, inbound))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def reply(
        self,
        address: Address,
        text: str,
        *,
        receipt: MemoryReceipt | None = None,
        files: Sequence[FileItem] = (),
        buttons: Sequence[Button] = (),
        steps: Sequence[Step] = (),
    ) -> str:
        """Send an answer and put it into the history, as the outbox does."""
        receipt = receipt or MemoryReceipt()
        attachments = tuple(
            Attachment(f.name, f.media_type, ref=f.ref, caption=f.caption) for f in files
        )
        await self.channel.send(Outbound(address, text, attachments, tuple(buttons)), receipt)
        message_id = receipt.ids[0]
        item = HistoryItem(message_id, "assistant", text, now(), files, buttons, steps)
        self.host.note(address.chat, item)
        return message_id
