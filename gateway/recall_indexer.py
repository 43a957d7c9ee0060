"""Keeps the index of recall up with the transcripts: after each turn, off the path of a message, and at each start.

What is not indexed yet is seen from the marks in the database, so a kill loses nothing and old transcripts are taken
up in small batches; a message never waits for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from sqlalchemy import Connection

from agent_core.storage.recall_index import behind, index_new_rows
from gateway.db import Database
from gateway.engine.begin import Begun
from gateway.history import scope_of_turn

log = logging.getLogger(__name__)
BATCH = 25  # rows of one transaction: some ten milliseconds of the only writer
SESSIONS = 20


class RecallIndexer:
    """The one task that indexes what was said."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._said: dict[str, None] = {}  # sessions, in the order in which something was said
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Take up what an earlier process left, then wait for turns."""
        self._task = asyncio.create_task(self._run(), name="recall-index")

    async def stop(self) -> None:
        """End; what is left is taken up at the next start. A transaction that runs is not cut off half way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def after(self, begun: Begun) -> None:
        """A turn is over: its rows may be indexed."""
        self._said[begun.session_id] = None
        self._changed.set()

    async def catch_up(self) -> int:
        """Index everything that is not indexed yet. Returns how many rows were looked at."""
        total = 0
        while sessions := await self._db.read(lambda conn: behind(conn, SESSIONS)):
            for session in sessions:
                total += await self._index(session)
        return total

    async def _run(self) -> None:
        await self._tried(self.catch_up)
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._said:
                session = next(iter(self._said))
                del self._said[session]
                await self._tried(partial(self._index, session))

    async def _tried(self, work: Callable[[], Awaitable[int]]) -> None:
        try:
            await work()
        except Exception:  # the database is away; what is behind is seen at the next start
            log.exception("recall_index_waits")

    async def _index(self, session: str) -> int:
        total = 0
        while seen := await self._db.write(lambda conn: _index(conn, session)):
            total += seen
        return total


def _index(conn: Connection, session: str) -> int:
    return index_new_rows(conn, session, partial(scope_of_turn, conn), BATCH)
