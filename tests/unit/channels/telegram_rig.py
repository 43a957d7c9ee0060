"""A Telegram channel that runs against the twin."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.telegram.channel import TelegramChannel
from channels.telegram.config import TelegramConfig
from channels.types import Address, Inbound
from tests.twins.telegram import TelegramTwin

CHAT = 5
PRIVATE = Address("telegram", "777", str(CHAT))
GROUP = Address("telegram", "777", "-100")
QUICK: dict[str, Any] = {
    "settle": 0.05,
    "draft_every": 0.05,
    "visible_after": 0.1,
    "edit_every": 0.1,
    "read_timeout": 2.0,
    "poll_timeout": 5,
}


class Rig:
    """The channel, its task, and what came in."""

    def __init__(self, twin: TelegramTwin, **config: Any) -> None:
        self.twin = twin
        urls = {"base_url": twin.base_url, "base_file_url": twin.base_file_url}
        self.channel = TelegramChannel(TelegramConfig(twin.token, **urls, **{**QUICK, **config}))
        self.got: list[Inbound] = []
        self.arrived = asyncio.Condition()
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def emit(self, inbound: Inbound) -> None:
        """Store."""
        async with self.arrived:
            self.got.append(inbound)
            self.arrived.notify_all()

    async def start(self) -> None:
        """Receive."""
        self.task = asyncio.create_task(self.channel.run(self.emit, self.ready.set))

    async def inbound(self, count: int = 1) -> list[Inbound]:
        """What came in, as soon as there are `count`."""
        async with asyncio.timeout(5), self.arrived:
            await self.arrived.wait_for(lambda: len(self.got) >= count)
        return self.got

    async def stop(self) -> None:
        """Cancel and close."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        await self.channel.close()


@asynccontextmanager
async def rig(*, receiving: bool = True, **config: Any) -> AsyncIterator[Rig]:
    """A rig with a twin of its own; asserts that the protocol was kept."""
    async with TelegramTwin() as twin:
        twin.say(CHAT, "/start")  # a bot can write only to those who wrote to it
        twin.group(int(GROUP.chat), forum=True)
        twin.state.updates.pending.clear()
        one = Rig(twin, **config)
        try:
            if receiving:
                await one.start()
            yield one
        finally:
            await one.stop()
        assert twin.violations == []
