"""Sessions as wholes: titles, checkpoints, what the last turn is, copies. Statements; none commits.

A fork is a copy of the rows in one statement inside the database: rows never change, so the copy stays true, each
session keeps `seq` without gaps, and the two go on independently. Copied rows keep their turn ids; transcripts of
sub-agents stay with the session in which they ran.
"""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, literal, or_, select, update

from agent_core.storage.prepared import Prepared
from agent_core.storage.statements import ensure_session, last_seq, load_rows
from agent_core.storage.tables import Checkpoint as CheckpointRow
from agent_core.storage.tables import Session, Transcript
from agent_core.types import Checkpoint, Row, RowKind

_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_CHECKPOINT = CheckpointRow.__table__  # type: ignore[attr-defined]
TITLE_CHARS = 60

# On the path of each turn.
_LOAD = Prepared(
    select(_CHECKPOINT.c.kind, _CHECKPOINT.c.after, _CHECKPOINT.c.until, _CHECKPOINT.c.body)
    .where(_CHECKPOINT.c.session_id == bindparam("session"))
    .order_by(_CHECKPOINT.c.id)
)


@dataclass(frozen=True, slots=True)
class LastTurn:
    """The newest turn that the view still has; its rows are those with after < seq < until."""

    turn_id: int
    after: int
    until: int


def load_checkpoints(conn: Connection, session_id: str) -> tuple[Checkpoint, ...]:
    """The checkpoints of a session, oldest first."""
    found = _LOAD.execute(conn, {"session": session_id})
    return tuple(Checkpoint(row.kind, row.after, row.until, json.loads(row.body)) for row in found)


def dated_checkpoints(conn: Connection, session_id: str) -> list[tuple[Checkpoint, dt.datetime]]:
    """The checkpoints of a session, oldest first, each with when it was made."""
    query = select(_CHECKPOINT).where(_CHECKPOINT.c.session_id == session_id)
    return [
        (Checkpoint(row.kind, row.after, row.until, json.loads(row.body)), row.at)
        for row in conn.execute(query.order_by(_CHECKPOINT.c.id))
    ]


def last_condensed(conn: Connection) -> str | None:
    """The session whose view was changed last by more than an undo; None where none was."""
    query = select(_CHECKPOINT.c.session_id).where(_CHECKPOINT.c.kind != "undo")
    found: str | None = conn.execute(query.order_by(_CHECKPOINT.c.id.desc()).limit(1)).scalar()
    return found


def add_checkpoint(
    conn: Connection, session_id: str, checkpoint: Checkpoint, now: dt.datetime
) -> None:
    """Add a decision about the view; the rows stay as they are."""
    conn.execute(
        insert(_CHECKPOINT),
        {
            "session_id": session_id,
            "kind": checkpoint.kind,
            "after": checkpoint.after,
            "until": checkpoint.until,
            "body": json.dumps(checkpoint.body, ensure_ascii=False),
            "at": now,
        },
    )


def last_turn(conn: Connection, session_id: str) -> LastTurn | None:
    """The newest turn of a session that no checkpoint leaves out, or None."""
    last = _below(last_seq(conn, session_id), load_checkpoints(conn, session_id))
    if last == 0:
        return None
    mine = _TRANSCRIPT.c.session_id == session_id
    turn_id: int = conn.execute(
        select(_TRANSCRIPT.c.turn_id).where(mine, _TRANSCRIPT.c.seq == last)
    ).scalar_one()
    first = select(func.min(_TRANSCRIPT.c.seq)).where(mine, _TRANSCRIPT.c.turn_id == turn_id)
    return LastTurn(turn_id, conn.execute(first).scalar_one() - 1, last + 1)


def _below(last: int, checkpoints: Sequence[Checkpoint]) -> int:
    """The highest row at or below `last` that is not left out; 0 for none."""
    undone = [c for c in checkpoints if c.kind == "undo"]
    while hiding := next((c for c in undone if c.after < last < c.until), None):
        last = hiding.after
    return last


def first_seq(conn: Connection, session_id: str, turns: Sequence[int]) -> int | None:
    """The first row that these turns have in a session; None where they have none."""
    found: int | None = conn.execute(
        select(func.min(_TRANSCRIPT.c.seq)).where(
            _TRANSCRIPT.c.session_id == session_id, _TRANSCRIPT.c.turn_id.in_(turns)
        )
    ).scalar()
    return found


def said(conn: Connection, session_id: str, turn: LastTurn) -> list[Row]:
    """What the person said in a turn: its USER rows."""
    rows = load_rows(conn, session_id, turn.after)
    return [r for r in rows if r.seq < turn.until and r.kind is RowKind.USER]


def name(conn: Connection, session_id: str, words: str) -> None:
    """Give a session without a title one, from the first words said in it."""
    title = " ".join(words.split())
    if len(title) > TITLE_CHARS:
        title = title[: TITLE_CHARS - 1].rstrip() + "…"
    if title:
        mine = (_SESSION.c.id == session_id, _SESSION.c.title == "")
        conn.execute(update(_SESSION).where(*mine).values(title=title))


def fork(conn: Connection, source: str, target: str, owner: str, now: dt.datetime) -> None:
    """Make session `target`, which begins with the rows, the checkpoints and the title of `source`."""
    ensure_session(conn, target, owner, now)
    title = select(_SESSION.c.title).where(_SESSION.c.id == source).scalar_subquery()
    conn.execute(update(_SESSION).where(_SESSION.c.id == target).values(title=title))
    for table in (_TRANSCRIPT, _CHECKPOINT):
        kept = [c.name for c in table.c if c.name not in ("id", "session_id")]
        rows = (
            select(literal(target).label("session_id"), *(table.c[name] for name in kept))
            .where(table.c.session_id == source)
            .order_by(table.c.id)
        )
        conn.execute(insert(table).from_select(["session_id", *kept], rows))


def listing(conn: Connection) -> list[dict[str, Any]]:
    """All sessions that people lead, newest first, with the number of their turns and rows."""
    turns = func.count(func.distinct(_TRANSCRIPT.c.turn_id))
    query = (
        select(
            _SESSION.c.id,
            _SESSION.c.title,
            _SESSION.c.owner,
            turns.label("turns"),
            func.count(_TRANSCRIPT.c.id).label("rows"),
            _SESSION.c.created_at,
            func.max(_TRANSCRIPT.c.at).label("last_at"),
        )
        .outerjoin(_TRANSCRIPT, _TRANSCRIPT.c.session_id == _SESSION.c.id)
        .where(_SESSION.c.parent.is_(None))
        .group_by(_SESSION.c.id, _SESSION.c.title, _SESSION.c.owner, _SESSION.c.created_at)
        .order_by(_SESSION.c.created_at.desc(), _SESSION.c.id)
    )
    return [dict(row._mapping) for row in conn.execute(query)]  # noqa: SLF001 - the documented way to a dict


def find_session(conn: Connection, prefix: str) -> str | None:
    """The one session whose id is `prefix` or begins with it; None when there is none or more than one."""
    query = select(_SESSION.c.id).where(
        or_(_SESSION.c.id == prefix, _SESSION.c.id.startswith(prefix, autoescape=True)),
        _SESSION.c.parent.is_(None),
    )
    found = [row.id for row in conn.execute(query.limit(2))]
    return prefix if prefix in found else (found[0] if len(found) == 1 else None)


def with_children(conn: Connection, session_id: str) -> Iterator[tuple[str, str | None, Row]]:
    """(session, agent, row) of a session and then of each sub-agent's session below it, in order."""
    below = _SESSION.c.id.startswith(f"{session_id}/", autoescape=True)
    query = select(_SESSION.c.id, _SESSION.c.agent).where(or_(_SESSION.c.id == session_id, below))
    for found in conn.execute(query.order_by(_SESSION.c.created_at, _SESSION.c.id)).all():
        for row in load_rows(conn, found.id):
            yield found.id, found.agent, row
