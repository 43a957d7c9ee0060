"""Deleting by-products when their time is over: at the start, then once a day (SCR-6, ARC-8)."""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable

from sqlalchemy import Connection

from agent_core.ports import Clock
from agent_core.storage.blobs import delete_results_before
from agent_core.storage.prices import delete_series_before
from agent_core.storage.traces import delete_traces_before
from gateway.settings.retention import Retention
from gateway.storage.db import Database

log = logging.getLogger(__name__)
EVERY_S = 86_400.0
FIRST_S = 60.0  # a start has better things to do
Batch = Callable[[Connection, dt.datetime], int]


class Keeper:
    """The one task that deletes what is too old, in small transactions, so that no message waits for it.

    `sleep` takes seconds.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        retention: Retention,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._clock = clock
        self._rules: tuple[tuple[str, dt.timedelta | None, Batch], ...] = (
            ("traces", retention.traces, delete_traces_before),
            ("archives", retention.archives, delete_results_before),
            ("prices", retention.prices, delete_series_before),
        )
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; nothing is deleted within the first minute."""
        if any(span is not None for _, span, _ in self._rules):
            self._task = asyncio.create_task(self._run(), name="retention")

    async def stop(self) -> None:
        """End the waiting; a transaction that runs is not cut off half way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def sweep(self) -> dict[str, int]:
        """Delete all that is too old now. Returns how much of each kind went."""
        gone: dict[str, int] = {}
        for name, span, batch in self._rules:
            if span is not None:
                gone[name] = await self._delete(batch, self._clock.now() - span)
        return gone

    async def _delete(self, batch: Batch, before: dt.datetime) -> int:
        total = 0
        while count := await self._db.write(lambda conn: batch(conn, before)):
            total += count
        return total

    async def _run(self) -> None:
        wait = FIRST_S
        while True:
            await self._sleep(wait)
            wait = EVERY_S
            try:
                gone = await self.sweep()
            except Exception:  # the database is away; what is old today is old tomorrow
                log.exception("retention_waits")
            else:
                if any(gone.values()):
                    log.info("retention", extra=gone)
