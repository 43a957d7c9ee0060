"""PostgreSQL through psycopg's async driver; the engine role is an advisory lock on a connection of its own."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gateway.storage.db import DatabaseError

T = TypeVar("T")
ENGINE_LOCK = 0x53776172  # "Swar", an arbitrary key of ours
POOL = 10


class PostgresDatabase:
    """See gateway.storage.db.Database."""

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        self._engine: AsyncEngine = create_async_engine(
            url,
            pool_size=POOL,
            max_overflow=0,
            pool_timeout=30,
            connect_args={"connect_timeout": 10},
        )
        self._lock: AsyncConnection | None = None

    async def write(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def lock_engine(self) -> None:
        """See Database. The lock ends with the connection, so also with the process."""
        try:
            connection = await self._engine.connect()
        except OperationalError as e:
            raise DatabaseError(
                f"database: cannot be reached ({_first_line(e)}); is it running?"
            ) from e
        taken = await connection.execute(
            text("select pg_try_advisory_lock(:key)"), {"key": ENGINE_LOCK}
        )
        if not taken.scalar():
            await connection.close()
            raise DatabaseError(
                "another swarmgate is running on this database; stop it first, or use another database"
            )
        await connection.commit()
        self._lock = connection

    async def close(self) -> None:
        """See Database."""
        if self._lock is not None:
            await self._lock.execute(text("select pg_advisory_unlock_all()"))
            await self._lock.close()
            self._lock = None
        await self._engine.dispose()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
