"""The self-check of memory (OBS-2): what it reads, and what it finds amiss."""

from typing import Any

from sqlalchemy import Connection, text

from agent_core.storage import pending
from agent_core.storage.pending import Job
from agent_core.storage.recall_index import behind, index_new_rows
from agent_core.storage.statements import ensure_session
from agent_core.storage.traces import Noted, add_traces
from gateway.memory.check import MOST_CHARS, REQUESTS, Finding, report
from gateway.settings.settings import Memory
from gateway.storage.db import Database
from tests.harness import ALICE
from tests.house import START, House, on_sqlite
from tests.unit.gateway.remembering import put

pytestmark = on_sqlite


async def check(db: Database, settings: Memory | None = None) -> dict[str, Finding]:
    found = await db.read(lambda conn: report(conn, settings or Memory()))
    return {finding.id: finding for finding in found}


def request(system: int = 100, recall: int = 0) -> Noted:
    sections = [{"name": "system", "chars": system}, {"name": "recall", "chars": recall}]
    return Noted("request", {"agent": None, "report": {"sections": sections}}, START)


async def traced(db: Database, *events: Noted) -> None:
    def work(conn: Connection) -> None:
        ensure_session(conn, "s1", ALICE, START)
        add_traces(conn, turn_id=1, session_id="s1", owner=ALICE, events=events)

    await db.write(work)


async def test_all_is_well_with_an_empty_house_and_after_a_talk(db: Database) -> None:
    assert all(finding.ok for finding in (await check(db)).values())
    async with House(db, ["one", "two"]) as house:
        await house.ask("hello")
        await house.ask("hello again")
        found = await check(db)
        assert found["nothing_unread"].said.startswith("1 conversations to index")

        def index(conn: Connection) -> None:
            for session in behind(conn):
                index_new_rows(conn, session, lambda _: "private")

        await db.write(index)
        found = await check(db)
        assert all(finding.ok for finding in found.values()), found
        assert found["system_text_static"].said.startswith("1 conversations looked at, in 0")
        assert found["disclosed_progressively"].said.startswith("2 of 2 requests")


async def test_a_system_text_that_changes_is_found(db: Database) -> None:
    """Defect 21."""
    await traced(db, request(100), request(100))
    assert (await check(db))["system_text_static"].ok
    await traced(db, request(101))
    assert not (await check(db))["system_text_static"].ok


async def test_too_much_is_found(db: Database) -> None:
    """CAP-1, RCL-9, SIX-3."""
    await traced(db, request(recall=MOST_CHARS))
    assert (await check(db))["memory_limited"].ok
    await traced(db, request(recall=MOST_CHARS + 1))
    assert not (await check(db))["memory_limited"].ok


async def test_a_kind_over_its_cap_is_found(db: Database) -> None:
    def fill(conn: Connection) -> None:
        for n in range(6):
            put(conn, f"persona {n}", kind="persona")

    await db.write(fill)
    found = (await check(db))["memory_limited"]
    assert not found.ok
    assert "1 kinds over their cap" in found.said


async def test_context_for_every_message_whatever_it_says_is_found(db: Database) -> None:
    """PDC-1."""
    await traced(db, *[request(recall=10)] * REQUESTS)
    assert not (await check(db))["disclosed_progressively"].ok


async def test_learning_that_fails_is_found(db: Database) -> None:
    """MEM-8."""
    job = Job(ALICE, "extract", {"session": "s1"})
    number = await db.write(lambda conn: pending.put(conn, job, START))
    assert (await check(db))["nothing_unread"].ok
    sql = text("update memory_pending set attempts = 1 where id = :n")
    await db.write(lambda conn: conn.execute(sql, {"n": number}) and None)
    assert not (await check(db))["nothing_unread"].ok


async def test_notes_that_were_taken_and_are_not_there_are_found(db: Database) -> None:
    """RMB-1."""
    fields: dict[str, Any] = {"call": "c1", "name": "remember", "status": "ok"}
    await traced(db, Noted("tool_result", fields, START))
    assert not (await check(db))["views_kept"].ok
    await db.write(lambda conn: put(conn, "x", kind="view", source="remember:s1") and None)
    assert (await check(db))["views_kept"].ok


async def test_the_switch_is_reported(db: Database) -> None:
    """GCX-6."""
    assert (await check(db))["switch"].said == "memory is on, kept in order once a day"
    assert "never cleared up" in (await check(db, Memory(tiers=False)))["switch"].said
    assert (await check(db, Memory(enabled=False)))["switch"].said == "memory is off"
