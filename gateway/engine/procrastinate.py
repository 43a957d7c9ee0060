"""The engine that processes on one PostgreSQL share: procrastinate says who looks at which conversation.

A job `run_conversation` (guide "engine") has its conversation as lock and as queueing lock, so that one process at a
time runs it. The inbox says what to do, the transcript is the journal, the conversation's epoch fences whoever was
taken over. Messages come with their job in one commit, which notifies everybody. Other rows are committed first, then
their job is stored; what a death leaves in between, recovery.py finds.
"""

import asyncio
import datetime as dt
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from procrastinate import App, JobContext
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Status
from procrastinate.worker import Worker
from sqlalchemy import Connection

from agent_core.ports import Clock
from gateway.engine import jobs
from gateway.engine.base import BACKOFF, Progress, Runner
from gateway.engine.ears import Ears
from gateway.engine.fence import AWAY, RETRY_S
from gateway.engine.fetching import Fetching
from gateway.engine.jobs import Later
from gateway.engine.mail import Mail
from gateway.engine.recovery import UNREACHED, Beats, Recovery
from gateway.engine.steps import Steps
from gateway.storage.db import Database

log = logging.getLogger(__name__)
logging.getLogger("procrastinate").setLevel(logging.WARNING)  # else two lines for each job
POLL_S = 0.25  # for jobs that no notice told (fetching.py)
OUTAGE_GRACE_S = 10.0  # for turns whose worker has lost the database
RESTART_S = 0.5
STOPPED_S = 5.0  # how long a stop waits for another process to say that the turn has ended
LONGEST_RETRY_S = 5.0
SURE_S = 2.0  # without a look for so long, a job may have been taken away


@dataclass(slots=True)
class _Run:
    """A job that runs here. `again`: rows came meanwhile; `told`: a notice came, perhaps of another job that waits."""

    job: int
    worker: int | None
    task: asyncio.Task[object]
    again: bool = False
    told: bool = False
    sure: float = 0.0


class ProcrastinateEngine:
    """See gateway.engine.base.Engine. Must be started before anything is cancelled; wakes may come before."""

    shared = True

    def __init__(
        self,
        runner: Runner,
        db: Database,
        url: str,
        clock: Clock,
        *,
        max_running: int,
        beats: Beats,
        backoff: Sequence[float] = BACKOFF,
        alone: bool = False,
    ) -> None:
        """`alone`: no other process is alive on this database, so what is said to run does not."""
        self._runner = runner
        self._db = db
        self._clock = clock
        self._max_running = max_running
        self._backoff = backoff
        self._alone = alone
        self._steps = Steps(runner)
        self._runs: dict[str, _Run] = {}
        self._jobs: dict[int, _Run] = {}
        self._stops: list[tuple[str, asyncio.Event]] = []
        self._draining = False
        self._own = f"{jobs.QUEUE}@{secrets.token_hex(6)}"
        self._mail = Mail(db, self._own)
        self._ears = Ears(url, woken=self._woken, ended=self._is_ended)
        self._app = App(connector=self._ears)
        self._app.job_manager = self._fetching = Fetching(self._ears)
        self._app.task(name=jobs.TASK, queue=jobs.QUEUE, pass_context=True)(self._run)
        self._recovery = Recovery(
            db,
            self._app.job_manager,
            beats,
            mine=lambda: self._jobs.keys(),  # noqa: PLW0108 - as it is when asked
            workers=self._workers,
            looked=self._look_for_fresh,
        )
        self._worker = Worker(
            self._app,
            queues=[jobs.QUEUE, self._own],
            name="swarmgate",
            concurrency=max_running,
            install_signal_handlers=False,
            fetch_job_polling_interval=POLL_S,
            abort_job_polling_interval=2.0,
            update_heartbeat_interval=beats.every,
            stalled_worker_timeout=max(300.0, 3 * beats.stale),  # it only tidies up
            shutdown_graceful_timeout=OUTAGE_GRACE_S,
            delete_jobs="always",
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """See Engine."""
        await self._app.open_async()
        if self._alone:
            await self._recovery.forget_dead()
        await self._db.share_engine()
        self._mail.start()
        self._serving = asyncio.create_task(self._supervise(), name="engine-worker")
        self._recovery.start()

    def wake(self, conversation_id: str, principal: str) -> None:
        """See Engine."""
        run = self._runs.get(conversation_id)
        if run is not None:
            run.again = True
        else:
            self._mail.wake(conversation_id, principal)

    def announce(self, conn: Connection, conversation_id: str, principal: str) -> bool:
        """See Engine. One commit less than `wake`; who runs the conversation already needs no job."""
        if conversation_id in self._runs:
            return False
        own = jobs.QUEUE if self._draining else self._own
        jobs.announce(conn, conversation_id, principal, own)
        return True

    def wait(self, conversation_id: str, principal: str, until: dt.datetime | None) -> None:
        """A turn waits for a pot: try it then, or as soon as `room` says so or somebody wakes it."""
        left = jobs.LONGEST_HOLD_S
        if until is not None:
            left = (until - self._clock.now()).total_seconds()
        self._mail.wait(conversation_id, Later(principal, left))

    def room(self) -> None:
        """A pot may have room: every turn that waits for one tries, in whatever process."""
        self._mail.room()

    async def cancel(self, conversation_id: str) -> bool:
        """See Engine."""
        if await self._steps.cancel(conversation_id):
            return True
        manager = self._app.job_manager
        stop = (conversation_id, asyncio.Event())
        self._stops.append(stop)
        try:
            doing = await manager.list_jobs_async(lock=conversation_id, status=Status.DOING.value)
            asked = [
                await manager.cancel_job_by_id_async(job.id, abort=True) for job in doing if job.id
            ]
            if not any(asked):
                return False
            async with asyncio.timeout(STOPPED_S):
                await stop[1].wait()
        except TimeoutError:
            log.warning("stop_not_confirmed", extra={"conversation": conversation_id})
        except UNREACHED as e:  # the mark is durable: whoever goes on sees it
            log.warning("stop_waits", extra={"conversation": conversation_id, "reason": str(e)})
            return False
        finally:
            self._stops.remove(stop)
        return True

    def busy(self) -> int:
        """See Engine."""
        return len(self._steps)

    async def stop(self, grace: float) -> None:
        """See Engine. Turns that are cut off are gone on with by another process at once."""
        self._draining = True
        if self._serving is not None:
            # It fetches nothing more, and waits for what runs.
            self._worker.stop()  # type: ignore[no-untyped-call]
            tasks = [run.task for run in self._jobs.values()]
            if tasks:
                _, late = await asyncio.wait(tasks, timeout=grace)
                for task in late:
                    task.cancel()
            while (
                not self._serving.done()
            ):  # one that has just begun forgets that it was told to stop
                self._worker.stop()  # type: ignore[no-untyped-call]
                await asyncio.wait([self._serving], timeout=RESTART_S)
            self._serving = None
        await self._recovery.stop()
        await self._mail.stop()
        await self._app.close_async()

    # The worker and what it hears ---------------------------------------------------------------------

    async def _supervise(self) -> None:
        """The worker ends with any trouble of its connection; then another one begins."""
        while not self._draining:
            try:
                await self._worker.run()  # type: ignore[no-untyped-call]
            except UNREACHED as e:
                log.warning("engine_worker_restarts", extra={"reason": str(e).strip()[:200]})
            except Exception:  # the engine goes on as long as the process lives
                log.exception("engine_worker_restarts")
            if not self._draining:
                await asyncio.sleep(RESTART_S)

    def _workers(self) -> set[int]:
        """Under which ids jobs run here: a worker that has begun anew has another one."""
        ids = {self._worker.worker_id, *(run.worker for run in self._jobs.values())}
        return {number for number in ids if number is not None}

    def _woken(self, conversation_id: str) -> None:
        self._fetching.heard()
        run = self._runs.get(conversation_id)
        if run is not None:
            run.told = True
            self._runner.fresh(conversation_id)

    def _is_ended(self, conversation_id: str) -> None:
        for lane, ended in self._stops:
            if lane == conversation_id:
                ended.set()

    def _look_for_fresh(self) -> None:
        """A notice may be lost with its connection; what it told is looked for in the rows."""
        for conversation_id in self._runs:
            self._runner.fresh(conversation_id)

    # One job ------------------------------------------------------------------------------------------

    async def _run(
        self,
        context: JobContext,
        conversation_id: str,
        principal: str,
        failures: int = 0,
        waits: bool = False,
    ) -> None:
        """The job: step after step, until nothing is left or somebody else should have the slot."""
        del waits
        task = asyncio.current_task()
        number = context.job.id
        if task is None or number is None:
            raise RuntimeError("a job without a task or a number")
        run = _Run(number, context.job.worker_id, task, sure=time.monotonic())
        self._runs[conversation_id] = self._jobs[number] = run
        task.add_done_callback(lambda _: self._over(run))
        try:
            await self._serve(conversation_id, principal, run, failures)
        except asyncio.CancelledError:
            if context.abort_reason() is not AbortReason.USER_REQUEST:
                await asyncio.shield(self._leave(conversation_id, principal))
                raise
            task.uncancel()
            await self._runner.close_stopped(conversation_id)
            await self._db.write(partial(_stopped, conversation_id, principal))
        finally:
            if self._runs.get(conversation_id) is run:
                del self._runs[conversation_id]

    def _over(self, run: _Run) -> None:
        """The job is stored as ended. What was deferred behind it meanwhile could not be fetched before."""
        self._jobs.pop(run.job, None)
        if run.told and not self._draining:
            self._fetching.heard()
            self._mail.soon(self._ears.look)

    async def _serve(self, lane: str, principal: str, run: _Run, failures: int) -> None:
        away = 0
        progress = Progress.AGAIN
        while progress is Progress.AGAIN and not self._draining:
            run.again = False
            try:
                progress = await self._step(lane, run)
            except AWAY as e:  # nobody else reaches the database either
                log.warning("database_wait", extra={"conversation": lane, "reason": str(e)})
                await asyncio.sleep(min(RETRY_S * 2**away, LONGEST_RETRY_S))
                away = min(away + 1, 10)
                continue
            except Exception:  # one conversation never stops the others; its rows stay open
                log.exception("lane_step_failed", extra={"conversation": lane})
                await self._back_off(lane, principal, failures)
                return
            failures = away = 0
            if progress is Progress.IDLE and run.again:
                progress = Progress.AGAIN
            if self._is_full():
                break
        # No await between the last look at `again` and the end of a run that has nothing left.
        if progress is Progress.AGAIN or run.again:
            run.told = True
            own = jobs.QUEUE if self._draining else self._own
            await self._db.write(lambda conn: jobs.defer(conn, {lane: principal}, own))

    async def _step(self, lane: str, run: _Run) -> Progress:
        return await self._steps.run(lane) if await self._is_ours(run) else Progress.LEFT

    async def _is_ours(self, run: _Run) -> bool:
        """Whether the job was not taken from us while this process stood still."""
        now = time.monotonic()
        if now - run.sure > SURE_S:
            if not await self._db.read(lambda conn: jobs.is_run_by(conn, run.job, run.worker)):
                return False
            run.sure = now
        return True

    def _is_full(self) -> bool:
        """Whether somebody may wait for a slot of this process: then turns of others come in between."""
        return len(self._jobs) >= self._max_running

    async def _back_off(self, lane: str, principal: str, failures: int) -> None:
        seconds = self._backoff[min(failures, len(self._backoff) - 1)]
        later = Later(principal, seconds, failures + 1)
        await self._db.write(lambda conn: jobs.later(conn, {lane: later}))

    async def _leave(self, lane: str, principal: str) -> None:
        """Cut off: whoever is there goes on."""
        try:
            await self._db.write(lambda conn: jobs.defer(conn, {lane: principal}))
        except UNREACHED as e:  # the rows stay open
            log.warning("lane_left", extra={"conversation": lane, "reason": str(e).strip()[:200]})


def _stopped(lane: str, principal: str, conn: Connection) -> None:
    jobs.defer(conn, {lane: principal})
    jobs.tell(conn, jobs.ENDED, [lane])
