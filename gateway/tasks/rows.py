"""Rows of background tasks. Statements; none commits. What a row's owner may see of it is decided here (BGT-5)."""

import datetime as dt
import json
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, or_, select, update

from agent_core.storage.tables import Turn
from agent_core.tasks import ACTIVE, NewTask, State, Task
from agent_core.types import ArtifactRef, Message, ToolResult, decode, encode
from gateway.storage.tables import Conversation, Inbox
from gateway.storage.tables_tasks import TaskRow

_TASK = TaskRow.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_DIGITS = 10**9  # ids are digits, so that none reads as a word of some language
LISTED = 50


def new_id() -> str:
    """An id that people can type, and that nobody guesses by counting."""
    return f"t{secrets.randbelow(_DIGITS):09d}"


def origin(conn: Connection, turn_id: int) -> tuple[str, str, str] | None:
    """(session, conversation, author of the message) of a turn; None once its person was forgotten."""
    query = (
        select(_TURN.c.session_id, _INBOX.c.conversation_id, _INBOX.c.author)
        .join(_INBOX, _INBOX.c.id == _TURN.c.id)
        .where(_TURN.c.id == turn_id)
    )
    row = conn.execute(query).first()
    return None if row is None else (row.session_id, row.conversation_id, row.author)


def by_call(conn: Connection, session_id: str, call_id: str) -> Any | None:
    """The task of a call, if there is one."""
    here = (_TASK.c.call_session == session_id, _TASK.c.call_id == call_id)
    return conn.execute(select(_TASK).where(*here)).first()


def by_id(conn: Connection, task_id: str) -> Any | None:
    """The row of a task, whoever owns it."""
    return conn.execute(select(_TASK).where(_TASK.c.id == task_id)).first()


def active_of(conn: Connection, owner: str) -> int:
    """How many tasks of an owner run or wait."""
    mine = (_TASK.c.owner == owner, _TASK.c.state.in_(ACTIVE))
    return conn.execute(select(func.count()).select_from(_TASK).where(*mine)).scalar_one()


def add(
    conn: Connection,
    new: NewTask,
    *,
    args: str,
    session_id: str,
    conversation_id: str,
    author: str,
    now: dt.datetime,
    running: bool,
) -> Any:
    """Store a task that runs at once, or waits; returns its row. `args`: what of its arguments may be stored, JSON."""
    row = TaskRow(
        id=new_id(),
        owner=new.owner,
        author=author,
        session_id=session_id,
        conversation_id=conversation_id,
        turn_id=new.turn_id,
        call_session=new.session_id,
        call_id=new.call_id,
        agent=new.agent,
        tool=new.tool,
        args=args,
        language=new.language,
        as_of=new.as_of.isoformat() if new.as_of else "",
        max_age=new.max_age,
        sources=None if new.sources is None else ",".join(new.sources),
        state="running" if running else "queued",
        attempts=int(running),
        created_at=now,
        started_at=now if running else None,
    )
    return conn.execute(insert(_TASK).returning(_TASK), row.model_dump()).one()


def take_ready(conn: Connection, most: int, now: dt.datetime) -> None:
    """Let queued tasks run, oldest first, at most so many of one owner."""
    columns = (_TASK.c.id, _TASK.c.owner, _TASK.c.state, _TASK.c.attempts)
    query = select(*columns).where(_TASK.c.state.in_(ACTIVE))
    rows = conn.execute(query.order_by(_TASK.c.created_at, _TASK.c.id)).all()
    running = Counter(row.owner for row in rows if row.state == "running")
    for row in rows:
        if row.state == "queued" and running[row.owner] < most:
            running[row.owner] += 1
            values = {"state": "running", "attempts": row.attempts + 1, "started_at": now}
            conn.execute(update(_TASK).where(_TASK.c.id == row.id).values(values))


def due(conn: Connection, before: dt.datetime) -> tuple[bool, bool]:
    """Whether something waits, and whether something may be evicted."""
    queued = select(_TASK.c.id).where(_TASK.c.state == "queued")
    over = select(_TASK.c.id).where(*_over(before))
    waits = conn.execute(queued.limit(1)).first() is not None
    return waits, conn.execute(over.limit(1)).first() is not None


def all_running(conn: Connection) -> Sequence[Any]:
    """What runs, or did when its process ended."""
    return conn.execute(select(_TASK).where(_TASK.c.state == "running")).all()


def requeue(conn: Connection, task_id: str, *, counted: bool) -> None:
    """Let a task that was cut off begin anew; `counted`: the start that was cut off counts."""
    left = _TASK.c.attempts - (0 if counted else 1)
    values = {"state": "queued", "attempts": left, "detail": "", "progress": None}
    conn.execute(update(_TASK).where(_TASK.c.id == task_id).values(values))


def note(conn: Connection, task_id: str, detail: str, progress: float | None) -> None:
    """Keep where a running task is."""
    here = (_TASK.c.id == task_id, _TASK.c.state == "running")
    conn.execute(update(_TASK).where(*here).values(detail=detail, progress=progress))


def end(
    conn: Connection,
    task_id: str,
    state: State,
    result: ToolResult,
    now: dt.datetime,
    *,
    summary: str = "",
    error: str = "",
    meta: dict[str, Any] | None = None,
) -> bool:
    """A running task ends; false when it was cancelled or forgotten meanwhile, then nothing is kept of it."""
    values = {
        "state": state,
        "summary": summary,
        "error": error,
        "body": encode(Message("user", (result,))),
        "meta": json.dumps(meta or {}, ensure_ascii=False),
        "ended_at": now,
    }
    here = (_TASK.c.id == task_id, _TASK.c.state == "running")
    ended = conn.execute(update(_TASK).where(*here).values(values).returning(_TASK.c.id))
    return ended.first() is not None


def untold(conn: Connection, task_id: str) -> tuple[str, str] | None:
    """(conversation, person) where news of this task waits, None where there is none.

    After an end that went through unseen there is some; after a cancellation, or once its owner was forgotten, none,
    and nothing is kept of it.
    """
    ended = (_TASK.c.ended_at.is_not(None), _TASK.c.told_at.is_(None))
    query = select(_TASK.c.conversation_id, _TASK.c.author).where(_TASK.c.id == task_id, *ended)
    row = conn.execute(query).first()
    return None if row is None else (row.conversation_id, row.author)


def cancel(conn: Connection, task_id: str, now: dt.datetime) -> bool:
    """Let a task that runs or waits be over; nothing more is said of it. False for one that has ended."""
    here = (_TASK.c.id == task_id, _TASK.c.state.in_(ACTIVE))
    values = {"state": "cancelled", "ended_at": now, "told_at": now}
    return (
        conn.execute(update(_TASK).where(*here).values(values).returning(_TASK.c.id)).first()
        is not None
    )


def told(conn: Connection, ids: Sequence[str], now: dt.datetime) -> None:
    """Nothing more is to be said of these."""
    conn.execute(update(_TASK).where(_TASK.c.id.in_(ids)).values(told_at=now))


def evict(conn: Connection, before: dt.datetime) -> int:
    """Delete tasks that had ended, and were told of, before this time. Their files stay with what quotes them."""
    return len(conn.execute(delete(_TASK).where(*_over(before)).returning(_TASK.c.id)).all())


def _over(before: dt.datetime) -> tuple[ColumnElement[bool], ...]:
    return (_TASK.c.ended_at < before, _TASK.c.told_at < before)


# What is seen of them -----------------------------------------------------------------------------


def of_session(conn: Connection, owner: str, session_id: str) -> list[Any]:
    """The tasks of an owner that a session, or a sub-agent's session below it, started; newest first."""
    mine = (_TASK.c.owner == owner, _TASK.c.session_id == root_of(session_id))
    query = select(_TASK).where(*mine).order_by(_TASK.c.created_at.desc(), _TASK.c.id)
    return list(conn.execute(query.limit(LISTED)).all())


def root_of(session_id: str) -> str:
    """The session of the main agent: that of a sub-agent is `<session>/<call>`."""
    return session_id.partition("/")[0]


def active_here(conn: Connection, owner: str, conversation_id: str) -> list[Any]:
    """What a person's tasks in a conversation do; in a private one, all that run or wait, wherever they began."""
    private = select(_CONVERSATION.c.private).where(_CONVERSATION.c.id == conversation_id)
    here: ColumnElement[bool] = _TASK.c.conversation_id == conversation_id
    if conn.execute(private).scalar():
        elsewhere = select(_CONVERSATION.c.id).where(_CONVERSATION.c.private)
        here = or_(here, _TASK.c.conversation_id.in_(elsewhere))
    query = select(_TASK).where(_TASK.c.owner == owner, _TASK.c.state.in_(ACTIVE), here)
    first = case((_TASK.c.state == "running", 0), else_=1)
    return list(conn.execute(query.order_by(first, _TASK.c.created_at, _TASK.c.id)).all())


def position(conn: Connection, row: Any) -> int:
    """Place of a queued task among those of its owner, from 1; 0 for any other."""
    if row.state != "queued":
        return 0
    before = (
        _TASK.c.owner == row.owner,
        _TASK.c.state == "queued",
        or_(
            _TASK.c.created_at < row.created_at,
            (_TASK.c.created_at == row.created_at) & (_TASK.c.id < row.id),
        ),
    )
    query = select(func.count()).select_from(_TASK).where(*before)
    return conn.execute(query).scalar_one() + 1


def result_of(row: Any) -> ToolResult:
    """What a task that has ended answered."""
    if not row.body:
        return ToolResult(row.call_id, row.tool, f"The task was {row.state}.", is_error=True)
    [result] = [b for b in decode(row.body).blocks if isinstance(b, ToolResult)]
    return result


def seen(conn: Connection, row: Any, *, whole: bool = False) -> Task:
    """A row as its owner sees it; `whole`: with the answer."""
    content = ""
    artifacts: tuple[ArtifactRef, ...] = ()
    if whole and row.state not in ACTIVE:
        result = result_of(row)
        content, artifacts = result.content, result.artifacts
    return _seen(row, position(conn, row), content, artifacts)


def _seen(row: Any, place: int, content: str, artifacts: tuple[ArtifactRef, ...]) -> Task:
    return Task(
        id=row.id,
        tool=row.tool,
        state=row.state,
        detail=row.detail,
        progress=row.progress,
        position=place,
        agent=row.agent,
        summary=row.summary,
        error=row.error,
        created_at=row.created_at,
        ended_at=row.ended_at,
        content=content,
        artifacts=artifacts,
        meta=json.loads(row.meta),
    )
