"""Background tasks at work: one asyncio task for each, three at a time for one person, the others wait (BGT-5).

A row comes first: whatever happens to the process, the next start finds what was left. A task of a tool that only reads
and may be repeated is run again; any other is `interrupted`, and said to be. The end of a task, its files, and the
inbox row that tells of it are one transaction (task_news.py), so it is told once. One loop starts what may start, ends
what was cancelled or forgotten, and deletes what nobody needs any more.
"""

import asyncio
import datetime as dt
import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from sqlalchemy import Connection

from agent_core.past import Archive
from agent_core.ports import Clock, Model
from agent_core.runtime.invoke import UNSURE, Done, carried_out, failure
from agent_core.storage.statements import add_blob
from agent_core.tasks import State
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext
from agent_core.types import Message, NewRow, RowKind, ToolResult, ToolUse
from gateway.budgets.paid_model import TASKS, give_back
from gateway.engine.fence import AWAY
from gateway.redact import Redactor
from gateway.rounds import Rounds
from gateway.storage.clean_rows import clean_blob, clean_row
from gateway.storage.db import Database, settled
from gateway.tasks import news as task_news
from gateway.tasks import rows as task_rows
from gateway.tasks.desk import RUNNING, Live, TaskDesk
from gateway.tasks.model import ModelOf, no_model

log = logging.getLogger(__name__)
ATTEMPTS = 3  # starts of one task that may end with the process (hermes#7536)
LONGEST_S = 3_600.0  # for a tool that keeps its own deadline
KEPT = dt.timedelta(hours=24)  # BGT-5
EVERY_S = 3_600.0  # between two looks for what is older
RETRY_S = 5.0
STOP_S = 5.0  # for a tool that does not end when it is told to
SAVE_S = 1.0  # between two times that the progress of a task is stored
DETAIL_CHARS = 200

CUT_OFF = "{tool} was interrupted: the process ended while it ran, and it was not run again."
UNKNOWN_TOOL = "There is no tool {tool!r} here any more."


class BackgroundTasks:
    """The one loop over the rows of background tasks, and what runs for them. Turns start tasks through `desk`.

    `wake` is called with a conversation and a person once news waits there. `model` gives a task the model that its
    tool may ask. `sleep` takes seconds.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        registry: Registry,
        redactor: Redactor,
        archive: Archive | None = None,
        *,
        model: ModelOf = no_model,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._clock = clock
        self._registry = registry
        self._redactor = redactor
        self._archive = archive
        self._model = model
        self._sleep = sleep
        self.wake: Callable[[str, str], None] = lambda _lane, _person: None
        self._saving: set[asyncio.Task[None]] = set()
        self._live: dict[str, Live] = {}
        self._rounds = Rounds(
            "background-tasks", self._round, waits="tasks_wait", retry_s=RETRY_S, sleep=sleep
        )
        self.desk = TaskDesk(db, clock, redactor, self._live, self._rounds.wake, sleep)

    # The loop -----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up what an earlier process left, then start what may start."""
        await self._db.write(partial(give_back, numbers=TASKS))
        await self._take_back(counted=True)
        self._rounds.start()

    async def stop(self) -> None:
        """End at once: what runs is cut off, and left for the next start as far as it may run again."""
        await self._rounds.stop()
        tasks = [live.task for live in self._live.values() if live.task is not None]
        for task in tasks:
            task.cancel()  # an end that is being committed is waited for
        if tasks or self._saving:
            await asyncio.wait([*tasks, *self._saving], timeout=STOP_S)
        if tasks:
            try:
                await self._take_back(counted=False)
            except AWAY as e:  # the next start does it
                log.warning("tasks_left", extra={"reason": str(e)})

    def look(self) -> None:
        """Rows have changed (and are committed)."""
        self._rounds.wake()

    @property
    def busy(self) -> bool:
        """Whether a task runs, or something is to be looked at."""
        return bool(self._live) or self._rounds.busy

    async def _take_back(self, *, counted: bool) -> None:
        """What ran when its process ended waits again, or is interrupted and told of. `counted`: it was no good end."""

        def work(conn: Connection) -> list[tuple[str, str] | None]:
            return [
                self._interrupt(conn, row)
                for row in task_rows.all_running(conn)
                if not self._again(conn, row, counted=counted)
            ]

        if not await self._db.read(task_rows.all_running):
            return
        for woken in await self._db.write(work):
            if woken is not None and counted:
                self.wake(*woken)

    def _again(self, conn: Connection, row: Any, *, counted: bool) -> bool:
        spec = self._registry.get(row.tool)
        may = spec is not None and spec.read_only and spec.idempotent
        if not may or (counted and row.attempts >= ATTEMPTS):
            return False
        task_rows.requeue(conn, row.id, counted=counted)
        return True

    def _interrupt(self, conn: Connection, row: Any) -> tuple[str, str] | None:
        spec = self._registry.get(row.tool)
        text = CUT_OFF.format(tool=row.tool)
        if spec is None or not spec.read_only:
            text = f"{text} {UNSURE}"
        result = ToolResult(row.call_id, row.tool, text, is_error=True)
        now = self._clock.now()
        task_rows.end(conn, row.id, "interrupted", result, now, error="Interrupted")
        return task_news.post(conn, row, now)

    async def _round(self) -> float:
        """Let rows and running tasks agree."""
        now = self._clock.now()
        queued, over = await self._db.read(lambda conn: task_rows.due(conn, now - KEPT))
        if queued:
            await self._db.write(lambda conn: task_rows.take_ready(conn, RUNNING, now))
        if over:
            await self._db.write(lambda conn: task_rows.evict(conn, now - KEPT))
        known = set(self._live)
        rows = {row.id: row for row in await self._db.read(task_rows.all_running)}
        for task_id, row in rows.items():
            if task_id not in known:
                self._launch(row)
        for task_id in known - rows.keys():  # cancelled, or its owner was forgotten
            live = self._live.get(task_id)
            if live is not None and live.task is not None and not live.ending:
                live.task.cancel()
        return EVERY_S

    # One task -----------------------------------------------------------------------------------------

    def _launch(self, row: Any) -> None:
        live = self._live[row.id] = Live()
        live.task = asyncio.create_task(self._work(row, live), name=f"task {row.id}")

    async def _work(self, row: Any, live: Live) -> None:
        try:
            done = await self._done(row, live)
            live.ending = True
            await self._end(row, done)
        except asyncio.CancelledError:
            self._forget(row.id)
            raise
        except Exception as e:
            log.exception("task_not_stored", extra={"task": row.id})
            kind = type(e).__name__
            call = ToolUse(row.call_id, row.tool, {})
            text = f"What {row.tool} brought could not be stored ({kind})."
            await self._end(row, Done(failure(call, text), error=kind))
        self._forget(row.id)

    def _forget(self, task_id: str) -> None:
        """It runs no more. One whose end cannot be stored in any way stays, so as not to run again and again."""
        self._live.pop(task_id, None)
        self._rounds.wake()

    async def _done(self, row: Any, live: Live) -> Done:
        """Run the tool; every end but a cancellation is an answer."""
        call = ToolUse(row.call_id, row.tool, json.loads(row.args))
        spec = self._registry.get(row.tool)
        if spec is None:
            return Done(failure(call, UNKNOWN_TOOL.format(tool=row.tool)), error="UnknownTool")
        ctx = self._context(row, live, await self._model(row))
        try:
            return await carried_out(ctx, call, spec, min(spec.timeout, LONGEST_S))
        except asyncio.CancelledError as e:
            if getattr(asyncio.current_task(), "cancelling", int)():
                raise
            kind = type(e).__name__  # out of the tool itself: nobody has cancelled it
            return Done(failure(call, f"{row.tool} failed inside ({kind})."), error=kind)

    def _context(self, row: Any, live: Live, model: Model | None) -> ToolContext:
        return ToolContext(
            owner=row.owner,
            session_id=row.call_session,
            turn_id=row.turn_id,
            call_id=row.call_id,
            language=row.language,
            clock=self._clock,
            as_of=dt.date.fromisoformat(row.as_of) if row.as_of else None,
            progress=partial(self._progress, row.id, live),
            archive=self._archive,
            model=model,
            max_age=row.max_age,
            sources=None if row.sources is None else tuple(row.sources.split(",")),
        )

    def _progress(
        self, task_id: str, live: Live, detail: str, progress: float | None = None
    ) -> None:
        live.detail = self._redactor.text(detail)[:DETAIL_CHARS]
        live.progress = None if progress is None else min(1.0, max(0.0, progress))
        now = self._clock.monotonic()
        if now - live.saved >= SAVE_S:
            live.saved = now
            saving = asyncio.create_task(self._save(task_id, live.detail, live.progress))
            self._saving.add(saving)
            saving.add_done_callback(self._saving.discard)

    async def _save(self, task_id: str, detail: str, progress: float | None) -> None:
        try:
            await self._db.write(lambda conn: task_rows.note(conn, task_id, detail, progress))
        except AWAY as e:
            log.debug("task_progress_not_stored", extra={"task": task_id, "reason": str(e)})

    async def _end(self, row: Any, done: Done) -> None:
        """Store what came of it and the row that tells of it, once the database is there."""
        new = NewRow(RowKind.RESULT, Message("user", (done.result,)), meta=dict(done.meta or {}))
        clean = await asyncio.to_thread(clean_row, self._redactor, new)
        blobs = [await asyncio.to_thread(clean_blob, self._redactor, b) for b in done.blobs]
        [result] = [b for b in clean.message.blocks if isinstance(b, ToolResult)]
        state: State = "failed" if result.is_error else "done"
        summary = self._redactor.text(done.summary)

        def work(conn: Connection) -> tuple[str, str] | None:
            now = self._clock.now()
            if not task_rows.end(
                conn,
                row.id,
                state,
                result,
                now,
                summary=summary,
                error=done.error,
                meta=clean.meta,
            ):
                return task_rows.untold(conn, row.id)
            stored = task_rows.by_id(conn, row.id) or row  # /forget may have moved its session
            for blob in blobs:
                add_blob(conn, owner=row.owner, session_id=stored.session_id, blob=blob, now=now)
            return task_news.post(conn, stored, now)

        while True:
            try:
                woken = await settled(self._db, work)
            except AWAY as e:
                log.warning("task_waits_for_database", extra={"task": row.id, "reason": str(e)})
                await self._sleep(RETRY_S)
            else:
                break
        if woken is not None:
            self.wake(*woken)
