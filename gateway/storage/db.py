"""The database as the gateway uses it: `write` and `read`, each one transaction around a sync function.

Statement functions take a SQLAlchemy `Connection`, use Core statements on the SQLModel tables, and
never commit; the same functions run on SQLite and on PostgreSQL. No network and no model call
belongs inside one.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import make_url

T = TypeVar("T")


class DatabaseError(Exception):
    """The database cannot be used; the message says what, where and the cure in one line."""


class Database(Protocol):
    """One database.

    Both methods may be called from any task; a cancelled caller does not undo a commit.
    """

    dialect: str
    replica: int  # the number of this process among those of the database; 0 where it is alone

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction and return what it returned once that is committed and durable.

        What `work` raises undoes its own transaction only, and is raised here.
        """
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that only reads."""
        ...

    async def lock_engine(self) -> None:
        """Take the engine role of this database until `close`.

        Raises DatabaseError when it is taken.
        """
        ...

    async def join_engine(self) -> bool:
        """Share the engine role with others that share it, until `close`. Returns whether nobody else has it now.

        In that case nobody gets it before `share_engine`, so that what a dead process left can be taken up. Raises
        DatabaseError when somebody has it alone, and on SQLite, which has no room for two.
        """
        ...

    async def share_engine(self) -> None:
        """Let others join; harmless when they may already."""
        ...

    async def keep_engine(self) -> None:
        """Join again where the role was lost with its connection, as when the database was restarted."""
        ...

    async def close(self) -> None:
        """Finish what was handed in, then close. The engine role ends here."""
        ...


async def settled(db: Database, work: Callable[[Connection], T]) -> T:
    """`db.write`, for what happened outside already: a cancelled caller waits until it is committed or has failed."""
    writing = asyncio.ensure_future(db.write(work))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise


def url_of(database: str | None, data_dir: Path) -> str:
    """The SQLAlchemy URL: the settings' own, or SQLite in `data_dir`."""
    if not database:
        return f"sqlite:///{data_dir / 'swarmgate.db'}"
    url = make_url(database)
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    if url.get_backend_name() == "sqlite":
        return url.set(drivername="sqlite").render_as_string(hide_password=False)
    raise DatabaseError(
        f"database: {url.get_backend_name()} is not supported; use postgresql://… or leave it out for SQLite"
    )


def connect(url: str) -> Database:
    """The database behind a URL; nothing is opened yet."""
    if url.startswith("sqlite"):
        from gateway.storage.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    try:
        from gateway.storage.postgres import PostgresDatabase
    except ModuleNotFoundError as e:
        raise DatabaseError(
            f"database: PostgreSQL needs the extra `postgres` ({e.name} is missing); pip install 'swarmgate[postgres]'"
        ) from e
    return PostgresDatabase(url)
