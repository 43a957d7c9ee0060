"""The whole gateway at one platform: a rig's channel in front of a House with a database and a scripted model."""

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import AsyncIterator
from typing import Any

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.runtime.team import Team
from channels.base import Channel
from channels.discord.channel import DiscordChannel
from channels.errors import UnknownChannel, Unreachable
from channels.slack.channel import SlackChannel
from channels.telegram.channel import TelegramChannel
from channels.types import Address
from gateway.inbound.seen import Known, SeenPlaces
from gateway.storage.db import Database
from tests.contract.rigs.base import Rig
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.hooks import SlackHttpRig, TelegramHookRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.contract.rigs.terminal import TerminalRig
from tests.contract.rigs.web import WebRig
from tests.harness import agent, team
from tests.house import House, Watch, settings, until

PLATFORMS: tuple[type[Rig], ...] = (TelegramRig, SlackRig, DiscordRig)
HOOKS: tuple[type[Rig], ...] = (TelegramHookRig, SlackHttpRig)
ALL: tuple[type[Rig], ...] = (*PLATFORMS, WebRig, TerminalRig)
WAIT_S = 20.0  # a loaded machine; an idle one needs a fraction of a second


class Wall(Watch):
    """Real time, which a test may move on by `seconds`. Waits of the gateway itself are short."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC) + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return time.monotonic() + self.seconds

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(min(seconds, 0.05))


class Desk(House):
    """A House whose channel is the rig's. What comes in is stored before the rig notes it in `got`."""

    def __init__(self, db: Database, rig: Rig, script: Any, **more: Any) -> None:
        values = {"access": {"default": "allow"}, **more.pop("values", {})}
        rules = settings(**values)
        super().__init__(db, script, clock=Wall(), rules=rules, nap=asyncio.sleep, **more)
        self.rig = rig

    def find(self, address: Address) -> Any:
        """See House; as the channel manager has it."""
        channel: Channel = self.rig.channel
        if channel.name == address.channel and not channel.account:
            raise Unreachable(f"{address.channel} is not connected yet")
        if (channel.name, channel.account) != (address.channel, address.account):
            raise UnknownChannel(str(address))
        return channel

    async def quiet(self) -> None:
        """See House."""
        await until(lambda: not self.engine._running and not self.senders.pending(), WAIT_S)

    async def shown(self, count: int = 1) -> list[str]:
        """What the private chat shows, once there are so many messages and nothing runs any more."""
        await until(lambda: len(self.rig.visible()) >= count, WAIT_S)
        await self.quiet()
        await self.rig.seen(count)
        return self.texts()

    def texts(self) -> list[str]:
        """What the private chat shows now."""
        return [m.text for m in self.rig.visible()]

    async def settled(self) -> None:
        """Nothing is left to do, nothing was refused by the provider."""
        await self.quiet()
        assert await self.one("select count(*) from inbox where status <> 2") == 0
        assert await self.one("select count(*) from outbox where status <> 2") == 0
        assert not self.model.violations


@contextlib.asynccontextmanager
async def desk(
    db: Database, rig: Rig, script: Any, *, receiving: bool = True, **more: Any
) -> AsyncIterator[Desk]:
    """A process at the rig's platform; afterwards it has ended, as after a stop, and another may begin."""
    made = Desk(db, rig, script, **more)
    rig.store = made.intake.accept
    async with made:
        try:
            if receiving:
                await rig.start()
            yield made
        finally:
            await rig.stop()
            rig.store = None


def restart(rig: Rig, db: Database) -> None:
    """Give the rig a channel that remembers nothing but what the database has, as a new process does.

    The web chat and the terminal keep theirs, since the page and the client hold on to it.
    """
    match rig.channel:
        case TelegramChannel() as old:
            rig.channel = TelegramChannel(old._config)
        case SlackChannel() as old:
            rig.channel = SlackChannel(old._config, knows=Known(db))
        case DiscordChannel() as old:
            rig.channel = DiscordChannel(old._config, seen=SeenPlaces(db))
        case _:
            pass


def paying() -> Team:
    """A lead that may pay, with a yes, and ask."""
    return team(agent(tools=("echo", "slow", "pay", "ask_user")))


def last_words(request: ModelRequest) -> str:
    """What the person said last."""
    return request.messages[-1].text.rpartition("\n")[2]


def echo(request: ModelRequest) -> str:
    """A model that says what it heard."""
    return f"re {last_words(request)}"


async def hang(_: ModelRequest) -> Answer:
    """A model that never answers."""
    await asyncio.Event().wait()
    raise AssertionError
