"""Background tasks of everybody as an operator of this machine sees them. Statements; none commits."""

import json
from typing import Any

from sqlalchemy import Connection, select

from gateway.storage.tables_tasks import TaskRow
from gateway.tasks import rows as task_rows

_TASK = TaskRow.__table__  # type: ignore[attr-defined]
LISTED = 500


def listing(conn: Connection, owner: str | None = None) -> list[dict[str, Any]]:
    """Every task that is kept (those that have ended for a day), newest first; of one owner where one is named."""
    query = select(_TASK).order_by(_TASK.c.created_at.desc(), _TASK.c.id).limit(LISTED)
    if owner is not None:
        query = query.where(_TASK.c.owner == owner)
    return [_head(conn, row) for row in conn.execute(query)]


def shown(conn: Connection, task_id: str) -> dict[str, Any] | None:
    """One task with what it was asked and what it answered; None where there is none of this id."""
    row = task_rows.by_id(conn, task_id)
    if row is None:
        return None
    seen = task_rows.seen(conn, row, whole=True)
    return _head(conn, row) | {
        "args": json.loads(row.args),
        "session": row.session_id,
        "conversation": row.conversation_id,
        "answer": seen.content,
        "files": [artifact.name for artifact in seen.artifacts],
    }


def _head(conn: Connection, row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "state": row.state,
        "tool": row.tool,
        "owner": row.owner,
        "agent": row.agent,
        "created": row.created_at,
        "started": row.started_at,
        "ended": row.ended_at,
        "detail": row.detail,
        "progress": row.progress,
        "position": task_rows.position(conn, row),
        "summary": row.summary,
        "error": row.error,
    }
