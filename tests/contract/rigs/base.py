"""What the contract suite asks of each platform: a channel, the person who talks to it, and what that person sees."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from channels.base import Channel, Emit
from channels.types import Address, Attachment, Inbound
from tests.twins.receipt import MemoryReceipt

PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as a person sees it: text, labels of buttons, bytes of files."""

    id: str
    text: str
    buttons: tuple[str, ...] = ()
    files: tuple[bytes, ...] = ()


class Rig(ABC):
    """One channel at its platform, with one private chat.

    Attributes:
        name: the channel's.
        limit: the longest text of one message; None where there is no limit.
        keyed: a send whose answer was lost can be repeated without a second message.
        tells: the platform is told that a message is safe (an offset, an ack, a status).
        got: what came in, once for each time that `emit` was called.
        gate: while it is clear, `emit` does not return.
        store: where a message goes before `emit` returns, if anywhere.
        author: the person's id.
    """

    name: ClassVar[str]
    limit: ClassVar[int | None] = None
    keyed: ClassVar[bool] = True
    tells: ClassVar[bool] = True
    author: ClassVar[str]

    channel: Channel

    def __init__(self) -> None:
        self.got: list[Inbound] = []
        self.asked = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.store: Emit | None = None
        self._arrived = asyncio.Condition()
        self._run: asyncio.Task[None] | None = None

    # The channel's life ------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()
        await self.shut()

    @abstractmethod
    async def open(self) -> None:
        """Open the platform and build the channel; nothing runs yet."""

    @abstractmethod
    async def shut(self) -> None:
        """Close the platform."""

    async def start(self) -> None:
        """Run the channel, and wait until updates flow."""
        ready = asyncio.Event()
        self._run = asyncio.create_task(self.channel.run(self.emit, ready.set))
        waiting = asyncio.create_task(ready.wait())
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait({self._run, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        assert not self._run.done(), self._run.exception()

    async def stop(self) -> None:
        """Cancel `run`, and close what a send opened without it."""
        if self._run is not None:
            self._run.cancel()
            await asyncio.gather(self._run, return_exceptions=True)
            self._run = None
        close = getattr(self.channel, "close", None)
        if close is not None:
            await close()

    async def cancel(self) -> None:
        """Cancel `run`, and nothing else."""
        assert self._run is not None
        self._run.cancel()
        await asyncio.gather(self._run, return_exceptions=True)
        self._run = None

    async def emit(self, inbound: Inbound) -> None:
        """Take it; returns when the gate is open."""
        async with self._arrived:
            self.asked += 1
            self._arrived.notify_all()
        await self.gate.wait()
        if self.store is not None:
            await self.store(inbound)
        async with self._arrived:
            self.got.append(inbound)
            self._arrived.notify_all()

    async def begun(self, count: int = 1) -> None:
        """Wait until `emit` was called so often."""
        async with asyncio.timeout(PATIENCE_S), self._arrived:
            await self._arrived.wait_for(lambda: self.asked >= count)

    async def inbound(self, count: int = 1) -> list[Inbound]:
        """What came in, as soon as there are `count`."""
        async with asyncio.timeout(PATIENCE_S), self._arrived:
            await self._arrived.wait_for(lambda: len(self.got) >= count)
        return self.got

    # What the person does ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def address(self) -> Address:
        """The private chat."""

    @abstractmethod
    async def say(self, text: str) -> None:
        """Write to the bot."""

    @abstractmethod
    async def again(self) -> None:
        """The platform hands the last message over once more."""

    @abstractmethod
    async def press(self, label: str) -> None:
        """Press a button of the bot's newest message that has it."""

    async def attach(self, name: str, data: bytes, text: str = "") -> None:
        """Send a file."""
        raise NotImplementedError

    async def echo(self, text: str) -> None:
        """The platform shows the bot a message of its own; nothing where it never does."""
        assert text

    # What the platform does --------------------------------------------------------------------------------------

    def told(self) -> bool:
        """Whether the platform knows that all it handed over is safe."""
        raise NotImplementedError

    async def until_told(self) -> None:
        """Wait until it knows."""
        raise NotImplementedError

    async def answered(self) -> None:
        """Wait until the last press was answered."""
        raise NotImplementedError

    @abstractmethod
    def lose_answer(self, receipt: MemoryReceipt) -> None:
        """Of the next message the platform's answer, or what we noted of it, is lost."""

    def flood(self, seconds: float) -> None:
        """No message to the private chat for so long."""
        raise NotImplementedError

    def elsewhere(self) -> Address:
        """Another private chat."""
        raise NotImplementedError

    def fail(self, skip: int) -> None:
        """Refuse one new message after `skip` more, without a side effect."""
        raise NotImplementedError

    def refuse_markup(self) -> None:
        """Refuse the formatting of the next message."""
        raise NotImplementedError

    # What the person sees ----------------------------------------------------------------------------------------

    @abstractmethod
    def visible(self, address: Address | None = None) -> list[Shown]:
        """The bot's visible messages, in order."""

    async def seen(self, count: int) -> list[Shown]:
        """The same, as soon as there are `count`; screens that are told later are waited for."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.visible()) < count:
                await asyncio.sleep(0.01)
        return self.visible()

    @abstractmethod
    def preview(self) -> str:
        """What is on the screen of a reply in the making that is no message yet; empty: nothing."""

    def file(self, name: str, media_type: str, data: bytes, caption: str = "") -> Attachment:
        """A file to send, as the gateway hands it over."""
        return Attachment(name, media_type, data=data, caption=caption)

    @abstractmethod
    def consumers(self) -> int:
        """How many connections wait for updates."""

    @abstractmethod
    def posted(self) -> int:
        """How many requests for a new message there were so far."""

    @property
    def violations(self) -> list[str]:
        """What broke the protocol."""
        return []


def sockets() -> set[str]:
    """The open sockets of this process that are no pipes of the loop itself."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found
