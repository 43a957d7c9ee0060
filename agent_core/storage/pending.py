"""What is still to be learnt of a person: jobs that survive a kill (DED-3, MEM-8). Statements; none commits.

`at` is when a job may run: later than its making where a person may go on talking, or where a model was away.
"""

import datetime as dt
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from agent_core.storage.tables_memory import MemoryPending

_PENDING = MemoryPending.__table__  # type: ignore[attr-defined]
JobKind = Literal["extract", "compare", "refresh"]


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to learn. `body` is JSON; its form for each kind stands where it is read. `id` 0: not stored yet."""

    owner: str
    kind: JobKind
    body: dict[str, Any] = field(default_factory=dict)
    scope: str = "private"
    attempts: int = 0
    id: int = 0


def put(conn: Connection, job: Job, at: dt.datetime) -> int:
    """Store a job that may run from `at` on; an equal one that still waits is not stored twice. Returns its id."""
    values = {"owner": job.owner, "scope": job.scope, "kind": job.kind, "body": _body(job)}
    same = [_PENDING.c[name] == value for name, value in values.items()]
    found: int | None = conn.execute(select(_PENDING.c.id).where(*same).limit(1)).scalar()
    if found is not None:
        return found
    made = insert(_PENDING).returning(_PENDING.c.id)
    stored: int = conn.execute(made, values | {"attempts": job.attempts, "at": at}).scalar_one()
    return stored


def due(conn: Connection, now: dt.datetime, busy: Collection[str], limit: int = 20) -> list[Job]:
    """Jobs that may run now, oldest first, of owners that are not `busy`."""
    query = select(_PENDING).where(_PENDING.c.at <= now).order_by(_PENDING.c.at, _PENDING.c.id)
    if busy:
        query = query.where(_PENDING.c.owner.not_in(busy))
    return [
        Job(row.owner, row.kind, json.loads(row.body), row.scope, row.attempts, row.id)
        for row in conn.execute(query.limit(limit))
    ]


def next_at(conn: Connection, after: dt.datetime) -> dt.datetime | None:
    """When the next job that may not run yet may; None for none."""
    query = select(func.min(_PENDING.c.at)).where(_PENDING.c.at > after)
    found: dt.datetime | None = conn.execute(query).scalar()
    return found


def later(conn: Connection, job: Job, at: dt.datetime) -> None:
    """A try has failed; the next one may be made from `at` on."""
    mine = (_PENDING.c.id == job.id, _PENDING.c.owner == job.owner)
    conn.execute(update(_PENDING).where(*mine).values(attempts=job.attempts + 1, at=at))


def done(conn: Connection, job: Job) -> bool:
    """Nothing is left to do. False when the job is not there any more, as after /forget.

    Its number may be another job's by then, so more than the number is compared.
    """
    same = (
        _PENDING.c.owner == job.owner,
        _PENDING.c.kind == job.kind,
        _PENDING.c.body == _body(job),
    )
    mine = delete(_PENDING).where(_PENDING.c.id == job.id, *same)
    return conn.execute(mine).rowcount > 0


def _body(job: Job) -> str:
    return json.dumps(job.body, ensure_ascii=False, sort_keys=True)
