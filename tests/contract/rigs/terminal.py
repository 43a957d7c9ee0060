"""The terminal: one client that is connected to its chat, in the same process."""

import asyncio
import uuid

from channels.terminal.channel import TerminalChannel, TerminalClient
from channels.types import Address, Outbound, Preview
from tests.contract.rigs.base import PATIENCE_S, Rig, Shown
from tests.twins.receipt import MemoryReceipt

CHAT = "alice.main"


class TerminalRig(Rig):
    """A client shows each message id once, in place of the preview before it."""

    name = "terminal"
    author = "alice"

    async def open(self) -> None:
        """See Rig."""
        self.channel: TerminalChannel = TerminalChannel()
        self._client: TerminalClient = self.channel.connect("alice", CHAT, "en")
        self._messages: dict[str, Outbound] = {}
        self._live = Preview()
        self._says: list[asyncio.Task[str]] = []
        self._last = ("", "")
        self._reader = asyncio.create_task(self._read())

    async def shut(self) -> None:
        """See Rig."""
        self._client.close()
        await self._reader
        for task in self._says:
            task.cancel()
        await asyncio.gather(*self._says, return_exceptions=True)

    async def _read(self) -> None:
        async for item in self._client.items():
            if item[0] == "preview":
                self._live = item[1]
            else:
                self._live = Preview()
                self._messages[item[1]] = item[2]

    @property
    def address(self) -> Address:
        """See Rig."""
        return Address("terminal", "local", CHAT)

    async def say(self, text: str) -> None:
        """See Rig."""
        self._last = (text, uuid.uuid4().hex)
        await self.again()

    async def again(self) -> None:
        """See Rig: the client says again what was not confirmed."""
        self._says.append(asyncio.create_task(self._client.say(*self._last)))

    async def press(self, label: str) -> None:
        """See Rig."""
        shown = [m for m in self._messages.values() if m.buttons][-1]
        (data,) = (b.data for b in shown.buttons if b.label == label)
        await self._client.press(data)

    def told(self) -> bool:
        """`say` has returned."""
        return all(task.done() for task in self._says)

    async def until_told(self) -> None:
        """See Rig."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*self._says)

    def lose_answer(self, receipt: MemoryReceipt) -> None:
        """A kill between the receipt and the client."""
        receipt.fail_next = ConnectionResetError("the process was killed")

    def visible(self, address: Address | None = None) -> list[Shown]:
        """See Rig."""
        return [
            Shown(
                i,
                m.text,
                tuple(b.label for b in m.buttons),
                tuple(a.data or b"" for a in m.attachments),
            )
            for i, m in self._messages.items()
        ]

    def preview(self) -> str:
        """See Rig."""
        return self._live.text

    def consumers(self) -> int:
        """See Rig."""
        return int(self._run is not None)

    def posted(self) -> int:
        """See Rig."""
        return len(self._messages)
