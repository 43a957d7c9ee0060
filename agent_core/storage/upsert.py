"""INSERT with ON CONFLICT, which each database spells in a dialect of its own."""

from typing import cast

from sqlalchemy import FromClause, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(dialect: str, table: FromClause) -> sqlite.Insert:
    """An insert with `on_conflict_do_nothing` and `on_conflict_do_update`, whose arguments are the same for both."""
    own = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return cast("sqlite.Insert", own(cast("Table", table)))
