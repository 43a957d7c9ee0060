"""A Slack channel that runs against the twin."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from channels.slack.channel import SlackChannel
from channels.slack.config import SlackConfig
from channels.types import Address, Inbound
from tests.twins.slack import APP_TOKEN, BOT_TOKEN, SECRET, SlackTwin

ACCOUNT = "T1.U0BOT"
DM = Address("slack", ACCOUNT, "D1")
QUICK: dict[str, Any] = {
    "settle": 0.05,
    "append_every": 0.05,
    "update_every": 0.05,
    "read_timeout": 2.0,
}


def thread(ts: str, chat: str = "C1") -> Address:
    return Address("slack", ACCOUNT, chat, ts)


class Rig:
    """The channel, its task, and what came in."""

    def __init__(self, twin: SlackTwin, **config: Any) -> None:
        self.twin = twin
        self.known: set[Address] = set()
        tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "signing_secret": SECRET}
        settings = {**tokens, "base_url": twin.base_url, **QUICK, **config}
        self.config = SlackConfig(**settings)
        self.channel = SlackChannel(self.config, knows=self._knows)
        self.got: list[Inbound] = []
        self.before_store: Callable[[Inbound], Awaitable[None]] | None = None
        self.arrived = asyncio.Condition()
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.server: web.AppRunner | None = None

    async def _knows(self, address: Address) -> bool:
        return address in self.known

    async def emit(self, inbound: Inbound) -> None:
        """Store; a key is stored once, as in the inbox."""
        if self.before_store is not None:
            await self.before_store(inbound)
        async with self.arrived:
            self.got.append(inbound)
            self.arrived.notify_all()

    @property
    def stored(self) -> list[Inbound]:
        """What the inbox would hold: each key once, and only what is addressed."""
        return list({i.key: i for i in reversed(self.got) if i.addressed}.values())[::-1]

    async def start(self) -> None:
        """Receive."""
        if self.config.mode == "http":
            await self._serve()
        self.task = asyncio.create_task(self.channel.run(self.emit, self.ready.set))
        async with asyncio.timeout(5):
            await self.ready.wait()

    async def _serve(self) -> None:
        app = web.Application()
        app.add_routes(self.channel.routes())
        self.server = web.AppRunner(app, access_log=None)
        await self.server.setup()
        site = web.TCPSite(self.server, "127.0.0.1", 0)
        await site.start()
        self.twin.link.http = "http://{}:{}".format(*self.server.addresses[0][:2])

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
        if self.server is not None:
            await self.server.cleanup()


@asynccontextmanager
async def rig(*, receiving: bool = True, **config: Any) -> AsyncIterator[Rig]:
    """A rig with a twin of its own; asserts that the protocol was kept."""
    async with SlackTwin() as twin:
        twin.channel("C1")
        one = Rig(twin, **config)
        try:
            if receiving:
                await one.start()
            yield one
        finally:
            await one.stop()
        assert twin.violations == []
