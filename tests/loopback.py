"""A chat platform in memory: it implements the channel contract, keeps what people would see, and fails on request."""

import asyncio
import itertools
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from channels.base import Emit, Receipt
from channels.types import Address, Attachment, Button, Inbound, Outbound, Preview


@dataclass(slots=True)
class Shown:
    """A visible message. `edits` counts how often its text was replaced."""

    id: str
    chat: str
    text: str
    files: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None
    edits: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """What the platform answers to the next part: an error, before (or after) the message is visible there."""

    error: BaseException
    after: bool = False


class Loopback:
    """channels.base.Channel, CanStream and CanAnswerButtons.

    A text goes out in parts of `limit` characters. `fail` queues faults for a chat, one for each part that is sent.
    With `previews` a stream makes its message visible at the first `show`, so that `send` finishes it by an edit.
    """

    def __init__(
        self,
        name: str = "telegram",
        account: str = "777",
        *,
        limit: int = 4_000,
        previews: bool = True,
    ) -> None:
        self.name = name
        self.account = account
        self.limit = limit
        self.previews = previews
        self.messages: dict[str, Shown] = {}
        self.order: list[Shown] = []
        self.streams: list[LoopbackStream] = []
        self.answers: list[tuple[str, str]] = []
        self.attempts: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.emit: Emit | None = None
        self._faults: dict[str, deque[Fault | None]] = defaultdict(deque)
        self._ids = itertools.count(1)

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        self.emit = emit
        ready()
        await asyncio.Event().wait()

    async def say(self, inbound: Inbound) -> None:
        """Somebody writes."""
        assert self.emit is not None
        await self.emit(inbound)

    def fail(self, chat: str, *errors: BaseException | None, after: bool = False) -> None:
        """Let the next parts to this chat fail, one for each error; None lets one through."""
        self._faults[chat].extend(None if e is None else Fault(e, after) for e in errors)

    def hold(self, chat: str) -> asyncio.Event:
        """Let sends to this chat wait until the event is set."""
        return self.gates.setdefault(chat, asyncio.Event())

    def texts(self, chat: str) -> list[str]:
        """What is visible in a chat, in the order of its appearance."""
        return [shown.text for shown in self.order if shown.chat == chat]

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        parts = [out.text[i : i + self.limit] for i in range(0, len(out.text), self.limit)] or [""]
        for index, part in enumerate(parts):
            if index < receipt.final:
                continue
            self.attempts.append(out.address.chat)
            await self._part(out, receipt, index, part, last=index == len(parts) - 1)

    async def _part(
        self, out: Outbound, receipt: Receipt, index: int, text: str, *, last: bool
    ) -> None:
        chat = out.address.chat
        if gate := self.gates.get(chat):
            await gate.wait()
        faults = self._faults[chat]
        fault = faults.popleft() if faults else None
        if fault and not fault.after:
            raise fault.error
        files, buttons = (out.attachments, out.buttons) if last else ((), ())
        known = self.messages.get(receipt.ids[index]) if index < len(receipt.ids) else None
        if known is not None:
            known.text, known.files, known.buttons = text, files, buttons
            known.edits += 1
            if not fault:
                await receipt.settled(index)
        else:
            new = self._appear(Shown("", chat, text, files, buttons, out.reply_to))
            if not fault:
                await receipt.shown(new.id, final=True, last=last)
        if fault:
            raise fault.error

    def _appear(self, shown: Shown) -> Shown:
        shown.id = str(next(self._ids))
        self.messages[shown.id] = shown
        self.order.append(shown)
        return shown

    def stream(
        self, address: Address, receipt: Receipt, *, private: bool, reply_to: str | None
    ) -> "LoopbackStream":
        stream = LoopbackStream(self, address, receipt, private=private, reply_to=reply_to)
        self.streams.append(stream)
        return stream

    async def answer(self, callback: str, text: str = "") -> None:
        self.answers.append((callback, text))


@dataclass(slots=True)
class LoopbackStream:
    """channels.base.PreviewStream. `previews` holds every preview; `gate` holds a show up, `error` breaks one."""

    channel: Loopback
    address: Address
    receipt: Receipt
    private: bool
    reply_to: str | None
    previews: list[Preview] = field(default_factory=list)
    gate: asyncio.Event | None = None
    error: Exception | None = None
    closed: int = 0

    async def show(self, preview: Preview) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        self.previews.append(preview)
        if not self.channel.previews:
            return
        if self.receipt.ids:
            self.channel.messages[self.receipt.ids[0]].text = preview.text or preview.status
            return
        text = preview.text or preview.status
        new = Shown("", self.address.chat, text, (), preview.buttons, self.reply_to)
        await self.receipt.shown(self.channel._appear(new).id, final=False)

    async def close(self) -> None:
        self.closed += 1
        if self.error is not None:
            raise self.error
