"""The clock of questions: one task that sleeps until the next one expires."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from agent_core.ports import Clock
from gateway.questions import questions
from gateway.questions.approvals import Decisions
from gateway.questions.outcome import Outcome
from gateway.questions.waiting import AskingLanes
from gateway.storage.db import Database

log = logging.getLogger(__name__)
RETRY_S = 5.0  # the database is away


class Expiry:
    """Expires questions in time, also those whose time ran out while nothing ran.

    `done` gets each outcome after its commit. `sleep` takes seconds.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        decisions: Decisions,
        lanes: AskingLanes,
        done: Callable[[Outcome], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._clock = clock
        self._decisions = decisions
        self._lanes = lanes
        self._done = done
        self._sleep = sleep
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Learn what is open, then begin."""
        self._lanes.load(await self._db.read(questions.asking))
        self._task = asyncio.create_task(self._run(), name="expiry")

    def changed(self) -> None:
        """A question was asked: it may be the next to expire."""
        self._changed.set()

    async def stop(self) -> None:
        """End; what expires meanwhile is found at the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                wait = await self._expire()
            except Exception:  # mostly the database is away
                log.exception("expiry_waits")
                wait = RETRY_S
            await self._pause(wait)

    async def _expire(self) -> float | None:
        """Expire what is due; seconds until the next one, None for none."""
        now = self._clock.now()
        for question_id in await self._db.read(lambda conn: questions.due(conn, now)):
            expire = partial(self._decisions.expire, question_id=question_id, now=now)
            self._done(await self._db.write(expire))
        until = await self._db.read(questions.next_expiry)
        return None if until is None else max(0.0, (until - self._clock.now()).total_seconds())

    async def _pause(self, seconds: float | None) -> None:
        if seconds is None:
            await self._changed.wait()
            return
        waits = [
            asyncio.ensure_future(self._sleep(seconds)),
            asyncio.ensure_future(self._changed.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
