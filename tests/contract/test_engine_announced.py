"""Rows that bring their job with their commit: shared engines on one PostgreSQL over a Runner that notes its orders."""

import asyncio
from functools import partial

import pytest
from sqlalchemy import Connection, text

from gateway.engine import jobs
from tests.contract.engines import Make, count, none_waits, two
from tests.house import until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


async def test_a_job_is_fetched_by_nobody_while_rows_that_it_stands_for_are_uncommitted(make: Make):
    """Forced overlap: rows come to a job that waits already; the one before it ends while they are uncommitted."""
    first, second = await two(make)
    assert first.db is not None
    first.book.gate.clear()
    first.post("a", "x")
    await until(lambda: first.book.current)
    runs, other = (first, second) if first.engine.busy() else (second, first)
    await first.db.write(lambda conn: jobs.defer(conn, {"a": "alice"}))
    announced = asyncio.Event()
    loop = asyncio.get_running_loop()

    def brings_rows(conn: Connection) -> bool:
        assert not runs.engine.announce(conn, "a", "alice")  # whoever runs it needs no job
        told = other.engine.announce(conn, "a", "alice")
        loop.call_soon(announced.set)
        conn.execute(text("select pg_sleep(0.7)"))
        first.book.rows["a"].append("y")
        return told

    bringing = asyncio.create_task(first.db.write(brings_rows))
    await announced.wait()
    first.book.gate.set()
    await until(lambda: first.book.done)
    await asyncio.sleep(0.3)
    assert await count(first, "status = 'todo'") == 1
    assert await bringing
    await first.quiet()
    await none_waits(first)
    assert first.book.order("a") == ["x", "y"]


async def test_messages_of_one_person_that_are_committed_at_once_get_places_of_their_own(
    make: Make,
):
    rig = await make(max_running=1)
    assert rig.db is not None
    rig.book.gate.clear()
    rig.post("first", "x")
    await until(lambda: rig.book.current)

    def brings_rows(lane: str, conn: Connection) -> None:
        rig.book.rows[lane].append(lane)
        assert rig.engine.announce(conn, lane, "alice")
        conn.execute(text("select pg_sleep(0.05)"))

    await asyncio.gather(*(rig.db.write(partial(brings_rows, f"a{n}")) for n in range(6)))
    rig.post("b", "b", "bob")
    async with asyncio.timeout(10):
        while await count(rig, "lock = 'b'") == 0:
            await asyncio.sleep(0.02)
    rig.book.gate.set()
    await rig.quiet()
    assert [row for _, row in rig.book.done].index("b") <= 2  # x, one of alice's at most, b


async def test_rows_bring_their_job_with_their_commit_and_take_it_along_when_they_are_undone(
    make: Make,
):
    rig = await make()
    assert rig.db is not None

    def undone(conn: Connection) -> None:
        assert rig.engine.announce(conn, "a", "alice")
        raise RuntimeError("the rows cannot be stored")

    with pytest.raises(RuntimeError):
        await rig.db.write(undone)
    assert await count(rig) == 0
    rig.book.rows["a"].append("x")
    assert await rig.db.write(lambda conn: rig.engine.announce(conn, "a", "alice"))
    await rig.quiet()
    assert rig.book.order("a") == ["x"]
