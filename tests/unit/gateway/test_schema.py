"""Schema: created, checked, migrated, on both databases."""

import asyncio
import itertools

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text
from sqlmodel import SQLModel

from agent_core.models.scripted import Answer
from agent_core.storage.tables_recall import SQLITE_TABLES
from channels.types import Kind
from gateway.storage.db import Database, DatabaseError
from gateway.storage.job_tables import is_foreign
from gateway.storage.schema import HEAD, KNOWN, alembic_config, migrate, open_database
from tests.harness import agent, call, team
from tests.house import House, on_sqlite

pytestmark = pytest.mark.statements


def shape(url: str) -> dict[str, object]:
    engine = create_engine(url)
    try:
        looked = inspect(engine)
        return {
            name: (
                sorted(
                    (c["name"], str(c["type"]), c["nullable"]) for c in looked.get_columns(name)
                ),
                sorted(
                    (i["name"] or "", tuple(i["column_names"]), i["unique"])
                    for i in looked.get_indexes(name)
                ),
                sorted(
                    (u["name"] or "", tuple(u["column_names"]))
                    for u in looked.get_unique_constraints(name)
                ),
                sorted(
                    (tuple(f["constrained_columns"]), f["referred_table"])
                    for f in looked.get_foreign_keys(name)
                ),
            )
            for name in sorted(looked.get_table_names())
        }
    finally:
        engine.dispose()


def test_the_known_revisions_are_those_of_the_migrations() -> None:
    script = ScriptDirectory.from_config(alembic_config("sqlite://"))
    assert script.get_current_head() == HEAD
    assert [r.revision for r in script.walk_revisions()][::-1] == list(KNOWN)


async def test_a_created_schema_equals_the_migrated_one(database_url: str) -> None:
    await asyncio.to_thread(migrate, database_url)
    migrated = shape(database_url)
    await asyncio.to_thread(migrate, database_url, "base")
    engine = create_engine(database_url)
    with engine.begin() as conn:
        conn.execute(text("drop table alembic_version"))
    engine.dispose()
    await (await open_database(database_url)).close()
    assert shape(database_url) == migrated


def ours(name: str | None, kind: str, _parents: object) -> bool:
    """What the metadata cannot say is made by statements of each database: FTS5 and its parts, the GIN index."""
    return name not in SQLITE_TABLES and name != "recall_doc_terms" and not is_foreign(name)


async def test_models_and_migrations_agree(database_url: str) -> None:
    await asyncio.to_thread(migrate, database_url)
    engine = create_engine(database_url)
    with engine.connect() as conn:
        context = MigrationContext.configure(
            conn, opts={"compare_type": False, "include_name": ours}
        )
        assert compare_metadata(context, SQLModel.metadata) == []
    engine.dispose()


async def test_migrations_go_both_ways_with_rows_in_the_tables(
    db: Database, database_url: str
) -> None:
    def fill(conn: Connection) -> None:
        conn.execute(
            text(
                "insert into session (id, owner, title, created_at)"
                " values ('s1', 'telegram:1', '', '2026-01-01 00:00:00+00')"
            )
        )

    await db.write(fill)
    await db.close()
    await asyncio.to_thread(migrate, database_url, "base")
    before, after = await asyncio.to_thread(migrate, database_url)
    assert (before, after) == (None, HEAD)


async def test_rows_of_the_revision_before_are_kept_and_read(database_url: str) -> None:
    """0003: a call that was paid for earlier has no price without a cache, and wrote nothing for an hour."""
    await asyncio.to_thread(migrate, database_url, "0002")
    engine = create_engine(database_url)
    with engine.begin() as conn:
        conn.execute(
            text(
                "insert into session (id, owner, title, created_at)"
                " values ('s1', 'telegram_1', '', '2026-01-01 00:00:00+00')"
            )
        )
        conn.execute(
            text(
                "insert into usage (turn_id, session_id, owner, model, input_tokens, output_tokens,"
                " cache_read_tokens, cache_write_tokens, usd, at)"
                " values (1, 's1', 'telegram_1', 'm', 1, 2, 3, 4, 0.5, '2026-01-01 00:00:00+00')"
            )
        )
    before, after = await asyncio.to_thread(migrate, database_url)
    assert (before, after) == ("0002", HEAD)
    query = text("select usd, cache_write_tokens, cache_write_1h_tokens, usd_uncached from usage")
    with engine.begin() as conn:
        assert tuple(conn.execute(query).one()) == (0.5, 4, 0, None)
    await asyncio.to_thread(migrate, database_url, "0002")
    await asyncio.to_thread(migrate, database_url)
    with engine.begin() as conn:
        assert tuple(conn.execute(query).one()) == (0.5, 4, 0, None)
    engine.dispose()


async def set_revision(url: str, value: str) -> None:
    database = await open_database(url)

    def work(conn: Connection) -> None:
        conn.execute(text("update alembic_version set version_num = :v"), {"v": value})
        conn.execute(text("update schema_floor set oldest = :v"), {"v": value})

    await database.write(work)
    await database.close()


async def test_a_newer_database_is_refused_with_the_cure(database_url: str) -> None:
    await set_revision(database_url, "9999")
    with pytest.raises(DatabaseError, match="newer swarmgate"):
        await open_database(database_url)
    with pytest.raises(DatabaseError, match="update swarmgate first"):
        await asyncio.to_thread(migrate, database_url)


async def test_tables_of_ours_without_a_revision_are_refused(database_url: str) -> None:
    engine = create_engine(database_url)
    with engine.begin() as conn:
        conn.execute(text("create table inbox (id integer)"))
    engine.dispose()
    with pytest.raises(DatabaseError, match="no revision"):
        await open_database(database_url)


async def test_processes_that_start_on_an_empty_database_at_once_create_it_once(
    database_url: str,
) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("one process has an SQLite database for itself")
    opened = await asyncio.gather(*(open_database(database_url) for _ in range(4)))
    for database in opened:
        await database.close()
    assert "inbox" in shape(database_url)


# Expand first, contract later --------------------------------------------------------------------


def steps(url: str) -> list[tuple[str, dict[str, dict[str, bool]]]]:
    """For each revision its tables, their columns, and whether a row must name a value for one."""
    found = []
    engine = create_engine(url)
    for target in KNOWN:
        migrate(url, target)
        looked = inspect(engine)
        found.append(
            (
                target,
                {
                    table: {
                        column["name"]: not column["nullable"]
                        and column["default"] is None
                        and column.get("autoincrement") is not True
                        for column in looked.get_columns(table)
                    }
                    for table in looked.get_table_names()
                    if ours(table, "table", None)
                },
            )
        )
    engine.dispose()
    return found


@on_sqlite
def test_every_migration_only_adds(database_url: str) -> None:
    """So a gateway of the version before goes on while the schema moves, and may be taken back to.

    No table and no column goes, and a new column of an old table needs no value from code that does not know it. One
    that takes something away comes a version later, raises `schema_floor`, and is named here.
    """
    contracts: set[str] = set()
    seen = steps(database_url)
    for (_, before), (number, after) in itertools.pairwise(seen):
        if number in contracts:
            continue
        for table, columns in before.items():
            assert table in after, f"{number} takes {table} away"
            assert columns.keys() <= after[table].keys(), f"{number} takes a column of {table} away"
            added = after[table].keys() - columns.keys()
            needed = [name for name in added if after[table][name]]
            assert needed == [], f"{number}: older code cannot insert into {table}"


def later(conn: Connection, floor: str) -> None:
    """What a later version's migration may have done: a table, a column, an index, and its number."""
    conn.execute(text("create table of_tomorrow (id integer primary key)"))
    conn.execute(text("alter table turn add column mood text"))
    conn.execute(text("alter table outbox add column weight integer not null default 0"))
    conn.execute(text("create index of_tomorrow_turns on turn (principal)"))
    conn.execute(text("update alembic_version set version_num = '0999'"))
    conn.execute(text("update schema_floor set oldest = :floor"), {"floor": floor})


async def test_this_version_runs_on_a_later_schema_that_only_added(database_url: str) -> None:
    """In the middle of an upgrade of several gateways, and after a version was taken back."""
    first = await open_database(database_url)
    await first.write(lambda conn: later(conn, HEAD))
    await first.close()
    assert await asyncio.to_thread(migrate, database_url) == ("0999", "0999")
    db = await open_database(database_url)
    try:
        script = [Answer("looking", calls=(call("echo"), call("pay", "c2", to="bob"))), "paid"]
        the_team = team(agent(tools=("echo", "pay")))
        async with House(db, script, the_team=the_team) as house:
            await house.ask("pay bob")
            assert (await house.ask("ok:1", kind=Kind.BUTTON, callback="cb"))[-1] == "paid"
            await house.ask("/remind in 10m tea")
            assert await house.one("select count(*) from turn where status = 'done'") == 1
    finally:
        await db.close()


async def test_a_later_schema_that_took_something_away_is_refused(database_url: str) -> None:
    first = await open_database(database_url)
    await first.write(lambda conn: later(conn, "0998"))
    await first.close()
    with pytest.raises(DatabaseError, match="newer swarmgate"):
        await open_database(database_url)
    with pytest.raises(DatabaseError, match="update swarmgate first"):
        await asyncio.to_thread(migrate, database_url)


async def test_processes_that_migrate_at_once_do_it_once(database_url: str) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("one process has an SQLite database for itself")
    await asyncio.to_thread(migrate, database_url, "0012")
    moved = await asyncio.gather(*(asyncio.to_thread(migrate, database_url) for _ in range(4)))
    assert sorted(before or "" for before, _ in moved) == ["0012", HEAD, HEAD, HEAD]
    assert {after for _, after in moved} == {HEAD}
