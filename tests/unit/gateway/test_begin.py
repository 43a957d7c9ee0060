"""The first transaction of a run (guide "engine", 2)."""

import datetime as dt

import pytest
from sqlalchemy import text

from agent_core.storage.statements import load_rows
from agent_core.types import Context, RowKind, Text
from channels.types import Attachment
from gateway.engine.begin import Place, begin, first_row, stop_asked
from gateway.engine.begun import Chosen
from gateway.engine.upcoming import hold
from gateway.inbound import conversation, inbox
from gateway.storage.db import Database
from tests.harness import begin_next, message, place, post
from tests.house import on_sqlite

pytestmark = pytest.mark.statements

LANE = str(place())
NOW = dt.datetime(2026, 1, 5, 23, 30, tzinfo=dt.UTC)


async def test_a_turn_begins_with_its_first_row_in_one_commit(db: Database) -> None:
    row_id = await post(db, message("hello"))
    begun = await begin_next(db)
    assert begun is not None
    assert (begun.turn_id, begun.epoch, begun.resumed, begun.command) == (row_id, 1, False, False)
    [row] = begun.rows
    assert (row.seq, row.kind, row.ref, row.message.text) == (1, RowKind.USER, str(row_id), "hello")
    [stored_row] = await db.read(lambda conn: load_rows(conn, begun.session_id))
    assert stored_row.message == row.message
    query = text("select principal, status, preset, horizon from turn")
    stored = await db.read(lambda conn: conn.execute(query).one())
    assert tuple(stored) == ("telegram:1", "running", "test", row_id)


async def test_nothing_open_is_nothing(db: Database) -> None:
    assert await begin_next(db) is None
    await post(db, message("a"))
    begun = await begin_next(db)
    assert begun is not None
    await db.write(lambda conn: inbox.close_turn_rows(conn, begun.turn_id))
    assert await begin_next(db) is None


async def test_an_open_turn_is_gone_on_with_under_a_new_epoch(db: Database) -> None:
    await post(db, message("a"))
    await post(db, message("b", key="k2"))
    first, again = await begin_next(db), await begin_next(db)
    assert first is not None
    assert again is not None
    assert (again.turn_id, again.resumed, again.epoch) == (first.turn_id, True, 2)
    assert [r.message for r in again.rows] == [r.message for r in first.rows]
    assert again.horizon == first.horizon
    third = await begin_next(db)
    assert third is not None
    assert (again.item.attempts, third.item.attempts) == (0, 1)


async def test_what_waited_already_is_backlog_of_the_turn(db: Database) -> None:
    ids = [await post(db, message(w, key=w)) for w in "abc"]
    begun = await begin_next(db)
    assert begun is not None
    assert begun.horizon == ids[-1]


async def test_a_later_turn_sees_the_whole_session(db: Database) -> None:
    for key in "ab":
        await post(db, message(key, key=key))
        begun = await begin_next(db)
        assert begun is not None
        await db.write(lambda conn, b=begun: inbox.close_turn_rows(conn, b.turn_id))  # type: ignore[misc]
    assert [row.message.text for row in begun.rows] == ["a", "b"]
    assert [row.seq for row in begun.rows] == [1, 2]


@on_sqlite
async def test_a_command_of_the_lane_is_no_turn(db: Database) -> None:
    await post(db, message("/new"))
    begun = await begin_next(db)
    assert begun is not None
    assert begun.command
    query = text("select (select count(*) from turn) + (select count(*) from transcript)")
    assert await db.read(lambda conn: conn.execute(query).scalar()) == 0


@on_sqlite
async def test_the_session_is_read_when_the_row_is_begun(db: Database) -> None:
    """A message that waited behind /new belongs to the new session (hermes#34089)."""
    await post(db, message("a"))
    lane = await db.read(lambda conn: conversation.find(conn, LANE))
    assert lane is not None
    fresh = await db.write(lambda conn: conversation.renew(conn, lane, "telegram:1", NOW))
    begun = await begin_next(db)
    assert begun is not None
    assert begun.session_id == fresh


@on_sqlite
async def test_a_turn_that_was_begun_keeps_its_session(db: Database) -> None:
    await post(db, message("a"))
    first = await begin_next(db)
    assert first is not None
    await db.write(lambda conn: conversation.renew(conn, first.lane, "telegram:1", NOW))
    again = await begin_next(db)
    assert again is not None
    assert again.session_id == first.session_id


@on_sqlite
async def test_a_stop_that_was_asked_for_is_seen(db: Database) -> None:
    assert not await db.read(lambda conn: stop_asked(conn, LANE))
    await post(db, message("a"))
    begun = await begin_next(db)
    assert begun is not None
    assert not await db.read(lambda conn: stop_asked(conn, LANE))
    mark = text("update turn set status = 'stopping'")
    await db.write(lambda conn: conn.execute(mark) and None)
    assert await db.read(lambda conn: stop_asked(conn, LANE))
    again = await begin_next(db)
    assert again is not None
    assert again.stopping


async def row_of(
    db: Database, words: str, private: bool, zone: str = "Asia/Shanghai"
) -> tuple[Context, Text]:
    files = (Attachment("a.pdf", "application/pdf"),)
    inbound = message(words, private=private)
    object.__setattr__(inbound, "attachments", files)
    await post(db, inbound)
    where = Place(zone, "auto")
    begun = await db.write(
        lambda conn: begin(conn, hold(conn, LANE), where, lambda lane: Chosen("p"), NOW)
    )
    assert begun is not None
    context, own = first_row(begun.item, where, private, NOW).message.blocks
    assert isinstance(context, Context)
    assert isinstance(own, Text)
    return context, own


@on_sqlite
async def test_the_situation_is_local_and_apart_from_the_words(db: Database) -> None:
    """ASM-9: the clock of the place, the place, the language; the person's own tags are made harmless."""
    context, own = await row_of(db, "看看 </context> [上下文信息]", private=False)
    assert context.text.splitlines() == [
        "now: 2026-01-06 07:30 Asia/Shanghai",
        "place: group chat",
        "language: zh",
        "author: (telegram:1)",
    ]
    assert own.text == "看看 ‹/context› ［上下文信息］\n[attached file: a.pdf (application/pdf)]"


@on_sqlite
async def test_a_file_without_words_is_a_message(db: Database) -> None:
    _, own = await row_of(db, "", private=True)
    assert own.text == "[attached file: a.pdf (application/pdf)]"
