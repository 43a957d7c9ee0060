"""Two processes with the same bot: one receives, both send, the other goes on when the first leaves (DESIGN.md 4)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from channels.base import CanClose, CanShare, Channel
from channels.manager import ChannelManager, State
from channels.types import Inbound, Outbound
from tests.contract.rigs.base import PATIENCE_S, Rig, sockets
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.twins.receipt import MemoryReceipt

RIGS: dict[str, type[Rig]] = {r.name: r for r in (TelegramRig, SlackRig, DiscordRig)}


class One:
    """Roles of which each is held by whoever asks first."""

    def __init__(self) -> None:
        self.locks: dict[str, asyncio.Lock] = {}

    async def run(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        async with self.locks.setdefault(name, asyncio.Lock()):
            await body()


class Replica:
    """One process: its manager, and what it took in."""

    def __init__(self, channel: Channel, roles: One) -> None:
        self.channel = channel
        self.manager = ChannelManager(own=roles.run)
        self.got: asyncio.Queue[str] = asyncio.Queue()

    async def start(self) -> None:
        await self.manager.start([self.channel], self._take)
        await self.manager.wait_ready()

    async def _take(self, inbound: Inbound) -> None:
        self.got.put_nowait(inbound.text)

    @property
    def state(self) -> State:
        return self.manager.states()[0].state

    async def becomes(self, state: State) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.state is not state:
                await asyncio.sleep(0.01)


@pytest.fixture(params=list(RIGS))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    async with RIGS[request.param]() as made:
        yield made
    assert made.violations == []


def another(channel: Any) -> Channel:
    """The same bot, as a second process has it."""
    made = type(channel)(channel._config)
    assert isinstance(made, Channel)
    return made


async def test_a_standby_sends_without_receiving_and_goes_on_where_the_first_has_left(rig: Rig):
    roles = One()
    first, second = Replica(rig.channel, roles), Replica(another(rig.channel), roles)
    await first.start()
    await first.becomes(State.READY)
    await second.start()
    assert second.state is State.STANDBY
    assert second.manager.can_send(second.channel)
    assert rig.consumers() <= 1  # none between two polls

    await rig.say("to the first")
    assert await asyncio.wait_for(first.got.get(), PATIENCE_S) == "to the first"
    await second.manager.send(Outbound(rig.address, "said by the standby"), MemoryReceipt())
    assert [m.text for m in rig.visible()] == ["said by the standby"]
    assert rig.consumers() <= 1  # none between two polls

    await first.manager.leave()
    await second.becomes(State.READY)
    await rig.say("to the second")
    assert await asyncio.wait_for(second.got.get(), PATIENCE_S) == "to the second"
    # A process that drains still says what its turns have come to.
    await first.manager.send(Outbound(rig.address, "said while draining"), MemoryReceipt())
    assert [m.text for m in rig.visible()][-1] == "said while draining"
    assert first.got.empty()
    await second.manager.stop()
    await first.manager.stop()
    assert rig.consumers() == 0


async def test_what_was_opened_to_send_is_closed_at_the_end(rig: Rig):
    roles, before = One(), sockets()
    async with roles.locks.setdefault(f"{rig.name}:{rig.address.account}", asyncio.Lock()):
        standby = Replica(another(rig.channel), roles)
        await standby.start()
        await standby.manager.send(Outbound(rig.address, "hello"), MemoryReceipt())
        assert isinstance(standby.channel, CanClose)
        await standby.manager.stop()
    await asyncio.sleep(0.1)
    assert sockets() <= before


@pytest.mark.parametrize("rig", ["telegram"], indirect=True)
async def test_webhooks_reach_any_process(rig: Rig):
    made: Any = rig.channel
    assert isinstance(made, CanShare)
    assert not made.shared
