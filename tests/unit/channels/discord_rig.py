"""A Discord channel that runs against the twin."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from channels.discord.channel import DiscordChannel
from channels.discord.config import DiscordConfig
from channels.types import Address, Inbound
from tests.twins.discord import BOT, DiscordTwin

QUICK: dict[str, Any] = {
    "settle": 0.05,
    "visible_after": 0.1,
    "edit_every": 0.1,
    "request_timeout": 3.0,
    "identify_pause": 0.05,
    "guild_ready_timeout": 0.05,
}


class Remembered:
    """channels.base.Seen over what a rig got."""

    def __init__(self, rows: Sequence[tuple[Address, str]] = ()) -> None:
        self.rows = list(rows)

    async def places(self, channel: str, account: str) -> Sequence[tuple[Address, str]]:
        """As they are."""
        return [row for row in self.rows if row[0].account == account]


class Rig:
    """The channel, its task, and what came in."""

    def __init__(
        self, twin: DiscordTwin, more: dict[str, Any] | None = None, **config: Any
    ) -> None:
        self.twin = twin
        urls = {"api_url": twin.api_url, "gateway_url": twin.gateway_url, "cdn_url": twin.cdn_url}
        self.config = DiscordConfig(twin.token, **urls, **{**QUICK, **config})
        self.channel = DiscordChannel(self.config, **(more or {}))
        self.got: list[Inbound] = []
        self.arrived = asyncio.Condition()
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def emit(self, inbound: Inbound) -> None:
        """Store."""
        async with self.arrived:
            self.got.append(inbound)
            self.arrived.notify_all()
        self.twin.changes.notify()

    async def start(self) -> None:
        """Listen."""
        self.task = asyncio.create_task(self.channel.run(self.emit, self.ready.set))
        waits = asyncio.create_task(self.ready.wait())
        async with asyncio.timeout(10):
            await asyncio.wait({self.task, waits}, return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()

    async def inbound(self, count: int = 1) -> list[Inbound]:
        """What came in, as soon as there are `count`."""
        async with asyncio.timeout(8), self.arrived:
            await self.arrived.wait_for(lambda: len(self.got) >= count)
        return self.got

    def direct(self, user: str = "5") -> Address:
        """The direct chat with a person."""
        return Address("discord", BOT, self.twin.dm_channel(user))

    def general(self, thread: str | None = None) -> Address:
        """The server's channel, or a thread of it."""
        return Address("discord", BOT, self.twin.general, thread)

    async def stop(self) -> None:
        """Cancel and close."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        await self.channel.close()


@asynccontextmanager
async def rig(
    *, receiving: bool = True, more: dict[str, Any] | None = None, **config: Any
) -> AsyncIterator[Rig]:
    """A rig with a twin of its own; asserts that the protocol was kept and each new message has a nonce."""
    async with DiscordTwin() as twin:
        one = Rig(twin, more, **config)
        try:
            if receiving:
                await one.start()
            yield one
        finally:
            await one.stop()
        assert twin.violations == []
        for call in twin.matching(r"POST .*/channels/\d+/messages$"):
            body = call.params.get("payload_json") or str(call.params)
            assert "nonce" in body
            assert "enforce_nonce" in body
