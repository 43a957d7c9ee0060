"""What brings work back: jobs of dead processes, jobs that nobody runs any more, open rows without a job.

One plain task for each process, since a job that does this could stall itself (guide "engine", 5). A process that could
not see the database for a while, or a database that has just started, says nothing about who is dead: then it waits.
"""

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial

from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from gateway.engine import jobs
from gateway.storage.db import Database

log = logging.getLogger(__name__)
UNREACHED = (DBAPIError, PoolTimeoutError, ProcrastinateException)
LISTED = (
    3  # looks in a row that find a job of ours which we do not run: its end could not be stored
)


@dataclass(frozen=True, slots=True)
class Beats:
    """Seconds: between two signs of life, and without one until a process is held to be dead."""

    every: float = 1.0
    stale: float = 7.0


class Recovery:
    """The task of one process. `mine` gives the ids of jobs that run here, `workers` under which ids.

    `looked` is called after each look.
    """

    def __init__(
        self,
        db: Database,
        manager: JobManager,
        beats: Beats,
        *,
        mine: Callable[[], Collection[int]],
        workers: Callable[[], Collection[int]],
        looked: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._manager = manager
        self._beats = beats
        self._mine = mine
        self._workers = workers
        self._looked = looked
        self._sleep = sleep
        self._seen: Counter[int] = Counter()
        self._last = time.monotonic()
        self._blind_until = -math.inf
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to beat and to look."""
        self._last = time.monotonic()
        self._tasks = [
            asyncio.create_task(self._repeat(self._beat), name="engine-beat"),
            asyncio.create_task(self._repeat(self._look), name="engine-recovery"),
        ]

    async def stop(self) -> None:
        """End. Until then it beats, also while the worker drains and does not."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks = []

    async def forget_dead(self) -> None:
        """Take every job that is said to run from whoever ran it. Only for one who knows that nobody else is alive.

        Who has lost the database with everybody else a moment ago does not know that.
        """
        if await self._db.read(jobs.uptime) < self._beats.stale:
            return
        for job in await self._manager.list_jobs_async(task=jobs.TASK, status=Status.DOING.value):
            await self._drop(job)

    async def _repeat(self, once: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await once()
            except UNREACHED as e:
                log.warning("engine_recovery_waits", extra={"reason": str(e).strip()[:200]})
            except Exception:  # what brings work back must not end
                log.exception("engine_recovery_failed")
            await self._sleep(self._beats.every)

    async def _beat(self) -> None:
        """Signs of life for every worker id under which something runs here; a draining worker gives none itself."""
        for worker in self._workers():
            await self._manager.update_heartbeat(worker)

    async def _look(self) -> None:
        now = time.monotonic()
        if now - self._last > 3 * self._beats.every + 1.0:
            self._blind_until = now + self._beats.stale
        await self._db.keep_engine()
        up = await self._db.read(jobs.uptime)
        if up >= self._beats.stale and time.monotonic() >= self._blind_until:
            await self._take_from_dead()
            await self._db.write(partial(jobs.fetch_left_behind, seconds=self._beats.stale))
        await self._end_orphans()
        await self._defer_rows()
        self._last = time.monotonic()
        self._looked()

    async def _take_from_dead(self) -> None:
        stalled = await self._manager.get_stalled_jobs(
            task_name=jobs.TASK, seconds_since_heartbeat=self._beats.stale
        )
        for job in stalled:
            log.warning("job_taken_from_dead", extra={"conversation": job.lock, "job": job.id})
            await self._drop(job)

    async def _drop(self, job: Job) -> None:
        """Never `retry_job`: it fails where another job of the conversation waits."""
        try:
            await self._manager.finish_job(job, Status.FAILED, delete_job=True)
        except ConnectorException as e:
            if "not found" not in str(e.__cause__ or e):
                raise  # else somebody else was faster

    async def _end_orphans(self) -> None:
        """A job whose end could not be stored is kept by a worker that lives: nobody else would ever find it."""
        listed = [
            job
            for worker in self._workers()
            for job in await self._manager.list_jobs_async(
                task=jobs.TASK, status=Status.DOING.value, worker_id=worker
            )
        ]
        mine = self._mine()
        lost = {job.id: job for job in listed if job.id is not None and job.id not in mine}
        self._seen = Counter({number: self._seen[number] + 1 for number in lost})
        for number, job in lost.items():
            if self._seen[number] >= LISTED:
                log.warning("job_without_end", extra={"conversation": job.lock, "job": number})
                await self._drop(job)

    async def _defer_rows(self) -> None:
        found = dict(await self._db.read(jobs.without_job))
        if not found:
            return
        log.info("rows_without_job", extra={"conversations": len(found)})

        def work(conn: Connection) -> None:
            jobs.defer(conn, found)

        await self._db.write(work)
