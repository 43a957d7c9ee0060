"""Supervision of channels, with channels that do what the test tells them."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable

import pytest

from channels.base import Emit, Receipt
from channels.errors import BadCredentials, Unreachable
from channels.manager import ChannelManager, State, UnknownChannel
from channels.types import Address, Author, Inbound, Outbound
from tests.twins.receipt import MemoryReceipt


class Line:
    """A loopback channel: `put` hands a message to every consumer that runs."""

    def __init__(self, name: str = "line", account: str = "1") -> None:
        self.name = name
        self.account = account
        self.consumers: list[Emit] = []
        self.most = 0
        self.ends: asyncio.Queue[BaseException | None] = asyncio.Queue()
        self.sent: list[str] = []

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        self.consumers.append(emit)
        self.most = max(self.most, len(self.consumers))
        ready()
        try:
            end = await self.ends.get()
            if end is not None:
                raise end
        finally:
            self.consumers.remove(emit)

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        await receipt.shown(f"m{len(self.sent)}", final=True)
        self.sent.append(out.text)

    async def put(self, text: str) -> None:
        message = Inbound(
            Address(self.name, self.account, "7"), text, Author("u"), text, dt.datetime.now(dt.UTC)
        )
        for emit in self.consumers:
            await emit(message)


class Bed:
    """Injected time: sleeps are noted and end when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.asleep = asyncio.Event()
        self.wake = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asleep.set()
        await self.wake.wait()
        self.wake.clear()
        self.now += seconds


async def ignore(_: Inbound) -> None:
    return


async def test_every_message_goes_to_the_one_stream() -> None:
    got: list[str] = []

    async def emit(message: Inbound) -> None:
        got.append(f"{message.address.account} {message.text}")

    one, two = Line(account="1"), Line(account="2")
    manager = ChannelManager()
    await manager.start([one, two], emit)
    await manager.wait_ready()
    await one.put("a")
    await two.put("b")
    assert got == ["1 a", "2 b"]
    assert [state.state for state in manager.states()] == [State.READY, State.READY]
    await manager.stop()
    assert [state.state for state in manager.states()] == [State.STOPPED, State.STOPPED]


async def test_five_restarts_leave_one_consumer() -> None:
    """AstrBot#7259: each stop and start left one more poller behind."""
    line, got = Line(), []

    async def emit(message: Inbound) -> None:
        got.append(message.text)

    manager = ChannelManager()
    for _ in range(5):
        await manager.start([line], emit)
        await manager.wait_ready()
        await manager.stop()
        assert line.consumers == []
    await manager.start([line], emit)
    await manager.wait_ready()
    await line.put("once")
    assert got == ["once"]
    assert line.most == 1
    await manager.stop()


async def test_a_second_start_is_refused() -> None:
    manager = ChannelManager()
    await manager.start([Line()], ignore)
    with pytest.raises(RuntimeError, match="stop them first"):
        await manager.start([Line()], ignore)
    await manager.stop()


async def test_one_bot_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="line:1 is there twice"):
        await ChannelManager().start([Line(), Line()], ignore)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (OSError("no\nroute"), "OSError: no route"),
        (Unreachable("platform is down"), "platform is down"),
        (asyncio.CancelledError(), "it cancelled itself"),
        (None, "it ended by itself"),
    ],
)
async def test_a_channel_that_ends_is_started_again(end: BaseException | None, reason: str) -> None:
    bed, line, other = Bed(), Line(), Line("other")
    manager = ChannelManager(sleep=bed.sleep, clock=lambda: bed.now)
    await manager.start([line, other], ignore)
    await manager.wait_ready()
    line.ends.put_nowait(end)
    await bed.asleep.wait()
    state = manager.states()[0]
    assert (state.state, state.reason, state.restarts) == (State.RESTARTING, reason, 1)
    assert manager.states()[1].state is State.READY
    bed.wake.set()
    async with asyncio.timeout(5):
        while manager.states()[0].state is not State.READY:
            await asyncio.sleep(0)
    assert len(line.consumers) == 1
    await manager.stop()


async def test_back_off_doubles_to_a_minute_and_starts_anew_after_health() -> None:
    bed, line = Bed(), Line()
    manager = ChannelManager(sleep=bed.sleep, clock=lambda: bed.now)
    await manager.start([line], ignore)
    for number in range(9):
        if number == 8:
            while not line.consumers:
                await asyncio.sleep(0)
            bed.now += 300
        line.ends.put_nowait(OSError())
        await bed.asleep.wait()
        bed.asleep.clear()
        bed.wake.set()
    assert bed.slept == [1, 2, 4, 8, 16, 32, 60, 60, 1]
    await manager.stop()


async def test_bad_credentials_fail_one_channel_only() -> None:
    line, other = Line(), Line("other")
    manager = ChannelManager()
    await manager.start([line, other], ignore)
    line.ends.put_nowait(BadCredentials("the token is refused;\n set a new one"))
    await manager.wait_ready()
    async with asyncio.timeout(5):
        while manager.states()[0].state is not State.FAILED:
            await asyncio.sleep(0)
    assert manager.states()[0].reason == "the token is refused; set a new one"
    await manager.wait_ready(line)
    assert len(other.consumers) == 1
    await manager.stop()
    assert manager.states()[0].state is State.FAILED


async def test_replies_find_their_bot() -> None:
    one, two = Line(account="1"), Line(account="2")
    manager = ChannelManager()
    await manager.start([one, two], ignore)
    receipt = MemoryReceipt()
    await manager.send(Outbound(Address("line", "2", "7"), "hello"), receipt)
    assert (one.sent, two.sent, list(receipt.ids)) == ([], ["hello"], ["m0"])
    with pytest.raises(UnknownChannel, match="no channel line:3 is enabled"):
        manager.get(Address("line", "3", "7"))
    await manager.stop()


async def test_run_lasts_until_it_is_cancelled() -> None:
    line, manager = Line(), ChannelManager()
    task = asyncio.create_task(manager.run([line], ignore))
    async with asyncio.timeout(5):
        while not line.consumers:
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert line.consumers == []


class Polled(Line):
    """A bot that one process receives for; `refused` is what the platform says of its token."""

    def __init__(self, refused: BadCredentials | None = None) -> None:
        super().__init__()
        self.refused = refused
        self.met = 0

    @property
    def shared(self) -> bool:
        return False

    async def meet(self) -> None:
        self.met += 1
        if self.refused is not None:
            raise self.refused


async def never(name: str, body: Callable[[], Awaitable[None]]) -> None:
    """Another process has every role."""
    await asyncio.Event().wait()


async def test_a_bot_of_another_process_stands_by_and_can_be_sent_for() -> None:
    line, manager = Polled(), ChannelManager(own=never)
    await manager.start([line], ignore)
    await manager.wait_ready()
    (state,) = manager.states()
    assert (state.state, line.met, line.consumers) == (State.STANDBY, 1, [])
    assert state.fit
    assert not manager.is_ready(line)
    await manager.send(Outbound(Address("line", "1", "7"), "hi"), MemoryReceipt())
    assert line.sent == ["hi"]
    await manager.stop()
    assert manager.states()[0].state is State.STOPPED


async def test_a_standby_whose_token_is_refused_has_failed() -> None:
    line, manager = Polled(BadCredentials("the token is refused")), ChannelManager(own=never)
    await manager.start([line], ignore)
    await manager.wait_ready()
    (state,) = manager.states()
    assert (state.state, state.reason) == (State.FAILED, "the token is refused")
    assert not manager.can_send(line)
    await manager.stop()


async def test_a_role_that_is_lost_and_found_again_runs_the_bot_anew() -> None:
    turns: asyncio.Queue[str] = asyncio.Queue()
    lose = asyncio.Event()

    async def own(name: str, body: Callable[[], Awaitable[None]]) -> None:
        for _ in range(2):
            turns.put_nowait(name)
            task = asyncio.ensure_future(body())
            try:
                await lose.wait()
            finally:
                lose.clear()
                task.cancel()
                await asyncio.wait([task])

    line, manager = Polled(), ChannelManager(own=own)
    await manager.start([line], ignore)
    assert await turns.get() == "line:1"
    while not line.consumers:
        await asyncio.sleep(0)
    lose.set()
    assert await turns.get() == "line:1"
    while not manager.is_ready(line):
        await asyncio.sleep(0)
    assert (len(line.consumers), line.most) == (1, 1)
    await manager.stop()
    assert not line.consumers
