"""The database port, on SQLite and on PostgreSQL."""

import asyncio

import pytest
from sqlalchemy import Connection, text

from gateway.storage.db import Database, DatabaseError, connect

pytestmark = pytest.mark.statements


def put(value: int) -> object:
    def work(conn: Connection) -> int:
        conn.execute(text("insert into marks (value) values (:v)"), {"v": value})
        return value

    return work


def total(conn: Connection) -> list[int]:
    return [row[0] for row in conn.execute(text("select value from marks order by value"))]


@pytest.fixture
async def marks(db: Database) -> Database:
    await db.write(lambda conn: conn.execute(text("create table marks (value integer)")) and None)
    return db


async def test_what_write_returned_is_committed(marks: Database) -> None:
    assert await marks.write(put(1)) == 1
    assert await marks.read(total) == [1]


async def test_a_failing_write_undoes_itself_and_nothing_else(marks: Database) -> None:
    def broken(conn: Connection) -> None:
        put(99)(conn)
        raise LookupError("no")

    outcomes = await asyncio.gather(
        marks.write(put(1)), marks.write(broken), marks.write(put(2)), return_exceptions=True
    )
    assert isinstance(outcomes[1], LookupError)
    assert await marks.read(total) == [1, 2]


async def test_many_writers_at_once_all_commit(marks: Database) -> None:
    await asyncio.gather(*(marks.write(put(n)) for n in range(200)))
    assert await marks.read(total) == list(range(200))


async def test_a_cancelled_writer_leaves_the_database_usable(marks: Database) -> None:
    task = asyncio.create_task(marks.write(put(7)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await marks.write(put(8))
    assert 8 in await marks.read(total)


async def test_a_second_engine_on_the_database_is_refused(db: Database, database_url: str) -> None:
    await db.lock_engine()
    other = connect(database_url)
    with pytest.raises(DatabaseError, match="another swarmgate is running"):
        await other.lock_engine()
    await other.close()


async def test_the_engine_role_is_free_again_after_close(database_url: str) -> None:
    first = connect(database_url)
    await first.lock_engine()
    await first.close()
    second = connect(database_url)
    await second.lock_engine()
    await second.close()


def test_an_unknown_kind_of_database_is_refused_with_the_cure() -> None:
    from pathlib import Path

    from gateway.storage.db import url_of

    with pytest.raises(DatabaseError, match="use postgresql"):
        url_of("mysql://host/db", Path())
