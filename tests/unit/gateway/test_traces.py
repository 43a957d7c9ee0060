"""Traces on disk: with the rows they are about, kept through failures, deleted in time (SCR-1, SCR-5, SCR-6)."""

import asyncio
import datetime as dt
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, text

from agent_core.ports import NewBlob
from agent_core.storage.blobs import delete_results_of, result_type
from agent_core.storage.statements import add_blob, add_usage, ensure_session
from agent_core.storage.traces import (
    Noted,
    TraceEvent,
    add_traces,
    delete_traces_before,
    delete_traces_of,
    traces_of_session,
    traces_of_turn,
)
from agent_core.types import NewRow, RowKind, TurnStatus, Usage, assistant
from gateway.memory.retention import EVERY_S, FIRST_S, Keeper
from gateway.settings.retention import Retention
from gateway.storage.db import Database
from tests.harness import ALICE, BOB
from tests.house import START, Watch, on_sqlite
from tests.unit.gateway.test_journal import Office

pytestmark = pytest.mark.statements


def row(words: str = "x") -> NewRow:
    return NewRow(RowKind.ASSISTANT, assistant(words), ref="m")


async def events(db: Database, turn_id: int) -> list[TraceEvent]:
    return await db.read(lambda conn: traces_of_turn(conn, turn_id))


async def test_events_are_stored_with_the_next_rows_in_order(db: Database) -> None:
    office = Office(db)
    journal = await office.open()
    journal.trace("init", input="hello", n=1)
    journal.trace("tool_started", name="echo", args={"a": [1, None]})
    assert await events(db, journal.turn_id) == []
    await journal.append([row()])
    found = await events(db, journal.turn_id)
    assert [(e.event, e.fields) for e in found] == [
        ("init", {"input": "hello", "n": 1}),
        ("tool_started", {"name": "echo", "args": {"a": [1, None]}}),
    ]
    assert {(e.session_id, e.owner, e.at) for e in found} == {(journal.session_id, ALICE, START)}
    await journal.append([row()])
    assert len(await events(db, journal.turn_id)) == 2  # once
    journal.trace("final", text="x")
    await journal.finish([row()], TurnStatus.DONE, "x")
    assert [e.event for e in await events(db, journal.turn_id)][-1] == "final"


@on_sqlite
async def test_a_failed_commit_keeps_what_was_noted(db: Database) -> None:
    office = Office(db)
    journal = await office.open()
    journal.trace("init")
    bad = NewBlob(None, "n", "image/png", b"")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="NOT NULL"):
        await journal.append([row()], blobs=[bad])
    assert await events(db, journal.turn_id) == []
    await journal.append([row()])
    assert [e.event for e in await events(db, journal.turn_id)] == ["init"]


@on_sqlite
async def test_a_cancelled_append_writes_its_events_once(db: Database) -> None:
    journal = await Office(db).open()
    journal.trace("init")
    task = asyncio.create_task(journal.append([row()]))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await journal.append([row()])
    assert [e.event for e in await events(db, journal.turn_id)] == ["init"]


async def test_a_sub_agents_events_belong_to_its_session_and_the_turn(db: Database) -> None:
    journal = await Office(db).open()
    child = journal.child("d1", "research")
    child.trace("init", task="look")
    await child.append([row()])
    journal.trace("final")
    await journal.append([row()])
    found = await db.read(lambda conn: list(traces_of_session(conn, journal.session_id)))
    assert [(e.session_id, e.event) for e in found] == [
        (f"{journal.session_id}/d1", "init"),
        (journal.session_id, "final"),
    ]


async def test_what_no_json_holds_becomes_text(db: Database) -> None:
    journal = await Office(db).open()
    journal.trace("request", at=START, rows={"b"})
    await journal.append([row()])
    (found,) = await events(db, journal.turn_id)
    assert found.fields == {"at": str(START), "rows": ["b"]}


def filled(days: int, owner: str = ALICE, session: str = "s1") -> Callable[[Connection], None]:
    """One event a day, the newest at START."""

    def work(conn: Connection) -> None:
        ensure_session(conn, session, owner, START)
        for day in range(days, -1, -1):
            at = START - dt.timedelta(days=day)
            add_traces(
                conn, turn_id=1, session_id=session, owner=owner, events=[Noted("init", {}, at)]
            )
            data = f"{owner} {day}".encode()
            for kind in (result_type("mixed"), "text/plain"):
                blob = NewBlob(f"{owner}{day}{kind}", "x.txt", kind, data)
                add_blob(conn, owner=owner, session_id=session, blob=blob, now=at)

    return work


async def count(db: Database, table: str) -> int:
    return await db.read(lambda conn: conn.execute(text(f"select count(*) from {table}")).scalar())


async def test_traces_are_deleted_after_fourteen_days_and_nothing_else(db: Database) -> None:
    """SCR-6: the default is 14 days."""
    await db.write(filled(20))
    keeper = Keeper(db, Watch(), Retention())
    assert await keeper.sweep() == {"traces": 6, "prices": 0}
    assert (await count(db, "trace"), await count(db, "blob")) == (15, 42)
    assert await keeper.sweep() == {"traces": 0, "prices": 0}


async def test_stored_results_are_deleted_where_the_settings_say_so(db: Database) -> None:
    """ARC-8: large results go, files that people see stay."""
    await db.write(filled(20))
    keeper = Keeper(db, Watch(), Retention.model_validate({"traces": None, "archives": "10d"}))
    assert await keeper.sweep() == {"archives": 10, "prices": 0}
    assert (await count(db, "trace"), await count(db, "blob")) == (21, 32)


@on_sqlite
async def test_deleting_goes_in_small_transactions(db: Database) -> None:
    await db.write(filled(20))
    before = START - dt.timedelta(days=14)
    batch = await db.write(lambda conn: delete_traces_before(conn, before, 4))
    rest = await db.write(lambda conn: delete_traces_before(conn, before, 4))
    assert (batch, rest) == (4, 2)


@on_sqlite
async def test_the_keeper_looks_at_the_start_and_once_a_day(db: Database) -> None:
    await db.write(filled(20))
    clock = Watch()
    third = asyncio.Event()

    async def sleep(seconds: float) -> None:
        clock.naps.append(seconds)
        if len(clock.naps) == 3:
            third.set()
            await asyncio.Event().wait()
        clock.seconds += seconds

    keeper = Keeper(db, clock, Retention(), sleep)
    await keeper.start()
    async with asyncio.timeout(10):
        await third.wait()
    await keeper.stop()
    assert clock.naps == [FIRST_S, EVERY_S, EVERY_S]
    assert await count(db, "trace") == 13  # a day has passed, and a minute


async def test_everything_of_an_owner_can_be_deleted(db: Database) -> None:
    """ARC-8: and nothing of anybody else."""
    await db.write(filled(3))
    await db.write(filled(3, BOB, "s2"))
    assert await db.write(lambda conn: delete_traces_of(conn, ALICE)) == 4
    assert await db.write(lambda conn: delete_results_of(conn, ALICE)) == 4
    assert (await count(db, "trace"), await count(db, "blob")) == (4, 12)


async def test_what_caching_saved_is_stored_with_each_call(db: Database) -> None:
    """PCH-4, MDL-3: an unknown price stays unknown."""

    def work(conn: Connection) -> list[object]:
        ensure_session(conn, "s1", ALICE, START)
        for usage in (Usage(1, 2, 3, 9, 0.1, 4, 0.5), Usage(usd=None, usd_uncached=None)):
            add_usage(
                conn,
                turn_id=1,
                session_id="s1",
                owner=ALICE,
                model="m",
                usage=usage,
                now=START,
            )
        query = text("select cache_write_1h_tokens, usd, usd_uncached from usage order by id")
        return [tuple(found) for found in conn.execute(query)]

    assert await db.write(work) == [(4, 0.1, 0.5), (0, None, None)]


@pytest.mark.parametrize(
    ("written", "days"),
    [("14d", 14), ("2w", 14), ("48h", 2), ("1440 m", 1), (None, None), ("", None)],
)
def test_spans_are_read_as_they_are_written(written: object, days: int | None) -> None:
    found = Retention.model_validate({"traces": written}).traces
    assert found == (None if days is None else dt.timedelta(days=days))


@pytest.mark.parametrize("written", ["14", "d", "0d", "-1d", "14 days", 14, True])
def test_a_span_that_is_none_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="span of time"):
        Retention.model_validate({"traces": written})
