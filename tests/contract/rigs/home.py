"""The gateway behind a real channel at its platform's twin: what comes in is taken, run and answered."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from channels.types import Inbound
from gateway.storage.db import Database
from tests.contract.rigs.base import Rig
from tests.harness import agent, team
from tests.house import House, Watch, settings

PATIENCE_S = 45.0
TOOLS = ("echo", "pay", "ask_user")
OPEN = {"default": "allow", "operators": ["telegram:9", "slack:T1:U9", "discord:9"]}
LONG_S = 10.0


class Held(Watch):
    """A clock on which a long wait lasts until the test ends it; short ones pass at once.

    `moved` is told by how much it went on.
    """

    def __init__(self, moved: Callable[[float], None]) -> None:
        super().__init__()
        self.moved = moved
        self.waits: list[float] = []
        self._over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds < LONG_S:
            await super().sleep(seconds)
            return
        self.waits.append(seconds)
        await self._over.wait()
        self.seconds += seconds
        self.moved(seconds)

    def end(self) -> None:
        """The time has passed."""
        self._over.set()


async def until(true: Callable[[], Any]) -> Any:
    """Wait for what the channel, the gateway and the platform bring about."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := true()):
            await asyncio.sleep(0.005)
    return found


@asynccontextmanager
async def housed(
    db: Database,
    rig: Rig,
    script: Any,
    *,
    groups: dict[str, Any] | None = None,
    clock: Watch | None = None,
    nap: Callable[[float], Awaitable[None]] | None = None,
) -> AsyncIterator[House]:
    """A house whose one channel is the rig's; both run."""
    rules = settings(access=OPEN, **({"groups": groups} if groups else {}))
    one: Any = rig.channel
    house = House(
        db,
        script,
        the_team=team(agent(tools=TOOLS)),
        clock=clock,
        rules=rules,
        channel=one,
        nap=nap,
        still=True,
    )
    store = rig.emit

    async def take(inbound: Inbound) -> None:
        await house.intake.accept(inbound)
        await store(inbound)

    rig.emit = take  # type: ignore[method-assign]
    try:
        async with house:
            await rig.start()
            yield house
            await rig.stop()
    finally:
        rig.emit = store  # type: ignore[method-assign]
