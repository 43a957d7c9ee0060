"""The desk at which turns start background tasks and look after them; each sees only its owner's, of its session."""

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from agent_core.ports import Clock
from agent_core.tasks import NewTask, Task
from agent_core.tools.spec import ToolFailure
from gateway.engine.fence import AWAY, PATIENCE_S, RETRY_S
from gateway.redact import Redactor
from gateway.storage.db import Database, settled
from gateway.tasks import rows as task_rows

log = logging.getLogger(__name__)
RUNNING = 3  # of one owner (BGT-5)
QUEUED = 10  # further ones of one owner that may wait

TOO_MANY = (
    "{tool} was not started: {running} background tasks of this person run and {queued} wait. "
    "Wait for a notification, or cancel one with check_background_tasks."
)
GONE = "The turn of this call is gone; nothing was started."


@dataclass(slots=True)
class Live:
    """A task that runs in this process, and where it is. `ending`: its answer is there and being stored."""

    task: asyncio.Task[None] | None = None
    ending: bool = False
    detail: str = ""
    progress: float | None = None
    saved: float = -math.inf


class TaskDesk:
    """See agent_core.tasks.Tasks. `live` are the tasks that run; `look` is called when rows have changed."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        redactor: Redactor,
        live: Mapping[str, Live],
        look: Callable[[], None],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._sleep = sleep
        self._one_at_a_time = asyncio.Lock()
        self._db = db
        self._clock = clock
        self._redactor = redactor
        self._live = live
        self.look = look

    async def begin(self, new: NewTask) -> Task:
        """See Tasks."""
        args = json.dumps(self._redactor.value(dict(new.args)), ensure_ascii=False)

        def work(conn: Connection) -> Task:
            row = task_rows.by_call(conn, new.session_id, new.call_id)
            if row is None:
                row = self._add(conn, new, args)
            return task_rows.seen(conn, row)

        until = self._clock.monotonic() + PATIENCE_S
        try:
            while True:  # a call has one task, so it may be tried again
                try:
                    async with self._one_at_a_time:  # else two could take the last place
                        return await settled(self._db, work)
                except AWAY as e:
                    if self._clock.monotonic() > until:
                        raise
                    log.warning("database_wait", extra={"call": new.call_id, "reason": str(e)})
                await self._sleep(RETRY_S)
        finally:
            self.look()

    def _add(self, conn: Connection, new: NewTask, args: str) -> Any:
        origin = task_rows.origin(conn, new.turn_id)
        if origin is None:
            raise ToolFailure(GONE)
        active = task_rows.active_of(conn, new.owner)
        if active >= RUNNING + QUEUED:
            raise ToolFailure(TOO_MANY.format(tool=new.tool, running=RUNNING, queued=QUEUED))
        session, lane, author = origin
        return task_rows.add(
            conn,
            new,
            args=args,
            session_id=session,
            conversation_id=lane,
            author=author,
            now=self._clock.now(),
            running=active < RUNNING,
        )

    async def listed(self, owner: str, session_id: str) -> Sequence[Task]:
        """See Tasks."""

        def work(conn: Connection) -> list[Task]:
            rows = task_rows.of_session(conn, owner, session_id)
            return [task_rows.seen(conn, row) for row in rows]

        return [self.shown(task) for task in await self._db.read(work)]

    async def find(self, owner: str, session_id: str, task_id: str) -> Task | None:
        """See Tasks."""

        def work(conn: Connection) -> Task | None:
            row = self._own(conn, owner, session_id, task_id)
            return None if row is None else task_rows.seen(conn, row, whole=True)

        found = await self._db.read(work)
        return None if found is None else self.shown(found)

    async def cancel(self, owner: str, session_id: str, task_id: str) -> Task | None:
        """See Tasks."""

        def work(conn: Connection) -> Task | None:
            row = self._own(conn, owner, session_id, task_id)
            if row is None:
                return None
            task_rows.cancel(conn, row.id, self._clock.now())
            return task_rows.seen(conn, row)

        try:
            return await settled(self._db, work)
        finally:
            self.look()

    def _own(self, conn: Connection, owner: str, session_id: str, task_id: str) -> Any | None:
        row = task_rows.by_id(conn, task_id)
        root = task_rows.root_of(session_id)
        return row if row is not None and (row.owner, row.session_id) == (owner, root) else None

    def where(self, task_id: str) -> tuple[str, float | None]:
        """Stage and progress (0..1, None: unknown) of a task that runs in this process."""
        live = self._live.get(task_id)
        return ("", None) if live is None else (live.detail, live.progress)

    def shown(self, task: Task) -> Task:
        """A task as it stands at this very moment: what is stored of its progress may be a second old."""
        live = self._live.get(task.id)
        if live is None or task.state != "running":
            return task
        return replace(task, detail=live.detail, progress=live.progress)
