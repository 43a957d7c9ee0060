"""Keeping memories in order: shortening with a lossless copy, restoring, editing, use and signals, removal.

Statements; none commits, each names its owner (MEM-17). A memory's row, its versions and its entry in the index of
recall change in one transaction (TIR-10), so no reader ever finds one without the other.
"""

import datetime as dt
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from agent_core.storage import recall_index
from agent_core.storage.memories import MARKER, content_hash
from agent_core.storage.tables_memory import MemoryRow, MemoryVersion

_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]
_VERSION = MemoryVersion.__table__  # type: ignore[attr-defined]
_LIVE = (
    _MEMORY.c.archived_at.is_(None),
    _MEMORY.c.superseded_by.is_(None),
    _MEMORY.c.kind != MARKER,
)


class NotKept(Exception):
    """The text before a change could not be kept, so nothing was changed (TIR-7)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory with all that its upkeep needs. `codes` are canonical symbol ids."""

    id: int
    owner: str
    scope: str
    kind: str
    text: str
    codes: tuple[str, ...]
    source: str
    credibility: str
    topic_key: str
    meta: dict[str, Any]
    level: str
    quality: float
    access_count: int
    created_at: dt.datetime
    confirmed_at: dt.datetime | None
    accessed_at: dt.datetime | None
    valid_until: dt.datetime | None
    superseded_by: int | None
    archived_at: dt.datetime | None

    @property
    def used_at(self) -> dt.datetime:
        """When it was used last, else said again, else said."""
        return max(at for at in (self.accessed_at, self.confirmed_at, self.created_at) if at)

    @property
    def state(self) -> str:
        """Live, superseded or archived."""
        if self.archived_at is not None:
            return "archived"
        return "live" if self.superseded_by is None else "superseded"


@dataclass(frozen=True, slots=True)
class Version:
    """A text that a memory once had. `level` is `raw`, `daily`, …, with `.2` behind it for a second one."""

    level: str
    text: str
    at: dt.datetime


# Finding ------------------------------------------------------------------------------------------


def entries(
    conn: Connection, owner: str, *, scope: str | None = None, everything: bool = False
) -> list[Entry]:
    """The live memories of an owner, newest first; of one scope, where one is given.

    `everything`: superseded and archived ones too. Markers are never among them.
    """
    query = select(_MEMORY).where(_MEMORY.c.owner == owner, _MEMORY.c.kind != MARKER)
    if scope is not None:
        query = query.where(_MEMORY.c.scope == scope)
    if not everything:
        query = query.where(*_LIVE)
    return [_entry(row) for row in conn.execute(query.order_by(_MEMORY.c.id.desc()))]


def entry(
    conn: Connection, owner: str, memory_id: int, *, scope: str | None = None
) -> Entry | None:
    """One memory of this owner (and scope), whatever its state; None for any other."""
    if not 0 < memory_id < 2**63:
        return None
    query = select(_MEMORY).where(
        _MEMORY.c.id == memory_id, _MEMORY.c.owner == owner, _MEMORY.c.kind != MARKER
    )
    if scope is not None:
        query = query.where(_MEMORY.c.scope == scope)
    row = conn.execute(query).first()
    return None if row is None else _entry(row)


def versions(conn: Connection, owner: str, memory_id: int) -> list[Version]:
    """The texts that a memory had before it was shortened or edited, oldest first."""
    query = select(_VERSION).where(_VERSION.c.memory_id == memory_id, _VERSION.c.owner == owner)
    return [
        Version(row.level, row.text, row.at) for row in conn.execute(query.order_by(_VERSION.c.id))
    ]


# Changing -----------------------------------------------------------------------------------------


def shorten(
    conn: Connection,
    owner: str,
    memory_id: int,
    before: str,
    level: str,
    text: str,
    now: dt.datetime,
) -> bool:
    """Give a memory a shorter text at a level; the text `before` is kept first (TIR-7, TIR-8).

    False when the memory has changed since `before` was read: then nothing is done. Raises NotKept.
    """
    found = entry(conn, owner, memory_id)
    if found is None or found.text != before or found.state != "live":
        return False
    _keep(conn, found, now)
    _rewrite(
        conn, found, text, level
    )  # its hash stays: what was said is still known when said again
    return True


def edit(conn: Connection, found: Entry, text: str, now: dt.datetime) -> None:
    """The owner says it in other words: it is raw, live and confirmed again; what it was stays as a version."""
    _keep(conn, found, now)
    _rewrite(
        conn,
        found,
        text,
        "raw",
        hash=content_hash(text),
        confirmed_at=now,
        archived_at=None,
        superseded_by=None,
    )


def restore(conn: Connection, found: Entry, level: str, now: dt.datetime) -> str | None:
    """Bring a memory back to a version, to the byte, and into use; an archived one also to the text that it has.

    Returns the text, None where there is no such version.
    """
    wanted = [v.text for v in versions(conn, found.owner, found.id) if v.level == level]
    if found.level == level:
        wanted.append(found.text)
    if not wanted:
        return None
    text = wanted[0]
    if text != found.text:
        _keep(conn, found, now)
    _rewrite(
        conn,
        found,
        text,
        _plain(level),
        hash=content_hash(text),
        accessed_at=now,
        confirmed_at=now,
        archived_at=None,
    )
    return text


def used(conn: Connection, owner: str, ids: Collection[int], now: dt.datetime) -> None:
    """These memories were put before a model, so their time begins anew (TIR-11)."""
    if ids:
        mine = (_MEMORY.c.id.in_(ids), _MEMORY.c.owner == owner)
        values = {"accessed_at": now, "access_count": _MEMORY.c.access_count + 1}
        conn.execute(update(_MEMORY).where(*mine).values(values))


def set_quality(conn: Connection, found: Entry, quality: float, meta: dict[str, Any]) -> None:
    """What a memory is worth, and what moved it."""
    mine = (_MEMORY.c.id == found.id, _MEMORY.c.owner == found.owner)
    values = {"quality": quality, "meta": json.dumps(meta, ensure_ascii=False)}
    conn.execute(update(_MEMORY).where(*mine).values(values))


def remove(conn: Connection, owner: str, ids: Sequence[int]) -> int:
    """Delete memories for good, with their versions and index entries (MEM-19). Returns how many."""
    if not ids:
        return 0
    mine = (_MEMORY.c.id.in_(ids), _MEMORY.c.owner == owner)
    own = [row.id for row in conn.execute(select(_MEMORY.c.id).where(*mine))]
    conn.execute(
        update(_MEMORY)
        .where(_MEMORY.c.superseded_by.in_(own), _MEMORY.c.owner == owner)
        .values(superseded_by=None, archived_at=_MEMORY.c.created_at)
    )
    conn.execute(delete(_VERSION).where(_VERSION.c.memory_id.in_(own)))
    recall_index.remove_memories(conn, owner, own)
    conn.execute(delete(_MEMORY).where(_MEMORY.c.id.in_(own)))
    return len(own)


def reindex(conn: Connection, owner: str, memory_id: int) -> None:
    """The index of recall follows the row (TIR-10): a live memory is found by its present text, no other one is."""
    found = entry(conn, owner, memory_id)
    if found is None or found.state != "live":
        recall_index.remove_memories(conn, owner, [memory_id])
        return
    recall_index.add_memory(
        conn, owner, found.scope, memory_id, found.kind, found.text, found.codes
    )


def archive(conn: Connection, owner: str, ids: Sequence[int], now: dt.datetime) -> int:
    """Keep memories and recall them no more (CAP-4, C-15). Returns how many were live."""
    if not ids:
        return 0
    mine = (_MEMORY.c.id.in_(ids), _MEMORY.c.owner == owner, *_LIVE)
    moved = update(_MEMORY).where(*mine).values(archived_at=now).returning(_MEMORY.c.id)
    own = [row.id for row in conn.execute(moved)]
    recall_index.remove_memories(conn, owner, own)
    return len(own)


def _keep(conn: Connection, found: Entry, now: dt.datetime) -> None:
    """Store the present text under its level, once; another one there is never overwritten. Raises NotKept."""
    kept = versions(conn, found.owner, found.id)
    if any(v.text == found.text and _plain(v.level) == found.level for v in kept):
        return
    number = sum(_plain(v.level) == found.level for v in kept)
    level = f"{found.level}.{number + 1}" if number else found.level
    values = {"memory_id": found.id, "owner": found.owner, "level": level, "text": found.text}
    conn.execute(insert(_VERSION), values | {"at": now})
    if _read_back(conn, found.id, level) != found.text:
        raise NotKept(f"memory {found.id}: the {level} text reads back differently")


def _read_back(conn: Connection, memory_id: int, level: str) -> str | None:
    query = select(_VERSION.c.text).where(
        _VERSION.c.memory_id == memory_id, _VERSION.c.level == level
    )
    found: str | None = conn.execute(query).scalar()
    return found


def _rewrite(conn: Connection, found: Entry, text: str, level: str, **more: Any) -> None:
    mine = (_MEMORY.c.id == found.id, _MEMORY.c.owner == found.owner)
    conn.execute(update(_MEMORY).where(*mine).values(text=text, level=level, **more))
    reindex(conn, found.owner, found.id)


def _plain(level: str) -> str:
    return level.partition(".")[0]


def _entry(row: Row[Any]) -> Entry:
    values = dict(row._mapping)  # noqa: SLF001 - the documented way to a dict
    del values["hash"]
    return Entry(**values | {"codes": tuple(row.codes.split()), "meta": json.loads(row.meta)})
