"""Databases that fail on request, and processes that die at a commit: wrappers of the Database port for tests."""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from gateway.storage.db import Database

T = TypeVar("T")


def away() -> OperationalError:
    return OperationalError("commit", {}, Exception("the server is away"))


class Outcome(StrEnum):
    """What becomes of a write."""

    FINE = "fine"
    AWAY = "away"  # the database is not reached
    UNDONE = "undone"  # the work ran, the commit failed
    LOST = "lost"  # the commit went through, its answer did not arrive


class FlakyDatabase:
    """A Database whose next writes and reads go as planned; afterwards all is fine."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.dialect = db.dialect
        self.writes: deque[Outcome] = deque()
        self.reads: deque[Outcome] = deque()
        self.between: Callable[[Connection], object] | None = None

    async def write(self, work: Callable[[Connection], T]) -> T:
        outcome = self.writes.popleft() if self.writes else Outcome.FINE
        if outcome is Outcome.AWAY:
            raise away()
        if outcome is Outcome.UNDONE:
            return await self.db.write(lambda conn: _undo(conn, work))
        result = await self.db.write(work)
        if outcome is Outcome.LOST:
            if self.between is not None:
                await self.db.write(self.between)
            raise away()
        return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        if self.reads and self.reads.popleft() is not Outcome.FINE:
            raise away()
        return await self.db.read(work)

    async def lock_engine(self) -> None:
        await self.db.lock_engine()

    async def join_engine(self) -> bool:
        return await self.db.join_engine()

    async def share_engine(self) -> None:
        await self.db.share_engine()

    async def keep_engine(self) -> None:
        await self.db.keep_engine()

    async def close(self) -> None:
        await self.db.close()


def _undo(conn: Connection, work: Callable[[Connection], T]) -> T:
    work(conn)
    raise away()


class Killed(BaseException):
    """The process is dead: nothing of it runs any more."""


class DyingDatabase(FlakyDatabase):
    """Dies at its write number `at` (from 0), before or after the commit, and never writes again."""

    def __init__(self, db: Database, at: int, *, after: bool) -> None:
        super().__init__(db)
        self.at = at
        self.after = after
        self.count = 0

    @property
    def dead(self) -> bool:
        return self.count > self.at

    async def write(self, work: Callable[[Connection], T]) -> T:
        number, self.count = self.count, self.count + 1
        if number < self.at:
            return await self.db.write(work)
        if number == self.at and self.after:
            await self.db.write(work)
        raise Killed
