"""What waits in the database, read for a scrape: rows and ages, which all replicas have in common.

Every query runs on an index that holds open rows only, so a scrape costs as much as is open, not as much as there is.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from gateway.storage.tables import Inbox, InboxStatus, Outbox, OutboxStatus, Question
from gateway.storage.tables_tasks import TaskRow

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_QUESTION = Question.__table__  # type: ignore[attr-defined]
_TASK = TaskRow.__table__  # type: ignore[attr-defined]
OPEN = 2  # statuses below it are those of open rows, in both tables; their partial indexes say the same
QUESTION_STATES = ("open", "parked")
TASK_STATES = ("queued", "running")


@dataclass(frozen=True, slots=True)
class Loads:
    """Numbers of rows, and seconds since the oldest one came; 0 where there is none."""

    inbox: dict[str, int] = field(default_factory=dict)
    inbox_oldest: float = 0.0
    outbox: dict[str, int] = field(default_factory=dict)
    outbox_oldest: float = 0.0
    questions: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)


def loads(conn: Connection, now: dt.datetime) -> Loads:
    """What waits now."""
    inbox, since = _open(conn, _INBOX, InboxStatus.NEW)
    outbox, ready_since = _open(conn, _OUTBOX, OutboxStatus.READY)
    kinds = _counted(conn, _QUESTION.c.kind, _QUESTION.c.status.in_(QUESTION_STATES))
    states = _counted(conn, _TASK.c.state, _TASK.c.state.in_(TASK_STATES))
    return Loads(
        {s.name.lower(): inbox.get(s, 0) for s in (InboxStatus.NEW, InboxStatus.IN_TURN)},
        _age(since, now),
        {s.name.lower(): outbox.get(s, 0) for s in (OutboxStatus.OPEN, OutboxStatus.READY)},
        _age(ready_since, now),
        {kind: kinds.get(kind, 0) for kind in ("ask", "approval")},
        {state: states.get(state, 0) for state in TASK_STATES},
    )


def _open(conn: Connection, table: Any, oldest: int) -> tuple[dict[int, int], dt.datetime | None]:
    """Open rows by status, and when the oldest of the status `oldest` came."""
    first = func.min(table.c.at, type_=table.c.at.type)
    query = select(table.c.status, func.count(), first).where(table.c.status < OPEN)
    found = conn.execute(query.group_by(table.c.status)).all()
    since = next((at for status, _, at in found if status == oldest), None)
    return {status: count for status, count, _ in found}, since


def _counted(conn: Connection, column: Any, which: Any) -> dict[str, int]:
    query = select(column, func.count()).where(which).group_by(column)
    return {row[0]: row[1] for row in conn.execute(query)}


def _age(since: dt.datetime | None, now: dt.datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())
