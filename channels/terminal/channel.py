"""The terminal as a channel: people connect to a chat by the control socket, or in the same process.

Sending never fails: what nobody is connected for stays in the gateway's history.
"""

import asyncio
import datetime as dt
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Literal

from channels.base import Emit, Receipt
from channels.types import Address, Author, Inbound, Kind, Outbound, Preview

Item = tuple[Literal["preview"], Preview] | tuple[Literal["message"], str, Outbound]


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class TerminalChannel:
    """Channel and CanStream. An address is `terminal:local:<chat>`; an author's id is the person's name."""

    name = "terminal"
    account = "local"

    def __init__(self, *, now: Callable[[], dt.datetime] = _now) -> None:
        self._now = now
        self._emit: Emit | None = None
        self._running = asyncio.Event()
        self._clients: dict[str, list[TerminalClient]] = {}
        self._live: dict[str, Preview] = {}  # what is in the making, by chat

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        """Take messages until cancelled. See `Channel.run`."""
        self._emit = emit
        self._running.set()
        ready()
        try:
            await asyncio.Event().wait()
        finally:
            self._running.clear()
            self._emit = None

    @property
    def shared(self) -> bool:
        """See CanShare: people come to the process that they are connected to."""
        return True

    async def meet(self) -> None:
        """See CanShare."""

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Note the reply in its receipt, then hand it to everybody connected to the chat; they show an id once."""
        if not receipt.ids:
            message_id = uuid.uuid4().hex
            await receipt.shown(message_id, final=True)
        elif receipt.final:
            message_id = receipt.ids[0]
        else:  # it says something else now, as a decided question does: shown again
            message_id = uuid.uuid4().hex
            await receipt.settled(0)
        self._live.pop(out.address.chat, None)
        for client in self._clients.get(out.address.chat, ()):
            client.put(("message", message_id, out))

    def stream(
        self,
        address: Address,
        receipt: Receipt,
        *,
        private: bool,
        reply_to: str | None,
    ) -> "TerminalPreview":
        """A stream to the chat; nothing of it goes into the receipt."""
        return TerminalPreview(self, address.chat)

    def connect(self, person: str, chat: str, language: str | None) -> "TerminalClient":
        """A person's end of a chat; it sees a reply in the making at once. Close it."""
        client = TerminalClient(self, person, chat, language)
        self._clients.setdefault(chat, []).append(client)
        if chat in self._live:
            client.put(("preview", self._live[chat]))
        return client

    def disconnect(self, client: "TerminalClient") -> None:
        """Forget a client. Does nothing for one that is not connected."""
        clients = self._clients.get(client.chat, [])
        if client in clients:
            clients.remove(client)
        if not clients:
            self._clients.pop(client.chat, None)

    def show(self, chat: str, preview: Preview | None) -> None:
        """Hand the newest state of a reply to everybody in the chat; None: there is none any more."""
        if preview is None:
            self._live.pop(chat, None)
            return
        self._live[chat] = preview
        for client in self._clients.get(chat, ()):
            client.put(("preview", preview))

    async def take(self, inbound: Inbound) -> None:
        """Emit; waits while the channel does not run. Returns when the message is durable."""
        while self._emit is None:
            await self._running.wait()
        await self._emit(inbound)

    def time(self) -> dt.datetime:
        """Now, in UTC."""
        return self._now()


class TerminalPreview:
    """One reply in the making (PreviewStream). Never waits for a client."""

    def __init__(self, channel: TerminalChannel, chat: str) -> None:
        self._channel = channel
        self._chat = chat
        self._open = True

    async def show(self, preview: Preview) -> None:
        """Show this state."""
        if self._open:
            self._channel.show(self._chat, preview)

    async def close(self) -> None:
        """No more changes."""
        if self._open:
            self._open = False
            self._channel.show(self._chat, None)


class TerminalClient:
    """What one person sees of a chat, and says to it.

    Attributes:
        person: the author's stable id.
        chat: the chat of its address.
    """

    def __init__(
        self, channel: TerminalChannel, person: str, chat: str, language: str | None
    ) -> None:
        self.person = person
        self.chat = chat
        self._channel = channel
        self._author = Author(person, person, language)
        self._items: deque[Item] = deque()
        self._seen: set[str] = set()
        self._arrived = asyncio.Event()
        self._closed = False

    async def say(self, text: str, key: str | None = None) -> str:
        """Say it; returns its key when it is durable. The same `key` (a UUID) again is the same message."""
        key = key or uuid.uuid4().hex
        await self._emit(text, key, Kind.MESSAGE)
        return key

    async def press(self, data: str) -> None:
        """Press the button that carries `data`; returns when that is durable."""
        await self._emit(data, uuid.uuid4().hex, Kind.BUTTON)

    async def items(self) -> AsyncIterator[Item]:
        """Previews and messages in order, until `close`. A preview that was not read yet gives way to a newer one."""
        while True:
            while self._items:
                yield self._items.popleft()
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()

    def put(self, item: Item) -> None:
        """Hand something to the person. Never waits."""
        if self._closed:
            return
        if item[0] == "message":
            if item[1] in self._seen:
                return
            self._seen.add(item[1])
        elif self._items and self._items[-1][0] == "preview":
            self._items.pop()
        self._items.append(item)
        self._arrived.set()

    def close(self) -> None:
        """Leave the chat; `items` ends. May be called twice."""
        self._closed = True
        self._channel.disconnect(self)
        self._arrived.set()

    async def _emit(self, text: str, key: str, kind: Kind) -> None:
        pressed = kind is Kind.BUTTON
        await self._channel.take(
            Inbound(
                address=Address(TerminalChannel.name, TerminalChannel.account, self.chat),
                key=key,
                author=self._author,
                text=text,
                at=self._channel.time(),
                kind=kind,
                message_id=None if pressed else key,
                callback=key if pressed else None,
            )
        )
