"""What was said is found after a turn and after a start, without a message that waits for it (RCL-10, MEM-17)."""

import asyncio
import datetime as dt

import pytest
from sqlalchemy import Connection

from agent_core.memory.found import find_rows
from agent_core.memory.question import question
from agent_core.storage.prepared import together
from agent_core.storage.recall_index import behind
from agent_core.storage.statements import append_rows, last_seq, opening_turn
from agent_core.types import NewRow, RowKind, assistant, user
from channels.types import Address
from gateway.engine.begun import Begun
from gateway.inbound import conversation
from gateway.memory.recall_indexer import SILENT_S, TURNS, RecallIndexer
from gateway.storage.db import Database
from gateway.storage.tables import Inbox, InboxStatus

NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)
ALICE = "telegram:1"
_INBOX = Inbox.__table__  # type: ignore[attr-defined]


def turn(conn: Connection, number: int, text: str, *, private: bool = True) -> str:
    """A turn of alice's in a chat of its own kind; its session."""
    address = Address("telegram", "7", "1" if private else "-5")
    lane = conversation.ensure(conn, address, private=private, owner=ALICE, now=NOW)
    conn.execute(
        _INBOX.insert(),
        {
            "id": number,
            "channel": "telegram",
            "account": "7",
            "key": f"m:{number}",
            "conversation_id": lane.id,
            "author": ALICE,
            "body": "{}",
            "status": InboxStatus.DONE,
            "turn_id": number,
            "at": NOW,
        },
    )
    opened = opening_turn(
        turn_id=number,
        session_id=lane.session_id,
        principal=ALICE,
        preset="",
        horizon=0,
        now=NOW,
    )
    together(conn, [opened])
    rows = [NewRow(RowKind.USER, user(text)), NewRow(RowKind.ASSISTANT, assistant("noted"))]
    append_rows(conn, lane.session_id, number, last_seq(conn, lane.session_id), rows, NOW)
    return lane.session_id


async def found(db: Database, scope: str) -> list[int]:
    hits = await db.read(
        lambda conn: find_rows(conn, ALICE, scope, question("zebra", ()), limit=99)
    )
    return sorted(hit.seq for hit in hits if hit.score > 0)


async def test_what_was_said_before_a_start_is_taken_up(db: Database) -> None:
    await db.write(lambda conn: turn(conn, 1, "zebra exit"))
    indexer = RecallIndexer(db)
    assert await indexer.catch_up() == 2
    assert await indexer.catch_up() == 0
    assert 1 in await found(db, "private")


async def test_a_group_is_a_scope_of_its_own(db: Database) -> None:
    """MEM-17: what was said in a group is found there alone."""
    await db.write(lambda conn: turn(conn, 1, "zebra exit", private=False))
    await RecallIndexer(db).catch_up()
    lane = conversation.lane_id(Address("telegram", "7", "-5"))
    assert 1 in await found(db, lane)
    assert await found(db, "private") == []


async def test_the_task_takes_up_what_is_behind_and_ends(db: Database) -> None:
    await db.write(lambda conn: turn(conn, 1, "zebra exit"))
    indexer = RecallIndexer(db)
    await indexer.start()
    async with asyncio.timeout(30):
        while await db.read(behind):
            await asyncio.sleep(0)
    await indexer.stop()
    assert 1 in await found(db, "private")


class Nap:
    """A sleep that is over when it is told so."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self.over.wait()


async def begun_turn(db: Database, number: int) -> Begun:
    session = await db.write(lambda conn: turn(conn, number, f"zebra exit {number}"))
    return Begun(None, None, command=False, session_id=session)  # type: ignore[arg-type]


async def until_indexed(db: Database) -> None:
    async with asyncio.timeout(30):
        while await db.read(behind):
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("how", ["silence", "many turns", "a session is left"])
async def test_rows_wait_for_silence_for_company_or_for_the_next_session(
    db: Database, how: str
) -> None:
    """A conversation sees its own rows anyway: its turns are not indexed one by one."""
    nap = Nap()
    indexer = RecallIndexer(db, nap.sleep)
    await indexer.start()
    await indexer.level.wait()
    indexer.after(await begun_turn(db, 1))
    async with asyncio.timeout(30):
        while not nap.seconds:
            await asyncio.sleep(0.001)
    assert nap.seconds == [SILENT_S]
    assert await found(db, "private") == []
    if how == "silence":
        nap.over.set()
    elif how == "a session is left":
        indexer.hurry()
    else:
        for number in range(2, TURNS + 1):
            indexer.after(await begun_turn(db, number))
    await until_indexed(db)
    await indexer.stop()
    assert 1 in await found(db, "private")
