"""Learning in the background: what is to be learnt is a row, so that /new waits for nothing and a kill loses nothing.

Jobs are put where a session ends (/new, /resume, /fork), where a summary stands for rows, and when a person has been
silent for a while; a stop of the process puts what is left, without the layers above (MEM-5, MEM-12, MEM-13). One task
takes them up: one job at a time for each owner, a few owners side by side. A model that fails puts a job off, longer
each time (DED-3).
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile

from sqlalchemy import Connection, select

from agent_core.compaction.facts import own_words
from agent_core.errors import ModelError
from agent_core.memory.learn import Learner
from agent_core.ports import Clock, Model
from agent_core.storage import pending
from agent_core.storage.memories import PRIVATE
from agent_core.storage.pending import Job
from agent_core.storage.tables import Turn
from gateway.budgets.paid_model import LEARNING, NoRoom, give_back
from gateway.engine.begun import Begun
from gateway.memory.learning_jobs import is_current, material_of, put_session
from gateway.memory.notes import topic_of
from gateway.model_house import DEMO, ModelHouse
from gateway.redact import Redactor
from gateway.rounds import Rounds
from gateway.storage.db import Database
from gateway.storage.tables import Conversation

log = logging.getLogger(__name__)
IDLE_S = 1_800.0  # silence after which a session is read
RETRY_S = 60.0  # after the first failure; doubled with each
LONGEST_RETRY_S = 86_400.0
ATTEMPTS = 12  # then a job is given up: ten days of a model that does not answer
SIDE_BY_SIDE = 2  # owners; learning is never in a hurry
CATCH_UP = 500  # newest turns that a start looks at

_TURN = Turn.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
Models = Callable[[], Awaitable[tuple[Model, Model] | None]]
Paid = Callable[[Model, Job], Model]


def free(model: Model, job: Job) -> Model:
    """Where nothing is limited."""
    del job
    return model


def learner(db: Database, clock: Clock, redactor: Redactor) -> Learner:
    """Learns from the gateway's database."""
    return Learner(db, clock, own_words, topic_of, redactor.text)


def teachers(house: ModelHouse, fallback: Sequence[str]) -> Models:
    """The default model, and the first fallback to compare with (DED-2); nobody where the demo planner answers."""

    async def found() -> tuple[Model, Model] | None:
        await house.prepare(["auto"])
        if house.default == DEMO:
            return None
        judge = next((name for name in fallback if name != DEMO), "auto")
        await house.prepare([judge])
        return house.get("auto"), house.get(judge)

    return found


async def nobody() -> None:
    """Where memory is switched off: what was put is dropped."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """A session in which something was said that nobody has read yet. `due` is monotonic."""

    scope: str
    due: float


class Learning:
    """The task that learns. `models` gives who extracts and who compares; None: no model is there to learn with.

    `paid` makes a job's calls be paid by its owner; a job for which a pot has no room waits until that begins anew.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        work: Learner,
        models: Models,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        paid: Paid = free,
        idle_s: float = IDLE_S,
    ) -> None:
        self._paid = paid
        self._db = db
        self._clock = clock
        self._learner = work
        self._models = models
        self._idle_s = idle_s
        self._idle: dict[str, _Idle] = {}  # in the order in which they are due
        self._running: dict[str, asyncio.Task[None]] = {}
        self._takes = True
        self._rounds = Rounds(
            "learning", self._round, waits="learning_waits", retry_s=RETRY_S, sleep=sleep
        )
        self._tell: Callable[[], None] = self._rounds.wake

    async def start(self) -> None:
        """Take up what an earlier process left, then wait for more."""
        if self._takes:
            await self._db.write(partial(give_back, numbers=LEARNING))
        unread = await self._db.read(self._unread)
        self._idle = {k: idle for k, idle in unread.items() if k not in self._idle} | self._idle
        self._rounds.start()

    async def stop(self) -> None:
        """End at once: what runs is cancelled and awaited, what is unread becomes jobs for the next start (MEM-12)."""
        await self._rounds.stop()
        await self._cut_off()
        left, self._idle = self._idle, {}
        if left:
            await self._db.write(partial(self._put_idle, left, layers=False))

    def share(self, tell: Callable[[], None]) -> None:
        """Several processes put jobs, and one takes them: this one while it may. `tell` lets that one look."""
        self._takes, self._tell = False, tell

    async def take_jobs(self) -> None:
        """From now on this process takes jobs; nobody else does."""
        await self._db.write(partial(give_back, numbers=LEARNING))
        self._takes = True
        self._rounds.wake()

    async def leave_jobs(self) -> None:
        """Take no more jobs; what runs is cut off, and left to whoever takes them next."""
        self._takes = False
        await self._cut_off()

    async def _cut_off(self) -> None:
        running = list(self._running.values())
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def look(self) -> None:
        """Jobs were put, perhaps by another process."""
        self._rounds.wake()

    def wake(self) -> None:
        """Jobs were put (and are committed)."""
        self._tell()

    def spoke(self, session_id: str, *, lane_id: str, private: bool) -> None:
        """A turn is over: the session is read when nothing more is said in it for a while."""
        due = self._clock.monotonic() + self._idle_s
        first = not self._idle
        self._idle.pop(session_id, None)
        self._idle[session_id] = _Idle(PRIVATE if private else lane_id, due)
        if first:  # else the task wakes in time anyway, for the one that is due before
            self._rounds.wake()

    def after(self, begun: Begun) -> None:
        """The same, of a turn as the engine knows it."""
        lane = begun.lane
        self.spoke(begun.session_id, lane_id=lane.id, private=lane.private)

    @property
    def busy(self) -> bool:
        """Whether something is being learnt, or looked for."""
        return bool(self._running) or self._rounds.busy

    def _unread(self, conn: Connection) -> dict[str, _Idle]:
        """Sessions that still are some conversation's own, of the newest turns; each is due once it is silent."""
        newest = select(_TURN.c.session_id, _TURN.c.ended_at).order_by(_TURN.c.id.desc())
        ends = {
            row.session_id: row.ended_at
            for row in reversed(conn.execute(newest.limit(CATCH_UP)).all())
            if row.ended_at is not None
        }
        query = select(_CONVERSATION.c.id, _CONVERSATION.c.private, _CONVERSATION.c.session_id)
        here = conn.execute(query.where(_CONVERSATION.c.session_id.in_(ends))).all()
        now, monotonic = self._clock.now(), self._clock.monotonic()
        found = [
            (
                row.session_id,
                _Idle(
                    PRIVATE if row.private else row.id,
                    monotonic + self._idle_s - (now - ends[row.session_id]).total_seconds(),
                ),
            )
            for row in here
        ]
        return dict(sorted(found, key=lambda item: item[1].due))

    async def _round(self) -> float | None:
        """Begin what may begin; seconds until something else may, None for nothing."""
        monotonic = self._clock.monotonic()
        silent = dict(takewhile(lambda item: item[1].due <= monotonic, self._idle.items()))
        if silent:
            await self._db.write(partial(self._put_idle, silent, layers=True))
            for key, idle in silent.items():
                if self._idle.get(key) == idle:
                    del self._idle[key]
            if not self._takes:
                self._tell()
        now = self._clock.now()
        while self._takes:
            job, at = await self._db.read(partial(self._due, now))
            if job is None:
                return self._next(at)
            self._begin(job)
        return self._next(None)

    def _due(self, now: dt.datetime, conn: Connection) -> tuple[Job | None, dt.datetime | None]:
        """The job to begin now, None for none; then, when the next one that is not due yet will be."""
        if len(self._running) < SIDE_BY_SIDE:
            jobs = pending.due(conn, now, list(self._running), limit=1)
            if jobs:
                return jobs[0], None
        return None, pending.next_at(conn, now)

    def _next(self, at: dt.datetime | None) -> float | None:
        monotonic = self._clock.monotonic()
        waits = [idle.due - monotonic for idle in islice(self._idle.values(), 1)]
        if at is not None:
            waits.append((at - self._clock.now()).total_seconds())
        return min(waits, default=None)

    def _put_idle(self, idle: dict[str, _Idle], conn: Connection, *, layers: bool) -> None:
        now = self._clock.now()
        for session_id, found in idle.items():
            if is_current(conn, session_id):  # else its job was put when it was left
                put_session(conn, session_id, found.scope, now, layers=layers)

    def _begin(self, job: Job) -> None:
        task = asyncio.create_task(self._work(job), name=f"learn {job.id}")
        self._running[job.owner] = task

        def over(ended: asyncio.Task[None]) -> None:
            del self._running[job.owner]
            if not ended.cancelled() and (why := ended.exception()) is not None:
                log.warning("learning_waits", extra={"id": job.id, "reason": str(why)})
            self._rounds.wake()

        task.add_done_callback(over)

    async def _work(self, job: Job) -> None:
        """One job, to its end or to its next try; only cancellation is raised."""
        try:
            told = await self._learn(job)
        except _Forgotten:
            log.debug("learning_dropped", extra={"job": job.kind, "id": job.id})
        except NoRoom as e:
            log.info("learning_lacks_room", extra={"job": job.kind, "reason": str(e)})
            await self._put_off(job, e.until)
        except ModelError as e:
            log.info("learning_put_off", extra={"job": job.kind, "reason": str(e)})
            await self._put_off(job)
        except Exception:  # a job that cannot be done must not stop the others
            log.exception("learning_failed", extra={"job": job.kind, "id": job.id})
            await self._put_off(job)
        else:
            log.debug("learnt", extra={"job": job.kind, "outcome": str(told)})

    async def _learn(self, job: Job) -> object:
        done = partial(_finish, job)
        models = await self._models()
        if models is None:
            await self._db.write(done)
            return "no provider"
        model, judge = (self._paid(model, job) for model in models)
        if job.kind == "compare":
            return await self._learner.compare(job, judge, done=done)
        if job.kind == "refresh":
            return await self._learner.refresh(job, model, done=done)
        material = await self._db.read(lambda conn: material_of(conn, job))
        return await self._learner.learn(
            material, model, judge=judge, refresh=bool(job.body.get("layers", True)), done=done
        )

    async def _put_off(self, job: Job, until: dt.datetime | None = None) -> None:
        if job.attempts + 1 >= ATTEMPTS:
            log.warning("learning_given_up", extra={"job": job.kind, "id": job.id})
            await self._db.write(partial(_finish, job))
            return
        wait = min(RETRY_S * 2**job.attempts, LONGEST_RETRY_S)
        at = until or self._clock.now() + dt.timedelta(seconds=wait)
        await self._db.write(lambda conn: pending.later(conn, job, at))


class _Forgotten(Exception):
    """The job is gone: its person was forgotten while the model answered, and nothing of it may be stored (ARC-8)."""


def _finish(job: Job, conn: Connection) -> None:
    if not pending.done(conn, job):
        raise _Forgotten
