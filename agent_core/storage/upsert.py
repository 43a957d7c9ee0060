"""INSERT with ON CONFLICT, which each database spells in a dialect of its own."""

from typing import cast

from sqlalchemy import FromClause, Table
from sqlalchemy.dialects import sqlite


def insert_into(dialect: str, table: FromClause) -> sqlite.Insert:
    """An insert with `on_conflict_do_nothing` and `on_conflict_do_update`, whose arguments are the same for both."""
    if dialect != "postgresql":
        return sqlite.insert(cast("Table", table))
    from sqlalchemy.dialects import postgresql  # 2 MB that SQLite has no use for

    return cast("sqlite.Insert", postgresql.insert(cast("Table", table)))
