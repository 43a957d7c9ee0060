"""What recall quotes: memories that hold, and rows of transcripts. Statements; none commits, each names its owner.

The index says which; whether a memory still holds, and whether a row still stands, is read here, at the source.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Executable, and_, bindparam, func, or_, select

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


# On the path of each turn: built once.
_LATEST = (_MEMORY.c.created_at.desc(), _MEMORY.c.id.desc())
_HOLDING = and_(
    _MEMORY.c.owner == bindparam("owner"),
    _MEMORY.c.scope == bindparam("scope"),
    _MEMORY.c.kind != "marker",
    _MEMORY.c.archived_at.is_(None),
    _MEMORY.c.superseded_by.is_(None),
    or_(
        _MEMORY.c.valid_until.is_(None),
        _MEMORY.c.valid_until > bindparam("now", type_=_MEMORY.c.valid_until.type),
    ),
)
_EVERYTHING = select(*_COLUMNS).where(_HOLDING).order_by(*_LATEST)
_AMONG = select(*_COLUMNS).where(_HOLDING, _MEMORY.c.id.in_(bindparam("ids", expanding=True)))
_OF_KIND = (
    select(
        *_COLUMNS,
        func.row_number().over(partition_by=_MEMORY.c.kind, order_by=_LATEST).label("nth"),
    )
    .where(_HOLDING, _MEMORY.c.kind.in_(bindparam("kinds", expanding=True)))
    .subquery()
)
_NEWEST = select(_OF_KIND).where(_OF_KIND.c.nth <= bindparam("most")).order_by(_OF_KIND.c.nth)
_TAKEN_BACK = select(_CHECKPOINT.c.id).where(
    _CHECKPOINT.c.session_id == _TRANSCRIPT.c.session_id,
    _CHECKPOINT.c.kind == "undo",
    _CHECKPOINT.c.after < _TRANSCRIPT.c.seq,
    _CHECKPOINT.c.until > _TRANSCRIPT.c.seq,
)


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
    conn: Connection, owner: str, scope: str, limits: Mapping[str, int], now: dt.datetime
) -> dict[str, list[Kept]]:
    """The newest memories that hold, of each kind at most so many, newest first."""
    values = {"owner": owner, "scope": scope, "now": now, "kinds": list(limits)}
    values["most"] = max(limits.values(), default=0)
    found: dict[str, list[Kept]] = {kind: [] for kind in limits}
    for kept in _kept(conn, _NEWEST, values):
        if len(found[kept.kind]) < limits[kept.kind]:
            found[kept.kind].append(kept)
    return found


def among(
    conn: Connection, owner: str, scope: str, ids: Collection[int], now: dt.datetime
) -> list[Kept]:
    """Those of these memories that are the owner's, of this scope, and hold."""
    if not ids:
        return []
    return _kept(conn, _AMONG, {"owner": owner, "scope": scope, "now": now, "ids": list(ids)})


def everything(conn: Connection, owner: str, scope: str, now: dt.datetime) -> list[Kept]:
    """All memories that hold, newest first; the caps bound them (CAP-1)."""
    return _kept(conn, _EVERYTHING, {"owner": owner, "scope": scope, "now": now})


def told(conn: Connection, rows: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Told]:
    """Rows by session and place; those that /undo took back are left out."""
    if not rows:
        return {}
    values: dict[str, str | int] = {f"session{n}": session for n, (session, _) in enumerate(rows)}
    values |= {f"seq{n}": seq for n, (_, seq) in enumerate(rows)}
    return {
        (session, seq): Told(session, seq, kind == RowKind.USER, decode(body).text, at)
        for session, seq, kind, body, at in conn.execute(_told(len(rows)), values)
    }


@lru_cache(maxsize=64)
def _told(rows: int) -> Executable:
    """So many rows by their places: SQLite finds them in its index, where a list of pairs is a walk over all rows."""
    row = _TRANSCRIPT.c
    places = (
        and_(row.session_id == bindparam(f"session{n}"), row.seq == bindparam(f"seq{n}"))
        for n in range(rows)
    )
    query = select(row.session_id, row.seq, row.kind, row.body, row.at)
    return query.where(or_(*places), ~_TAKEN_BACK.exists())


def _kept(conn: Connection, query: Executable, values: dict[str, Any]) -> list[Kept]:
    return [
        Kept(
            row.id,
            row.kind,
            row.text,
            tuple(row.codes.split()),
            row.credibility,
            max(at for at in (row.created_at, row.confirmed_at) if at),
        )
        for row in conn.execute(query, values)
    ]
