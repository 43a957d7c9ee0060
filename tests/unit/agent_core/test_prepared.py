"""Prepared statements do what the statement says, on both databases, with the types of its columns."""

import asyncio
import datetime as dt
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from agent_core.storage.prepared import Prepared, together
from agent_core.storage.tables import Session, Transcript
from agent_core.storage.upsert import insert_into
from gateway.storage.db import Database
from tests.house import on_sqlite

on_postgres = pytest.mark.parametrize(
    "database_url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
pytestmark = pytest.mark.statements
_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
ADD = Prepared(insert(_SESSION))
ADD_ONCE = Prepared(
    lambda dialect: (
        insert_into(dialect, _SESSION)
        .on_conflict_do_nothing(index_elements=["id"])
        .returning(_SESSION.c.id)
    )
)
BY_OWNER = Prepared(
    select(_SESSION.c.id, _SESSION.c.parent, _SESSION.c.created_at)
    .where(_SESSION.c.owner == bindparam("whose"), _SESSION.c.title == "")
    .order_by(_SESSION.c.id)
    .limit(bindparam("most"))
)
COUNT = Prepared(select(func.count()).select_from(_SESSION))
NAME = Prepared(
    update(_SESSION).where(_SESSION.c.owner == bindparam("whose")).values(title=bindparam("new"))
)
DROP = Prepared(
    delete(_SESSION)
    .where(_SESSION.c.created_at < bindparam("before", type_=_SESSION.c.created_at.type))
    .returning(_SESSION.c.id, _SESSION.c.created_at)
)


def session(number: int, owner: str = "alice", at: dt.datetime = NOON) -> dict[str, object]:
    more = {"parent": None, "agent": None, "title": "", "created_at": at}
    return {"id": f"s{number}", "owner": owner, **more}


async def test_rows_come_with_the_types_of_their_columns(db: Database) -> None:
    def work(conn: Connection) -> list[object]:
        ADD.execute(conn, session(1))
        ADD.execute(conn, [session(2), session(3), session(4, "bob")])
        return [tuple(row) for row in BY_OWNER.execute(conn, {"whose": "alice", "most": 2})]

    assert await db.write(work) == [("s1", None, NOON), ("s2", None, NOON)]


async def test_columns_are_attributes_and_nothing_is_none(db: Database) -> None:
    await db.write(lambda conn: ADD.execute(conn, session(1)))
    wanted = {"whose": "alice", "most": 5}
    row = await db.read(lambda conn: BY_OWNER.execute(conn, wanted).first())
    assert (row.id, row.created_at) == ("s1", NOON)
    nobody = await db.read(lambda conn: BY_OWNER.execute(conn, wanted | {"whose": "bob"}))
    assert (nobody.first(), nobody.scalar(), nobody.scalars()) == (None, None, [])
    with pytest.raises(LookupError):
        nobody.one()


async def test_changes_are_counted_and_returned(db: Database) -> None:
    later = NOON + dt.timedelta(hours=1)

    def work(conn: Connection) -> tuple[int, list[Any], Any]:
        ADD.execute(conn, [session(1), session(2), session(3, "bob", later)])
        changed = NAME.execute(conn, {"whose": "alice", "new": "prices"}).rowcount
        gone = [tuple(row) for row in DROP.execute(conn, {"before": later})]
        return changed, sorted(gone), COUNT.execute(conn, {}).scalar()

    assert await db.write(work) == (2, [("s1", NOON), ("s2", NOON)], 1)


async def test_a_statement_may_be_another_one_for_each_dialect(db: Database) -> None:
    def work(conn: Connection) -> list[object]:
        return [ADD_ONCE.execute(conn, session(1)).scalar() for _ in range(2)]

    assert await db.write(work) == ["s1", None]


async def test_a_naive_time_is_refused(db: Database) -> None:
    naive = session(1) | {"created_at": NOON.replace(tzinfo=None)}
    with pytest.raises(Exception, match="naive"):
        await db.write(lambda conn: ADD.execute(conn, naive))


@on_sqlite
async def test_a_column_that_the_first_values_did_not_name_is_refused_not_left_out(
    db: Database,
) -> None:
    add, fewer = Prepared(insert(_SESSION)), session(1)
    del fewer["agent"]
    await db.write(lambda conn: add.execute(conn, fewer))
    with pytest.raises(TypeError, match="5 values were expected, 6 given"):
        await db.write(lambda conn: add.execute(conn, session(2)))


async def test_errors_are_those_of_all_statements_and_undo_the_transaction(db: Database) -> None:
    def work(conn: Connection) -> None:
        ADD.execute(conn, session(1))
        ADD.execute(conn, session(1))

    with pytest.raises(IntegrityError):
        await db.write(work)
    assert await db.read(lambda conn: COUNT.execute(conn, {}).scalar()) == 0


@on_postgres
async def test_a_lost_connection_is_met_once_and_none_of_its_age_is_used_again(
    db: Database, database_url: str
) -> None:
    def count(conn: Connection) -> object:
        found = COUNT.execute(conn, {}).scalar()
        conn.execute(text("select pg_sleep(0.1)"))  # so that three connections are open at once
        return found

    async def three() -> list[object]:
        return await asyncio.gather(*(db.read(count) for _ in range(3)))

    assert await three() == [0, 0, 0]
    psycopg = pytest.importorskip("psycopg")
    others = (
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid <> pg_backend_pid()"
    )
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"{others} and datname = current_database()")
    with pytest.raises(OperationalError):
        await db.read(count)
    assert await three() == [0, 0, 0]


async def test_changes_are_executed_together_and_the_last_one_brings_its_rows(db: Database) -> None:
    """Values of the same name stay apart; what is quoted or counted in a text is not mistaken for one."""

    def work(conn: Connection) -> list[object]:
        changes = [
            ADD.given(session(n, owner)) for n, owner in enumerate(["alice", "bob", "alice"])
        ]
        made = together(conn, [*changes, ADD_ONCE.given(session(9))])
        named = NAME.given({"whose": "bob", "new": "50 %"})
        dropped = together(conn, [named, DROP.given({"before": NOON})])
        titles = conn.execute(select(_SESSION.c.id, _SESSION.c.title).order_by(_SESSION.c.id))
        return [made.scalars(), list(dropped), [tuple(row) for row in titles]]

    rows = [("s0", ""), ("s1", "50 %"), ("s2", ""), ("s9", "")]
    assert await db.write(work) == [["s9"], [], rows]


async def test_of_changes_that_are_executed_together_all_fail_or_none(db: Database) -> None:
    await db.write(lambda conn: ADD.execute(conn, session(1)))
    with pytest.raises(IntegrityError):
        await db.write(lambda conn: together(conn, [ADD.given(session(n)) for n in (2, 1)]))
    left = await db.read(lambda conn: COUNT.execute(conn, {}).scalar())
    assert left == 1
