"""Which conversation and session a message belongs to (DESIGN.md 3)."""

import asyncio
import datetime as dt

import pytest
from sqlalchemy import text

from channels.types import Address
from gateway.inbound import conversation
from gateway.inbound.conversation import Lane
from gateway.storage.db import Database
from tests.house import on_sqlite

pytestmark = pytest.mark.statements

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
HERE = Address("telegram", "777", "1")


async def ensure(db: Database, address: Address = HERE, owner: str = "telegram:1") -> Lane:
    return await db.write(
        lambda conn: conversation.ensure(conn, address, private=True, owner=owner, now=NOW)
    )


@pytest.mark.parametrize(
    "other",
    [
        Address("telegram", "777", "2"),
        Address("telegram", "778", "1"),
        Address("slack", "777", "1"),
        Address("telegram", "777", "1", "5"),
    ],
)
@on_sqlite
async def test_each_place_is_a_conversation_of_its_own(db: Database, other: Address) -> None:
    """Another chat, another bot, another platform, a topic."""
    one, two = await ensure(db), await ensure(db, other)
    assert one.id != two.id
    assert one.session_id != two.session_id
    assert two.address == other


async def test_a_place_keeps_its_conversation_and_the_owner_of_its_session(db: Database) -> None:
    first, again = await ensure(db), await ensure(db, owner="telegram:2")
    assert first == again
    assert again.owner == "telegram:1"


async def test_messages_that_open_a_place_at_once_open_it_once(db: Database) -> None:
    lanes = await asyncio.gather(*(ensure(db, owner=f"telegram:{n}") for n in range(8)))
    assert len({(lane.id, lane.session_id, lane.owner) for lane in lanes}) == 1
    count = text("select count(*) from session")
    assert await db.read(lambda conn: conn.execute(count).scalar()) == 1


async def test_a_new_session_moves_the_pointer_and_keeps_the_old_one(db: Database) -> None:
    lane = await ensure(db)
    fresh = await db.write(lambda conn: conversation.renew(conn, lane, "telegram:1", NOW))
    assert (await ensure(db)).session_id == fresh != lane.session_id
    known = text("select count(*) from session")
    assert await db.read(lambda conn: conn.execute(known).scalar()) == 2


async def test_each_run_raises_the_epoch(db: Database) -> None:
    lane = await ensure(db)
    raised = [await db.write(lambda conn: conversation.raise_epoch(conn, lane.id)) for _ in "abc"]
    assert raised == [1, 2, 3]
    assert await db.read(lambda conn: conversation.epoch_of(conn, lane.id)) == 3


@on_sqlite
async def test_choices_of_a_chat_are_its_own(db: Database) -> None:
    await ensure(db, Address("telegram", "777", "2"))
    lane = await ensure(db)
    await db.write(lambda conn: conversation.choose(conn, lane.id, preset="solo", model="p/m"))
    mine = await ensure(db)
    other = await ensure(db, Address("telegram", "777", "2"))
    assert (mine.preset, mine.model, other.preset, other.model) == ("solo", "p/m", "", "")


@on_sqlite
async def test_a_place_that_nobody_wrote_at_is_unknown(db: Database) -> None:
    assert await db.read(lambda conn: conversation.find(conn, "telegram:777:1")) is None


def test_session_ids_cannot_be_guessed() -> None:
    made = {conversation.new_session_id() for _ in range(100)}
    assert len(made) == 100
    assert all(len(i) == 17 for i in made)
