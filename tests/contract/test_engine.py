"""What every engine keeps, whatever it is built on (guide "engine", 8): over a small Runner that notes its orders.

An engine is added to `ENGINES`: a function from (runner, max_running, sleep) to the engine.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from gateway.engine.base import Engine, Progress, Runner
from gateway.engine.local import BACKOFF, LocalEngine
from tests.house import until

Sleep = Callable[[float], Awaitable[None]]
Make = Callable[[Runner, int, Sleep], Engine]


def local(runner: Runner, max_running: int, sleep: Sleep) -> Engine:
    return LocalEngine(runner, max_running=max_running, sleep=sleep)


ENGINES: dict[str, Make] = {"local": local}


class Book:
    """A Runner over lists: each conversation has rows; a step takes the first one, as the real one does.

    `gate` holds every step up while it is clear. A row that raises stands again after `breaks` failures.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[str]] = defaultdict(list)
        self.current: dict[str, str] = {}
        self.done: list[tuple[str, str]] = []
        self.stopped: list[tuple[str, str]] = []
        self.cut: list[str] = []
        self.running: set[str] = set()
        self.most = 0
        self.overlaps = 0
        self.breaks: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.closing = asyncio.Event()
        self.closing.set()
        self.late: Callable[[str], None] = lambda _: None
        self.pause = 0.0

    async def step(self, conversation_id: str) -> Progress:
        if conversation_id in self.running:
            self.overlaps += 1
        self.running.add(conversation_id)
        self.most = max(self.most, len(self.running))
        try:
            return await self._row(conversation_id)
        except asyncio.CancelledError:
            self.cut.append(conversation_id)
            raise
        finally:
            self.running.discard(conversation_id)

    async def _row(self, conversation_id: str) -> Progress:
        await asyncio.sleep(self.pause)
        if not self.rows[conversation_id]:
            self.late(conversation_id)
            await asyncio.sleep(0)
            return Progress.IDLE
        row = self.rows[conversation_id][0]
        self.current[conversation_id] = row
        await self.gate.wait()
        if self.breaks.get(row, 0) > 0:
            self.breaks[row] -= 1
            raise RuntimeError("this step is broken")
        self._finish(conversation_id)
        self.done.append((conversation_id, row))
        return Progress.AGAIN

    def _finish(self, conversation_id: str) -> None:
        self.rows[conversation_id].pop(0)
        self.current.pop(conversation_id)

    async def close_stopped(self, conversation_id: str) -> None:
        await self.closing.wait()
        if row := self.current.get(conversation_id):
            self._finish(conversation_id)
            self.stopped.append((conversation_id, row))

    async def open(self) -> list[tuple[str, str]]:
        return [(c, self.owners.get(c, "alice")) for c, rows in self.rows.items() if rows]

    def order(self, conversation_id: str) -> list[str]:
        return [row for c, row in self.done if c == conversation_id]


class Rig:
    """An engine with its book."""

    def __init__(self, make: Make, max_running: int = 8) -> None:
        self.book = Book()
        self.naps: list[float] = []
        self.make = make
        self.engine = make(self.book, max_running, self.nap)

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)

    def post(self, conversation_id: str, row: str, principal: str = "alice") -> None:
        """A row is committed, then the engine is told."""
        self.book.rows[conversation_id].append(row)
        self.book.owners.setdefault(conversation_id, principal)
        self.engine.wake(conversation_id, principal)

    async def quiet(self) -> None:
        await until(lambda: not any(self.book.rows.values()) and not self.engine.busy())


@pytest.fixture(params=list(ENGINES))
def make(request: pytest.FixtureRequest) -> Make:
    return ENGINES[request.param]


@pytest.fixture
async def rig(make: Make) -> AsyncIterator[Rig]:
    made = Rig(make)
    yield made
    made.book.gate.set()
    made.book.closing.set()
    await made.engine.stop(1.0)


async def test_rows_of_a_conversation_are_done_in_order_one_at_a_time(rig: Rig) -> None:
    for n in range(20):
        rig.post("a", str(n))
        await asyncio.sleep(0)
    await rig.quiet()
    assert rig.book.order("a") == [str(n) for n in range(20)]
    assert rig.book.overlaps == 0


async def test_conversations_run_side_by_side_up_to_the_cap(make: Make) -> None:
    rig = Rig(make, max_running=3)
    rig.book.gate.clear()
    for n in range(9):
        rig.post(f"c{n}", "x")
    await until(lambda: rig.engine.busy() == 3)
    await asyncio.sleep(0.02)
    rig.book.gate.set()
    await rig.quiet()
    assert rig.book.most == 3
    assert len(rig.book.done) == 9
    await rig.engine.stop(1.0)


async def test_a_person_with_fifty_conversations_does_not_starve_another(make: Make) -> None:
    rig = Rig(make, max_running=1)
    rig.book.gate.clear()
    for n in range(50):
        rig.post(f"many{n}", "x", "alice")
    rig.post("one", "x", "bob")
    rig.book.gate.set()
    await rig.quiet()
    place = [c for c, _ in rig.book.done].index("one")
    assert place <= 2
    await rig.engine.stop(1.0)


async def test_a_long_backlog_of_one_conversation_lets_others_in_between(make: Make) -> None:
    rig = Rig(make, max_running=1)
    rig.book.rows["long"] = [str(n) for n in range(20)]
    rig.engine.wake("long", "alice")
    rig.post("short", "x", "bob")
    await rig.quiet()
    assert [c for c, _ in rig.book.done].index("short") <= 2
    await rig.engine.stop(1.0)


@pytest.mark.parametrize("offset", range(0, 400, 7))
async def test_a_row_that_arrives_while_the_last_step_ends_is_not_lost(
    rig: Rig, offset: int
) -> None:
    """At every point of the event loop's turns around the end of a step."""
    rig.post("a", "first")
    for _ in range(offset % 40):
        await asyncio.sleep(0)
    if offset >= 40:
        await asyncio.sleep(offset / 1e6)
    rig.post("a", "second")
    await rig.quiet()
    assert rig.book.order("a") == ["first", "second"]


async def test_a_wake_in_the_very_last_look_is_not_lost(rig: Rig) -> None:
    """The runner has found nothing and is about to say so."""
    posted = []

    def late(conversation_id: str) -> None:
        if not posted:
            posted.append("late")
            rig.post(conversation_id, "late")

    rig.book.late = late
    rig.post("a", "first")
    await until(lambda: rig.book.order("a") == ["first", "late"])


async def test_a_wake_without_rows_does_nothing(rig: Rig) -> None:
    for _ in range(5):
        rig.engine.wake("a", "alice")
    await rig.quiet()
    assert rig.book.done == []


async def test_a_start_walks_over_what_was_left_open(rig: Rig) -> None:
    rig.book.rows |= {"a": ["1", "2"], "b": ["1"]}
    await rig.engine.start()
    await rig.quiet()
    assert sorted(rig.book.done) == [("a", "1"), ("a", "2"), ("b", "1")]


async def test_a_cancel_ends_the_turn_and_later_rows_go_on(rig: Rig) -> None:
    rig.book.gate.clear()
    rig.post("a", "first")
    rig.post("a", "second")
    await until(lambda: rig.book.current)
    assert await rig.engine.cancel("a")
    assert rig.book.stopped == [("a", "first")]
    rig.book.gate.set()
    await rig.quiet()
    assert rig.book.order("a") == ["second"]


async def test_a_cancel_returns_when_the_turn_has_ended(rig: Rig) -> None:
    rig.book.gate.clear()
    rig.book.closing.clear()
    rig.post("a", "first")
    await until(lambda: rig.book.current)
    cancelling = asyncio.create_task(rig.engine.cancel("a"))
    await until(lambda: rig.book.cut)
    await asyncio.sleep(0.01)
    assert not cancelling.done()
    rig.book.closing.set()
    assert await cancelling
    assert rig.book.stopped == [("a", "first")]


async def test_two_cancels_at_once_stop_one_turn(rig: Rig) -> None:
    rig.book.gate.clear()
    rig.post("a", "first")
    rig.post("a", "second")
    await until(lambda: rig.book.current)
    assert await asyncio.gather(rig.engine.cancel("a"), rig.engine.cancel("a")) == [True, True]
    assert rig.book.stopped == [("a", "first")]
    rig.book.gate.set()
    await rig.quiet()
    assert rig.book.order("a") == ["second"]


async def test_a_cancel_of_an_idle_conversation_is_told_so(rig: Rig) -> None:
    assert not await rig.engine.cancel("a")


async def test_a_cancel_leaves_other_conversations_alone(rig: Rig) -> None:
    rig.book.gate.clear()
    rig.post("a", "x")
    rig.post("b", "x")
    await until(lambda: len(rig.book.current) == 2)
    await rig.engine.cancel("a")
    rig.book.gate.set()
    await rig.quiet()
    assert rig.book.done == [("b", "x")]


async def test_a_broken_step_is_tried_again_with_back_off(rig: Rig) -> None:
    rig.book.breaks["bad"] = 6
    rig.post("a", "bad")
    rig.post("a", "next")
    await rig.quiet()
    assert rig.book.order("a") == ["bad", "next"]
    assert rig.naps == [*BACKOFF, BACKOFF[-1], BACKOFF[-1]]


async def test_the_back_off_begins_anew_after_a_step_that_worked(rig: Rig) -> None:
    rig.book.breaks |= {"one": 2, "two": 1}
    rig.post("a", "one")
    rig.post("a", "two")
    await rig.quiet()
    assert rig.naps == [BACKOFF[0], BACKOFF[1], BACKOFF[0]]


async def test_a_broken_conversation_holds_no_slot_and_stops_no_other(make: Make) -> None:
    """openclaw#70334, #3550."""
    rig = Rig(make, max_running=1)
    never = asyncio.Event()

    async def nap(_: float) -> None:
        await never.wait()

    rig.engine = make(rig.book, 1, nap)
    rig.book.breaks["bad"] = 1
    rig.post("a", "bad")
    rig.post("b", "good", "bob")
    await until(lambda: rig.book.order("b") == ["good"])
    await asyncio.wait_for(
        rig.engine.stop(5.0), 1.0
    )  # a conversation in back-off is not waited for


async def test_a_stop_lets_running_turns_end_and_begins_no_new_ones(make: Make) -> None:
    rig = Rig(make, max_running=1)
    rig.book.gate.clear()
    rig.post("a", "running")
    rig.post("a", "next")
    rig.post("b", "waiting", "bob")
    await until(lambda: rig.book.current)
    stopping = asyncio.create_task(rig.engine.stop(5.0))
    await asyncio.sleep(0.01)
    rig.book.gate.set()
    await stopping
    assert rig.book.done == [("a", "running")]
    assert rig.book.rows == {"a": ["next"], "b": ["waiting"]}
    assert rig.book.cut == []


async def test_what_is_late_is_left_for_the_next_start(rig: Rig) -> None:
    rig.book.gate.clear()
    rig.post("a", "late")
    await until(lambda: rig.book.current)
    await asyncio.wait_for(rig.engine.stop(0.02), 1.0)
    assert rig.book.cut == ["a"]
    assert rig.book.stopped == []  # drained, not stopped by a person
    rig.book.gate.set()
    again = rig.make(rig.book, 8, rig.nap)
    await again.start()
    await until(lambda: rig.book.order("a") == ["late"])
    await again.stop(1.0)


async def test_a_wake_while_draining_does_nothing(rig: Rig) -> None:
    await rig.engine.stop(0.1)
    rig.post("a", "x")
    await asyncio.sleep(0.02)
    assert rig.book.done == []
    assert rig.engine.busy() == 0


async def test_a_stop_without_work_returns_at_once(rig: Rig) -> None:
    await asyncio.wait_for(rig.engine.stop(30.0), 0.5)


async def test_a_drain_that_meets_the_end_of_a_step_stops_nobody(make: Make) -> None:
    """The grace is over in the moment in which the step ends: that is no person's stop."""
    for turns in range(12):
        rig = Rig(make)
        rig.book.gate.clear()
        rig.post("a", "first")
        rig.post("a", "second")
        await until(lambda book=rig.book: book.current)  # type: ignore[misc]
        stopping = asyncio.create_task(rig.engine.stop(0.0))
        for _ in range(turns):
            await asyncio.sleep(0)
        rig.book.gate.set()
        await stopping
        assert rig.book.stopped == []
        assert len(rig.book.done) <= 1
