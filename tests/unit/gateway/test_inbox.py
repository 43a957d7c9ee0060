"""The inbox: once each, in order, and what is next (DESIGN.md 3.2)."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from channels.types import Address, Attachment, Author, Inbound, Kind
from gateway.engine.upcoming import Upcoming
from gateway.inbound import inbox
from gateway.storage.db import Database
from gateway.storage.tables import InboxStatus
from tests.harness import begin_next, message, place, post
from tests.house import on_sqlite

pytestmark = pytest.mark.statements

T = TypeVar("T")
LANE = str(place())
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


async def read(db: Database, work: Callable[[Connection], T]) -> T:
    return await db.read(work)


async def test_a_key_is_taken_once_for_each_bot(db: Database) -> None:
    first = await post(db, message("a"))
    assert first
    assert await post(db, message("other words, same key")) == 0
    other_bot = replace(message("b"), address=Address("telegram", "778", "1"))
    assert await post(db, other_bot) > first
    other_platform = replace(message("c"), address=Address("slack", "777", "1"))
    assert await post(db, other_platform)


async def test_a_row_tells_everything_that_came(db: Database) -> None:
    inbound = Inbound(
        place(),
        "k",
        Author("1", "alice", "zh-hans"),
        "你好 😀",
        NOW,
        Kind.BUTTON,
        private=False,
        message_id="55",
        callback="cb",
        attachments=(Attachment("a.pdf", "application/pdf"),),
    )
    row_id = await post(db, inbound)
    item = await read(db, lambda conn: Upcoming(conn, LANE).item)
    assert item is not None
    assert item.id == row_id
    assert (item.author, item.name, item.language) == ("telegram:1", "alice", "zh-hans")
    assert (item.text, item.kind, item.private) == ("你好 😀", Kind.BUTTON, False)
    assert (item.key, item.message_id, item.callback, item.sent) == ("k", "55", "cb", NOW)
    assert item.files == ("a.pdf (application/pdf)",)
    assert (item.conversation_id, item.status, item.turn_id) == (LANE, InboxStatus.NEW, None)


async def test_an_open_turn_comes_before_new_rows(db: Database) -> None:
    ids = [await post(db, message(w, key=w)) for w in "abc"]
    await db.write(lambda conn: inbox.take(conn, [ids[1]], ids[1]))
    item = await read(db, lambda conn: Upcoming(conn, LANE).item)
    assert item is not None
    assert (item.id, item.status, item.turn_id) == (ids[1], InboxStatus.IN_TURN, ids[1])
    assert await read(db, lambda conn: inbox.running_turn(conn, LANE)) == ids[1]
    await db.write(lambda conn: inbox.close_turn_rows(conn, ids[1]))
    item = await read(db, lambda conn: Upcoming(conn, LANE).item)
    assert item is not None
    assert item.id == ids[0]
    assert await read(db, lambda conn: inbox.running_turn(conn, LANE)) is None


@on_sqlite
async def test_rows_of_a_turn_close_together_and_no_others(db: Database) -> None:
    ids = [await post(db, message(w, key=w)) for w in "abcd"]
    await db.write(lambda conn: inbox.take(conn, [ids[0], ids[2]], ids[0]))
    await db.write(lambda conn: inbox.close_turn_rows(conn, ids[0]))
    left = await read(db, lambda conn: inbox.new_rows(conn, LANE, 0))
    assert [item.id for item in left] == [ids[1], ids[3]]
    assert [i.id for i in await read(db, lambda c: inbox.new_rows(c, LANE, ids[1]))] == [ids[3]]


async def test_the_walk_finds_open_conversations_oldest_first(db: Database) -> None:
    for chat, author in [(2, "2"), (1, "1"), (2, "1"), (3, "3")]:
        await post(db, message("x", key=f"{chat}{author}", chat=chat, author=author))
    begun = await begin_next(db, 3)
    assert begun is not None
    done = await begin_next(db, 1)
    assert done is not None
    await db.write(lambda conn: inbox.close_turn_rows(conn, done.turn_id))
    found = await read(db, inbox.open_conversations)
    assert found == [(str(place(2)), "telegram:2"), (str(place(3)), "telegram:3")]


@on_sqlite
async def test_counting_and_the_newest(db: Database) -> None:
    assert await read(db, lambda conn: Upcoming(conn, LANE).newest) == 0
    assert not await read(db, lambda conn: inbox.is_any_open(conn, LANE))
    ids = [await post(db, message(w, key=w)) for w in "abc"]
    await post(db, message("elsewhere", key="z", chat=2))
    assert await read(db, lambda conn: Upcoming(conn, LANE).newest) == ids[-1]
    assert await read(db, lambda conn: inbox.is_any_open(conn, LANE))
    await db.write(lambda conn: inbox.close_row(conn, ids[0]))
    assert await read(db, lambda conn: inbox.waiting(conn, LANE)) == 2


@on_sqlite
async def test_attempts_are_counted(db: Database) -> None:
    row_id = await post(db, message("a"))
    for _ in range(2):
        await db.write(lambda conn: inbox.count_attempt(conn, row_id))
    item = await read(db, lambda conn: Upcoming(conn, LANE).item)
    assert item is not None
    assert item.attempts == 2


@on_sqlite
async def test_a_conversation_that_nobody_opened_has_nothing_next(db: Database) -> None:
    assert await read(db, lambda conn: Upcoming(conn, LANE).item) is None


@on_sqlite
async def test_what_is_next_costs_the_same_in_a_long_conversation(db: Database) -> None:
    """Rows that are done are not walked: SQLite counts the steps of its machine."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def look(conn: Connection) -> int:
        nonlocal steps
        raw = conn.connection.driver_connection
        assert raw is not None
        asked: list[Callable[[Connection, str], object]] = [
            lambda conn, lane: Upcoming(conn, lane).item,
            inbox.is_any_open,
            inbox.waiting,
            inbox.running_turn,
        ]
        for ask in asked:
            ask(conn, LANE)  # what is compiled once is not counted
        steps = 0
        raw.set_progress_handler(step, 1)
        for ask in asked:
            ask(conn, LANE)
        raw.set_progress_handler(None, 0)
        return steps

    await post(db, message("a", key="a"))
    short = await read(db, look)
    for number in range(300):
        row = await post(db, message("b", key=str(number)))
        await db.write(lambda conn, row=row: inbox.close_row(conn, row))  # type: ignore[misc]
    assert await read(db, look) < 1.5 * short
