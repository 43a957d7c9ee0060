"""Background tasks over restarts and outages: run again or said to be interrupted, and told of once."""

from collections import deque
from dataclasses import replace

import pytest
from sqlalchemy import text

from agent_core.models.scripted import Answer
from agent_core.tasks import NewTask
from agent_core.tools.spec import ToolFailure
from agent_core.types import ToolResult
from gateway.storage.db import Database
from gateway.tasks.tasks import ATTEMPTS, RETRY_S
from tests.harness import ALICE, call
from tests.house import House, on_sqlite, until
from tests.outages import FlakyDatabase, Outcome
from tests.unit.gateway.test_tasks import (
    REPORT,
    STUDY,
    ended,
    house,
    notices,
    results,
    settled,
    state,
)

SHIP = Answer(calls=(call("ship", "p1", what="books"),))


async def begun(db: Database, answer: Answer) -> House:
    """A process that has started a task and was stopped while it ran."""
    async with house(db, answer, "It runs.") as it:
        await it.ask("do it")
        await until(lambda: it.tools.calls)
    return it


async def left_running(db: Database, attempts: int = 1) -> None:
    """What a process that was killed leaves: nobody has put anything in order."""
    values = f"state = 'running', attempts = {attempts}, told_at = null, ended_at = null, body = ''"
    await db.write(lambda conn: conn.execute(text(f"update task set {values}")) and None)
    await db.write(lambda conn: conn.execute(text("delete from inbox where status = 0")) and None)


async def test_what_only_reads_is_run_again_after_a_stop(db: Database) -> None:
    """BGT-5: a stop in good order is no fault of the task's, and counts for nothing."""
    await begun(db, STUDY)
    assert [tuple(r) for r in await _all(db, "select state, attempts from task")] == [("queued", 0)]
    async with house(db, REPORT) as it:
        it.tools.gate.set()
        await ended(it)
        assert it.tools.calls == [("study", "AAPL")]
        assert "<status>done</status>" in notices(it.model.requests[0])[0]
        assert [f.name for f in it.channel.order[-1].files] == ["AAPL.png"]
        await settled(it)


async def test_what_may_have_changed_something_is_interrupted_and_said_to_be(
    db: Database,
) -> None:
    """BGT-5, defect 26: it is not run again, and nothing is claimed about what it did."""
    await begun(db, SHIP)
    async with house(db, "It was interrupted.") as it:
        it.tools.gate.set()
        await ended(it)
        assert it.tools.calls == []
        assert await state(it, "p1") == "interrupted"
        assert "<status>interrupted</status>" in notices(it.model.requests[0])[0]
        [told] = [r for r in results(it.model.requests[0]) if r.call_id.startswith("task_")]
        assert told.is_error
        assert "Whether it took effect is unknown" in told.content
        assert it.channel.texts("1") == ["It was interrupted."]
        await settled(it)


@on_sqlite
@pytest.mark.parametrize(("answer", "then"), [(STUDY, "done"), (SHIP, "interrupted")])
async def test_after_a_kill_the_next_start_does_the_same(
    db: Database, answer: Answer, then: str
) -> None:
    await begun(db, answer)
    await left_running(db)
    async with house(db, REPORT) as it:
        it.tools.gate.set()
        await ended(it)
        assert await it.all("select state from task") == [(then,)]
        assert it.channel.texts("1") == [REPORT]


async def test_a_call_that_is_made_again_after_a_kill_has_the_same_task(db: Database) -> None:
    """TGV-10: starting is safe to repeat, also for a tool that is not; so is it for one whose turn is gone."""
    async with house(db, SHIP, "It ships.") as it:
        await it.ask("ship books")
        await until(lambda: it.tools.calls)
        [row] = await it.all("select id, session_id, turn_id from task")
        new = NewTask(ALICE, row.session_id, row.turn_id, "p1", "ship", {"what": "books"})
        assert (await it.tasks.desk.begin(new)).id == row.id
        await until(lambda: not it.tasks._rounds.busy)
        assert it.tools.calls == [("ship", "books")]
        with pytest.raises(ToolFailure, match="turn of this call is gone"):
            await it.tasks.desk.begin(replace(new, turn_id=99, call_id="p2"))
        assert await it.one("select count(*) from task") == 1


@on_sqlite
async def test_a_task_that_ends_the_process_again_and_again_is_given_up(db: Database) -> None:
    """hermes#7536."""
    await begun(db, STUDY)
    await left_running(db, ATTEMPTS)
    async with house(db, "Given up.") as it:
        await ended(it)
        assert it.tools.calls == []
        assert await state(it) == "interrupted"


@on_sqlite
async def test_a_queued_task_outlives_the_process(db: Database) -> None:
    four = Answer(calls=tuple(call("study", f"s{n}", about=f"no {n}") for n in range(4)))
    await begun(db, four)
    async with house(db, REPORT, REPORT, REPORT, REPORT) as it:
        it.tools.gate.set()
        await ended(it)
        assert len(it.tools.calls) == 4
        assert {s for (s,) in await it.all("select state from task")} == {"done"}
        await settled(it)


async def test_news_that_was_not_read_yet_is_read_by_the_next_start(db: Database) -> None:
    """BGT-3: the end of the task and its news are one commit; a kill behind it loses and repeats nothing."""
    async with house(db, STUDY, "It runs.") as it:
        await it.ask("study AAPL")
        it.tasks.wake = lambda lane, person: None  # the process dies before anybody is woken
        it.tools.gate.set()
        await until(lambda: not it.tasks.busy)
    async with house(db, REPORT) as it:
        await ended(it)
        assert it.channel.texts("1") == [REPORT]
        assert it.tools.calls == []
        assert await it.one("select count(*) from turn") == 2
    async with house(db) as it:
        await ended(it)
        assert it.channel.texts("1") == []
        await settled(it)


@on_sqlite
async def test_a_notification_turn_that_was_cut_off_goes_on_with_its_rows(db: Database) -> None:
    async with house(db, STUDY, "It runs.", Answer(REPORT, delay=30.0)) as it:
        await it.ask("study AAPL")
        it.tools.gate.set()
        await until(lambda: len(it.model.requests) == 3)
    async with house(db, REPORT) as it:
        await it.quiet()
        assert it.channel.texts("1")[-1] == REPORT
        first = [b for m in it.model.requests[0].messages for b in m.blocks]
        told = [b for b in first if isinstance(b, ToolResult) and b.call_id.startswith("task_")]
        assert len(told) == 1
        assert [f.name for f in it.channel.order[-1].files] == ["AAPL.png"]
        await settled(it)


@on_sqlite
@pytest.mark.parametrize("outcome", [Outcome.AWAY, Outcome.UNDONE, Outcome.LOST])
async def test_a_result_waits_an_outage_out_and_is_told_once(
    db: Database, outcome: Outcome
) -> None:
    """Also when the commit went through and only its answer was lost."""
    flaky = FlakyDatabase(db)
    async with house(flaky, STUDY, "It runs.", REPORT) as it:
        await it.ask("study AAPL")
        await until(lambda: it.tools.calls)
        flaky.writes = deque([outcome])
        it.tools.gate.set()
        await it.resting(RETRY_S)
        await it.later(RETRY_S)
        await ended(it)
        assert it.channel.texts("1") == ["It runs.", REPORT]
        assert [f.name for f in it.channel.order[-1].files] == ["AAPL.png"]
        await settled(it)


async def _all(db: Database, query: str) -> list[tuple[object, ...]]:
    return await db.read(lambda conn: [tuple(row) for row in conn.execute(text(query))])
