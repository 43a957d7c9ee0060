"""PostgreSQL through psycopg's async driver; the engine role is an advisory lock on a connection of its own."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.util import greenlet_spawn

from gateway.storage import replica
from gateway.storage.db import DatabaseError

T = TypeVar("T")
ENGINE_LOCK = 0x53776172  # "Swar", an arbitrary key of ours
POOL = 10
# What rests for long is not forgotten on the way to the server, and a server that is gone is noticed.
KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
JOIN_S = 5.0  # another one may just be finding out that it is alone
JOIN_RETRY_S = 0.1


class PostgresDatabase:
    """See gateway.storage.db.Database."""

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        self.replica = replica.new_number()
        self._engine: AsyncEngine = create_async_engine(
            url,
            pool_size=POOL,
            max_overflow=0,
            pool_timeout=30,
            # The connection that was used last has its statements ready, and its server process is warm: with the one
            # that rested longest a turn started a tenth later.
            pool_use_lifo=True,
            connect_args={"connect_timeout": 10, **KEEPALIVE},
            execution_options=replica.options(self.replica),
        )
        self._lock: AsyncConnection | None = None
        self._alone = False

    async def write(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        return await greenlet_spawn(_written, self._engine.sync_engine, work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """See Database."""
        return await greenlet_spawn(_read, self._engine.sync_engine, work)

    async def lock_engine(self) -> None:
        """See Database. The lock ends with the connection, so also with the process."""
        connection = await self._connect()
        taken = await _asked(connection, "select pg_try_advisory_lock(:key)")
        if not taken:
            await connection.close()
            raise DatabaseError(
                "another swarmgate is running on this database; stop it first, or use another database"
            )
        self._lock = connection

    async def join_engine(self) -> bool:
        """See Database. Whoever has the lock alone for a moment finds out by it that nobody else has it."""
        connection = await self._connect()
        alone = await _asked(connection, "select pg_try_advisory_lock(:key)")
        shared = alone
        until = time.monotonic() + JOIN_S
        while not shared and time.monotonic() < until:
            shared = await _asked(connection, "select pg_try_advisory_lock_shared(:key)")
            if not shared:
                await asyncio.sleep(JOIN_RETRY_S)
        if not shared:
            await connection.close()
            raise DatabaseError(
                "a swarmgate that shares this database with nobody (engine.kind local, or `chat`) is running on it; "
                "stop it first, or use another database"
            )
        self._lock, self._alone = connection, alone
        return alone

    async def share_engine(self) -> None:
        """See Database."""
        if self._lock is not None and self._alone:
            await _asked(self._lock, "select pg_advisory_lock_shared(:key)")
            await _asked(self._lock, "select pg_advisory_unlock(:key)")
            self._alone = False

    async def keep_engine(self) -> None:
        """See Database."""
        lock = self._lock
        if lock is None:
            return
        try:
            await lock.execute(text("select 1"))
            await lock.commit()
        except DBAPIError:
            await lock.invalidate()
            await lock.close()
            self._lock = await self._engine.connect()
            await _asked(self._lock, "select pg_try_advisory_lock_shared(:key)")

    async def _connect(self) -> AsyncConnection:
        try:
            return await self._engine.connect()
        except OperationalError as e:
            raise DatabaseError(
                f"database: cannot be reached ({_first_line(e)}); is it running?"
            ) from e

    async def close(self) -> None:
        """See Database."""
        if self._lock is not None:
            await self._lock.execute(text("select pg_advisory_unlock_all()"))
            await self._lock.close()
            self._lock = None
        await self._engine.dispose()


# One crossing from asynchronous code for a whole transaction. `AsyncEngine.begin` crosses for the begin, the commit and
# the close as well, which together took as long as a statement.
def _written(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _read(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.connect() as connection:
        return work(connection)


async def _asked(connection: AsyncConnection, query: str) -> bool:
    found = await connection.execute(text(query), {"key": ENGINE_LOCK})
    await connection.commit()
    return found.scalar() is not False


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
