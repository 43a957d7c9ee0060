"""The clock of questions: one task that sleeps until the next one expires."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from agent_core.ports import Clock
from gateway.questions import questions
from gateway.questions.approvals import Decisions
from gateway.questions.outcome import Outcome
from gateway.rounds import Rounds
from gateway.storage.db import Database

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
        done: Callable[[Outcome], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._clock = clock
        self._decisions = decisions
        self._done = done
        self._rounds = Rounds(
            "expiry", self._expire, waits="expiry_waits", retry_s=RETRY_S, sleep=sleep
        )

    async def start(self) -> None:
        """Begin."""
        self._rounds.start()

    def changed(self) -> None:
        """A question was asked: it may be the next to expire."""
        self._rounds.wake()

    async def stop(self) -> None:
        """End; what expires meanwhile is found at the next start."""
        await self._rounds.stop()

    async def _expire(self) -> float | None:
        """Expire what is due; seconds until the next one, None for none."""
        now = self._clock.now()
        for question_id in await self._db.read(lambda conn: questions.due(conn, now)):
            expire = partial(self._decisions.expire, question_id=question_id, now=now)
            self._done(await self._db.write(expire))
        until = await self._db.read(questions.next_expiry)
        return None if until is None else (until - self._clock.now()).total_seconds()
