"""Keeps the index of recall up with the transcripts, off the path of a message.

A conversation sees its own rows anyway, so they wait until there are a few, until the conversation is silent, or until
one was left: many rows cost hardly more than one. What is not indexed yet is seen from the marks in the database, so a
kill loses nothing, and each start takes up what is behind.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from sqlalchemy import Connection, text

from agent_core.storage.recall_index import behind, index_new_rows
from gateway.engine.begun import Begun
from gateway.memory.history import scope_of_turn
from gateway.memory.learning_jobs import is_unlearnt
from gateway.storage.db import Database

log = logging.getLogger(__name__)
BATCH = 25  # rows of one transaction: some ten milliseconds of the only writer
SESSIONS = 20
SILENT_S = 20.0  # from the first turn that waits
INDEX_LOCK = 0x53776978  # "Swix", an arbitrary key of ours
_ONE_AT_A_TIME = text("select pg_advisory_xact_lock(:key, hashtext(:session))")
TURNS = BATCH // 2  # of one session, after which it waits no longer: two rows each


class RecallIndexer:
    """The one task that indexes what was said. `level`: what an earlier process left is taken up."""

    def __init__(
        self, db: Database, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._db = db
        self._sleep = sleep
        self._said: dict[
            str, int
        ] = {}  # turns of sessions, in the order in which they began to wait
        self._changed = asyncio.Event()
        self._due = asyncio.Event()
        self.level = asyncio.Event()
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
        turns = self._said.get(begun.session_id, 0) + 1
        self._said[begun.session_id] = turns
        self._changed.set()
        if turns >= TURNS:
            self._due.set()

    def hurry(self) -> None:
        """A session may have been left: its rows are of use to the next one."""
        self._due.set()

    async def catch_up(self) -> int:
        """Index everything that is not indexed yet. Returns how many rows were looked at."""
        total = 0
        while sessions := await self._db.read(lambda conn: behind(conn, SESSIONS)):
            for session in sessions:
                total += await self._index(session)
        return total

    async def _run(self) -> None:
        await self._tried(self.catch_up)
        self.level.set()
        while True:
            await self._changed.wait()
            await self._silence()
            self._changed.clear()
            self._due.clear()
            while self._said:
                session = next(iter(self._said))
                del self._said[session]
                await self._tried(partial(self._index, session))

    async def _silence(self) -> None:
        """Until it is time: SILENT_S have gone, or somebody is in a hurry."""
        due = asyncio.ensure_future(self._due.wait())
        nap = asyncio.ensure_future(self._sleep(SILENT_S))
        try:
            await asyncio.wait((due, nap), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (due, nap):
                task.cancel()
            await asyncio.gather(due, nap, return_exceptions=True)

    async def _tried(self, work: Callable[[], Awaitable[int]]) -> None:
        try:
            await work()
        except Exception:  # the database is away; what is behind is seen at the next start
            log.exception("recall_index_waits")

    async def _index(self, session: str) -> int:
        total, seen = 0, BATCH
        while seen == BATCH:
            seen = await self._db.write(lambda conn: _index(conn, session))
            total += seen
        return total


def _index(conn: Connection, session: str) -> int:
    if conn.dialect.name == "postgresql":  # another process may index the same session
        conn.execute(_ONE_AT_A_TIME, {"key": INDEX_LOCK, "session": session})

    def scope(turn: int) -> str | None:
        return None if is_unlearnt(conn, session, turn) else scope_of_turn(conn, turn)

    return index_new_rows(conn, session, scope, BATCH)
