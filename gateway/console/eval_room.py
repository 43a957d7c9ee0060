"""Runs the cases of a preset for an operator: one after the other, in a process of their own, each kept as it ends.

What a case may cost is set aside before it and booked after it. A run ends with its last case, when an operator stops
it, when there is no room for the next case, or with the gateway.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from agent_core.finance.work import Worker, WorkerDied, WorkTooLong
from agent_core.ports import Need
from gateway.app import Core
from gateway.budgets.paid_evals import EvalPurse
from gateway.presets import eval_runs
from gateway.presets.eval_job import run_case
from gateway.presets.evals import Verdict
from gateway.redact import Redactor
from gateway.settings.settings import Settings
from swarm_presets.schema_flow import CasePart

log = logging.getLogger(__name__)
ANSWER_CHARS = 4_000
GRACE_S = 30.0  # beyond a case's limit: until its row must be there


@dataclass(frozen=True, slots=True)
class Planned:
    """A case to run, and the most that it may cost."""

    case: CasePart
    need: Need


@dataclass(frozen=True, slots=True)
class Job:
    """A run that has begun. `limit_s` is for each case."""

    number: int
    preset: str
    file: str
    model: str
    cases: Sequence[Planned]
    limit_s: float


class EvalRoom:
    """One for the whole console; its run is a task of its own."""

    def __init__(self, core: Core, settings: Settings, redactor: Redactor) -> None:
        self._core = core
        self._settings = settings
        self._redactor = redactor
        self._task: asyncio.Task[None] | None = None
        self._number = 0
        self.changed: Callable[[], None] = _nobody

    def start(self, job: Job) -> None:
        """Run a job whose row has begun."""
        self._number = job.number
        self._task = asyncio.create_task(self._run(job), name=f"preset-eval-{job.number}")

    def cancel(self, number: int) -> None:
        """End the work of a run whose row was ended; nothing where it is another process's."""
        if self._task is not None and self._number == number:
            self._task.cancel()

    async def stop(self) -> None:
        """End what is going on. May be called twice."""
        task, self._task = self._task, None
        if task is None or task.done():
            return
        task.cancel()
        await asyncio.wait([task])
        await self._end(self._number, "stopped", eval_runs.CUT_OFF)

    def due(self, limit_s: float) -> dt.datetime:
        """When the next result must be there."""
        return self._core.clock.now() + dt.timedelta(seconds=limit_s + GRACE_S)

    async def _run(self, job: Job) -> None:
        worker, purse = (
            Worker(job.limit_s),
            EvalPurse(self._core.db, self._core.budgets, job.number),
        )
        try:
            for planned in job.cases:
                refusal = await purse.reserve(planned.need)
                if refusal:
                    return await self._end(job.number, "failed", refusal)
                if not await self._one(job, planned, worker, purse):
                    return None
            return await self._end(job.number, "done")
        except (WorkerDied, WorkTooLong) as e:
            return await self._end(job.number, "failed", str(e))
        except Exception as e:  # its row must not seem to go on
            log.exception("preset_eval_failed", extra={"preset": job.preset})
            return await self._end(job.number, "failed", f"{type(e).__name__}: {e}")
        finally:
            await asyncio.to_thread(worker.stop)

    async def _one(self, job: Job, planned: Planned, worker: Worker, purse: EvalPurse) -> bool:
        """Run a case and keep what came of it; False where the run was ended meanwhile."""
        usd: float | None = None
        tokens = 0
        try:
            verdict = await worker.outside(
                run_case, self._settings, job.preset, job.file, job.model, planned.case
            )
            if verdict.seen is not None:
                usd, tokens = verdict.seen.usd, verdict.seen.tokens
        finally:
            await asyncio.shield(purse.settle(usd, tokens))
        kept, due = self._kept(verdict), self.due(job.limit_s)

        def work(conn: Connection) -> bool:
            return eval_runs.add(conn, job.number, kept, self._core.clock.now(), due)

        goes_on = await self._core.db.write(work)
        self.changed()
        return goes_on

    def _kept(self, verdict: Verdict) -> dict[str, Any]:
        kept = verdict.to_json()
        answer = kept["answer"]
        cut = None if answer is None else answer[:ANSWER_CHARS]
        found: dict[str, Any] = self._redactor.value(kept | {"answer": cut})
        return found

    async def _end(self, number: int, status: eval_runs.Status, note: str = "") -> None:
        said = self._redactor.text(note)

        def work(conn: Connection) -> None:
            eval_runs.end(conn, number, status, self._core.clock.now(), said)

        await self._core.db.write(work)
        self.changed()


def _nobody() -> None:
    """Nobody looks on."""
