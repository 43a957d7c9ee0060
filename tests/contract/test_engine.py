"""What every engine keeps, whatever it is built on (guide "engine", 8): over a small Runner that notes its orders.

An engine is added to `ENGINES`. The shared one has a PostgreSQL, and only what needs little time runs at every change.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import pairwise

import pytest

from tests.contract.engines import Rig, Rigs, local_rigs, shared_rigs
from tests.databases import PreparedPostgres, for_sqlalchemy
from tests.house import until

ENGINES = ["local", pytest.param("procrastinate", marks=[pytest.mark.postgres, pytest.mark.slow])]
RACES, LANES = 2_000, 16
SHORT = (0.02, 0.04, 0.08)  # seconds of a back-off
Make = Callable[..., Awaitable[Rig]]


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The database of the shared engine."""
    if request.param == "local":
        yield None
        return
    prepared: PreparedPostgres = request.getfixturevalue("prepared_postgres")
    address = prepared.take()
    yield for_sqlalchemy(address)
    prepared.give_back(address)


@pytest.fixture
async def make(address: str | None) -> AsyncIterator[Make]:
    """Makes started engines, which are stopped at the end."""
    rigs: Rigs = local_rigs() if address is None else shared_rigs(address)
    async with rigs as made:
        yield made


@pytest.fixture
async def rig(make: Make) -> Rig:
    return await make()


async def test_rows_of_a_conversation_are_done_in_order_one_at_a_time(rig: Rig) -> None:
    for n in range(20):
        rig.post("a", str(n))
        await asyncio.sleep(0)
    await rig.quiet()
    assert rig.book.order("a") == [str(n) for n in range(20)]
    assert rig.book.overlaps == 0


async def test_conversations_run_side_by_side_up_to_the_cap(make: Make) -> None:
    rig = await make(max_running=3)
    rig.book.gate.clear()
    for n in range(9):
        rig.post(f"c{n}", "x")
    await until(lambda: rig.engine.busy() == 3)
    await asyncio.sleep(0.02)
    rig.book.gate.set()
    await rig.quiet()
    assert rig.book.most == 3
    assert len(rig.book.done) == 9


async def test_a_person_with_fifty_conversations_does_not_starve_another(make: Make) -> None:
    rig = await make(max_running=1)
    rig.book.gate.clear()
    for n in range(50):
        rig.post(f"many{n}", "x", "alice")
    rig.post("one", "x", "bob")
    rig.book.gate.set()
    await rig.quiet()
    place = [c for c, _ in rig.book.done].index("one")
    assert place <= 2


async def test_a_long_backlog_of_one_conversation_lets_others_in_between(make: Make) -> None:
    rig = await make(max_running=1)
    rig.book.rows["long"] = [str(n) for n in range(20)]
    rig.engine.wake("long", "alice")
    rig.post("short", "x", "bob")
    await rig.quiet()
    assert [c for c, _ in rig.book.done].index("short") <= 2


async def test_a_row_that_arrives_while_the_last_step_ends_is_not_lost(rig: Rig) -> None:
    """At every point of the event loop's turns around the end of a step."""
    for offset in range(0, 400, 7):
        lane = f"a{offset}"
        rig.post(lane, "first")
        for _ in range(offset % 40):
            await asyncio.sleep(0)
        if offset >= 40:
            await asyncio.sleep(offset / 1e6)
        rig.post(lane, "second")
        await rig.quiet()
        assert rig.book.order(lane) == ["first", "second"]


@pytest.mark.slow
@pytest.mark.timeout(150)
async def test_two_thousand_rows_race_with_the_end_of_the_step_before(rig: Rig) -> None:
    chance = random.Random(20260801)

    async def lane(name: str) -> None:
        for n in range(RACES // LANES):
            rig.post(name, f"{n} first")
            await asyncio.sleep(chance.uniform(0, 0.012))
            rig.post(name, f"{n} second")
            await until(lambda n=n: rig.book.order(name)[-1:] == [f"{n} second"])  # type: ignore[misc]

    await asyncio.gather(*(lane(f"race{n}") for n in range(LANES)))
    assert rig.book.overlaps == 0
    for name in (f"race{n}" for n in range(LANES)):
        wanted = [f"{n} {w}" for n in range(RACES // LANES) for w in ("first", "second")]
        assert rig.book.order(name) == wanted


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


async def test_a_start_walks_over_what_was_left_open(make: Make) -> None:
    rig = await make(left={"a": ["1", "2"], "b": ["1"]})
    await rig.quiet()
    assert sorted((lane[-1], row) for lane, row in rig.book.done) == [
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
    ]


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


async def test_a_broken_step_is_tried_again_with_back_off(make: Make) -> None:
    rig = await make(backoff=SHORT)
    rig.book.breaks["bad"] = 6
    rig.post("a", "bad")
    rig.post("a", "next")
    await rig.quiet()
    assert rig.book.order("a") == ["bad", "next"]
    gaps = [after - before for before, after in pairwise(rig.book.tries)]
    assert all(
        gap >= least for gap, least in zip(gaps, (*SHORT, SHORT[-1], SHORT[-1]), strict=True)
    )


async def test_the_back_off_begins_anew_after_a_step_that_worked(make: Make) -> None:
    rig = await make(backoff=(0.02, 0.02, 60.0))
    rig.book.breaks |= {"one": 2, "two": 2}
    rig.post("a", "one")
    rig.post("a", "two")
    await rig.quiet()
    assert rig.book.order("a") == ["one", "two"]


async def test_a_broken_conversation_holds_no_slot_and_stops_no_other(make: Make) -> None:
    """openclaw#70334, #3550."""
    rig = await make(max_running=1, backoff=(60.0,))
    rig.book.breaks["bad"] = 1
    rig.post("a", "bad")
    rig.post("b", "good", "bob")
    await until(lambda: rig.book.order("b") == ["good"])
    await asyncio.wait_for(
        rig.engine.stop(30.0), 3.0
    )  # a conversation in back-off is not waited for


async def test_a_stop_lets_running_turns_end_and_begins_no_new_ones(make: Make) -> None:
    rig = await make(max_running=1)
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


async def test_what_is_late_is_left_for_the_next_start(make: Make, rig: Rig) -> None:
    rig.book.gate.clear()
    rig.post("a", "late")
    await until(lambda: rig.book.current)
    await asyncio.wait_for(rig.engine.stop(0.02), 3.0)
    assert rig.book.cut == ["a"]
    assert rig.book.stopped == []  # drained, not stopped by a person
    rig.book.gate.set()
    await make(book=rig.book)
    await until(lambda: rig.book.order("a") == ["late"])


async def test_a_wake_while_draining_does_nothing(rig: Rig) -> None:
    await rig.engine.stop(0.1)
    rig.post("a", "x")
    await asyncio.sleep(0.02)
    assert rig.book.done == []
    assert rig.engine.busy() == 0


async def test_a_stop_without_work_returns_at_once(rig: Rig) -> None:
    await asyncio.wait_for(rig.engine.stop(30.0), 3.0)


async def test_a_drain_that_meets_the_end_of_a_step_stops_nobody(make: Make) -> None:
    """The grace is over in the moment in which the step ends: that is no person's stop."""
    for turns in range(12):
        rig = await make()
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
