"""Rows out of a database and into one, whatever schema it has and whichever of the two it is.

The tables are read from the database itself, so that a database of an earlier schema can be kept and brought back;
where a column is one of today's, its own type says how a value is stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Table,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
)
from sqlalchemy import table as sql_table
from sqlmodel import SQLModel

from agent_core.storage.tables_recall import SQLITE_TABLES
from gateway.backup.values import unpacked
from gateway.storage.job_tables import is_foreign

BATCH = 500
# What opens a door for a while: nobody who was logged out may be let in again by a restore.
LEFT_OUT = frozenset({"console_session", "link_code", "web_code"})
_OF_SCHEMA = frozenset({"alembic_version", "schema_floor"})  # they come with the schema


def tables(conn: Connection) -> list[Table]:
    """Our tables in this database, each behind those that it refers to."""
    found, names = MetaData(), _names(conn)
    found.reflect(conn, only=names)
    return [_typed(table) for table in found.sorted_tables if table.name in names]


def _names(conn: Connection) -> list[str]:
    """Of our tables; SQLite's search tables are none that can be reflected."""
    return [
        name
        for name in inspect(conn).get_table_names()
        if name not in _OF_SCHEMA and name not in SQLITE_TABLES and not is_foreign(name)
    ]


def _typed(table: Table) -> Table:
    today = SQLModel.metadata.tables.get(table.name)
    columns = [
        Column(
            column.name,
            today.c[column.name].type
            if today is not None and column.name in today.c
            else column.type,
            primary_key=column.primary_key,
        )
        for column in table.columns
    ]
    made = Table(table.name, MetaData(), *columns)
    made.info["parents"] = [
        (key.parent.name, key.column.name)
        for key in table.foreign_keys
        if key.column.table.name == table.name
    ]
    return made


def is_empty(conn: Connection) -> bool:
    """Whether no table of ours has a row."""
    one = (select(literal(1)).select_from(sql_table(name)).limit(1) for name in _names(conn))
    return not any(conn.execute(query).first() for query in one)


def dump(conn: Connection, table: Table) -> Iterator[Sequence[Any]]:
    """All rows, streamed; none of a table that is left out."""
    if table.name in LEFT_OUT:
        return
    streamed = conn.execution_options(yield_per=BATCH)
    with streamed.execute(select(table)) as rows:
        yield from rows


def load(
    conn: Connection, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> int:
    """Insert packed rows; how many. Rows that name a row of the same table stand behind it.

    Raises KeyError for a column that the table does not have, ValueError for a value that is none.
    """
    nul = conn.dialect.name == "sqlite"
    for name in columns:
        _ = table.c[name]
    values: Iterator[dict[str, Any]] = (
        dict(zip(columns, (unpacked(v, nul=nul) for v in row), strict=True)) for row in rows
    )
    for child, parent in table.info["parents"]:
        values = _behind(values, child, parent)
    count, batch = 0, list[dict[str, Any]]()
    for value in values:
        batch.append(value)
        if len(batch) == BATCH:
            conn.execute(insert(table), batch)
            batch = []
        count += 1
    if batch:
        conn.execute(insert(table), batch)
    return count


def _behind(rows: Iterable[dict[str, Any]], child: str, parent: str) -> Iterator[dict[str, Any]]:
    """Rows in an order in which each names only rows before it."""
    seen: set[Any] = set()
    waiting: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        if row[child] is not None and row[child] not in seen:
            waiting.setdefault(row[child], []).append(row)
            continue
        ready = [row]
        while ready:
            one = ready.pop()
            seen.add(one[parent])
            yield one
            ready += waiting.pop(one[parent], ())
    for left in waiting.values():  # the database refuses them, as it should
        yield from left


def clear(conn: Connection) -> None:
    """Delete every row of ours. PostgreSQL only: SQLite gets a new file."""
    names = ", ".join(f'"{name}"' for name in _names(conn))
    if names:
        conn.exec_driver_sql(f"truncate {names} restart identity")


def go_on_counting(conn: Connection, filled: Iterable[Table]) -> None:
    """Let PostgreSQL number new rows behind those that were loaded."""
    for table in filled:
        for column in table.primary_key.columns:
            sequence = conn.execute(
                text("select pg_get_serial_sequence(:table, :column)"),
                {"table": f'"{table.name}"', "column": column.name},
            ).scalar()
            if sequence is not None:
                highest = conn.execute(select(func.max(column))).scalar()
                if highest is not None:
                    conn.execute(
                        text("select setval(cast(:name as regclass), :value)"),
                        {"name": sequence, "value": highest},
                    )


def broken_links(conn: Connection) -> int:
    """How many rows of a SQLite database name a row that is not there."""
    return len(conn.exec_driver_sql("pragma foreign_key_check").fetchall())
