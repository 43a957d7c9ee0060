"""What the shared engine says to the database: wakes return at once, and those that meet share a commit."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sqlalchemy import Connection

from gateway.engine import jobs
from gateway.engine.fence import AWAY, RETRY_S
from gateway.engine.jobs import Later
from gateway.storage.db import Database

log = logging.getLogger(__name__)
LAST_S = 2.0  # what is still to be said when the engine stops; recovery finds what was not


class Mail:
    """One task that writes; `own` is the queue of this process.

    An outage is waited out: nothing handed in is dropped before `stop`.
    """

    def __init__(self, db: Database, own: str) -> None:
        self._db = db
        self._own = own
        self._woken: dict[str, str] = {}
        self._later: dict[str, Later] = {}
        self._room = False
        self._calls: list[Callable[[], Awaitable[None]]] = []
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._run(), name="engine-mail")

    def wake(self, conversation_id: str, principal: str) -> None:
        """Rows wait in a conversation that this process does not run."""
        self._woken[conversation_id] = principal
        self._changed.set()

    def wait(self, conversation_id: str, later: Later) -> None:
        """A conversation is to be looked at later."""
        self._later[conversation_id] = later
        self._changed.set()

    def room(self) -> None:
        """A pot may have room."""
        self._room = True
        self._changed.set()

    def soon(self, call: Callable[[], Awaitable[None]]) -> None:
        """Call it in the task that writes."""
        self._calls.append(call)
        self._changed.set()

    async def stop(self) -> None:
        """Say what is left, as far as the database is there."""
        if self._task is None:
            return
        try:
            async with asyncio.timeout(LAST_S):
                while self._changed.is_set() or not self._idle.is_set():
                    await self._idle.wait()
                    await asyncio.sleep(0)
        except TimeoutError:
            log.warning("wakes_left", extra={"conversations": len(self._woken)})
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = None

    async def _run(self) -> None:
        while True:
            self._idle.set()
            await self._changed.wait()
            self._idle.clear()
            self._changed.clear()
            calls, self._calls = self._calls, []
            for call in calls:
                await call()
            try:
                await self._write()
            except AWAY as e:
                log.warning("wakes_wait", extra={"reason": str(e).strip()[:200]})
                await asyncio.sleep(RETRY_S)
            except Exception:  # recovery finds the rows
                log.exception("wakes_lost")

    async def _write(self) -> None:
        woken, self._woken = self._woken, {}
        later, self._later = self._later, {}
        room, self._room = self._room, False
        if not (woken or later or room):
            return

        def work(conn: Connection) -> None:
            jobs.later(conn, later)
            if room:
                jobs.free(conn)
            jobs.defer(conn, woken, self._own)

        try:
            await self._db.write(work)
        except AWAY:
            self._woken = woken | self._woken
            self._later = later | self._later
            self._room = room or self._room
            self._changed.set()
            raise
