"""What recall quotes: memories that hold, and rows of transcripts. Statements; none commits, each names its owner.

The index says which; whether a memory still holds, and whether a row still stands, is read here, at the source.
"""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from agent_core.storage.tables import Checkpoint, Transcript
from agent_core.storage.tables_memory import MemoryRow
from agent_core.types import RowKind, decode

_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_CHECKPOINT = Checkpoint.__table__  # type: ignore[attr-defined]
_COLUMNS = [
    _MEMORY.c[name]
    for name in ("id", "kind", "text", "codes", "credibility", "created_at", "confirmed_at")
]


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory that holds. `codes` are canonical symbol ids; `at` is when it was said, or said again."""

    id: int
    kind: str
    text: str
    codes: tuple[str, ...]
    credibility: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Told:
    """A row of a transcript: what the person said, or was told."""

    session: str
    seq: int
    by_person: bool
    text: str
    at: dt.datetime


def newest(
    conn: Connection, owner: str, scope: str, kind: str, now: dt.datetime, limit: int
) -> list[Kept]:
    """The newest memories of a kind that hold."""
    query = _holding(owner, scope, now).where(_MEMORY.c.kind == kind)
    query = query.order_by(_MEMORY.c.created_at.desc(), _MEMORY.c.id.desc()).limit(limit)
    return _kept(conn, query)


def among(
    conn: Connection, owner: str, scope: str, ids: Collection[int], now: dt.datetime
) -> list[Kept]:
    """Those of these memories that are the owner's, of this scope, and hold."""
    return _kept(conn, _holding(owner, scope, now).where(_MEMORY.c.id.in_(ids))) if ids else []


def everything(conn: Connection, owner: str, scope: str, now: dt.datetime) -> list[Kept]:
    """All memories that hold, newest first; the caps bound them (CAP-1)."""
    query = _holding(owner, scope, now)
    return _kept(conn, query.order_by(_MEMORY.c.created_at.desc(), _MEMORY.c.id.desc()))


def told(conn: Connection, rows: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Told]:
    """Rows by session and place; those that /undo took back are left out."""
    if not rows:
        return {}
    row = _TRANSCRIPT.c
    own = or_(*(and_(row.session_id == session, row.seq == seq) for session, seq in rows))
    gone = select(_CHECKPOINT.c.id).where(
        _CHECKPOINT.c.session_id == row.session_id,
        _CHECKPOINT.c.kind == "undo",
        _CHECKPOINT.c.after < row.seq,
        _CHECKPOINT.c.until > row.seq,
    )
    query = select(row.session_id, row.seq, row.kind, row.body, row.at).where(own, ~gone.exists())
    return {
        (session, seq): Told(session, seq, kind == RowKind.USER, decode(body).text, at)
        for session, seq, kind, body, at in conn.execute(query)
    }


def _holding(owner: str, scope: str, now: dt.datetime) -> Select[Any]:
    memory = _MEMORY.c
    holds: ColumnElement[bool] = and_(
        memory.owner == owner,
        memory.scope == scope,
        memory.kind != "marker",
        memory.archived_at.is_(None),
        memory.superseded_by.is_(None),
        or_(memory.valid_until.is_(None), memory.valid_until > now),
    )
    return cast("Select[Any]", select(*_COLUMNS).where(holds))


def _kept(conn: Connection, query: Select[Any]) -> list[Kept]:
    return [
        Kept(
            row.id,
            row.kind,
            row.text,
            tuple(row.codes.split()),
            row.credibility,
            max(at for at in (row.created_at, row.confirmed_at) if at),
        )
        for row in conn.execute(query)
    ]
