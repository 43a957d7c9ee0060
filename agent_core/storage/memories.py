"""Memories of a person: add, find, supersede, archive, purge. Statements; none commits, each names its owner (MEM-17).

A memory that is superseded or archived stays and is not recalled (MEM-15, CAP-4); only `purge` and /forget delete. What
is recalled and the index of recall change in one transaction.
"""

import datetime as dt
import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from agent_core.storage.recall_index import add_memory, remove_memories
from agent_core.storage.tables_memory import MemoryRow, MemoryVersion

_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]
_VERSION = MemoryVersion.__table__  # type: ignore[attr-defined]
_LIVE = (_MEMORY.c.archived_at.is_(None), _MEMORY.c.superseded_by.is_(None))
PRIVATE = "private"
MARKER = "marker"
# What of a text tells it from another: letters, digits, and the points, signs and per cents of figures.
_KEPT = re.compile(r"(?<![a-z0-9])-(?=\d)|(?<=\d)\.(?=\d)|%|[^\W_]")


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory before it is stored. `codes` are canonical symbol ids; `meta` is JSON."""

    owner: str
    kind: str
    text: str
    source: str
    scope: str = PRIVATE
    codes: tuple[str, ...] = ()
    credibility: str = "mixed"
    topic_key: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    valid_until: dt.datetime | None = None

    @property
    def hash(self) -> str:
        """By which an equal text is found."""
        return content_hash(self.text)


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory."""

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
    created_at: dt.datetime
    confirmed_at: dt.datetime | None = None
    valid_until: dt.datetime | None = None
    superseded_by: int | None = None
    archived_at: dt.datetime | None = None


def same(text: str) -> str:
    """A text without case, width, spaces and punctuation, but with points and signs of figures (DED-1)."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(_KEPT.findall(folded)) or folded


def content_hash(text: str) -> str:
    """The sha256 of what `same` leaves of a text."""
    return hashlib.sha256(same(text).encode(errors="replace")).hexdigest()


def codes_text(codes: Iterable[str]) -> str:
    """Symbol ids as the column holds them: each between blanks, "" for none."""
    ids = " ".join(dict.fromkeys(codes))
    return f" {ids} " if ids else ""


def add(conn: Connection, new: NewMemory, now: dt.datetime) -> int:
    """Store a memory and make it known to recall (a marker never is). Returns its id."""
    made = conn.execute(insert(_MEMORY).returning(_MEMORY.c.id), _values(new, now))
    memory_id: int = made.scalar_one()
    add_memory(conn, new.owner, new.scope, memory_id, new.kind, new.text, new.codes)
    return memory_id


def get(conn: Connection, owner: str, memory_id: int) -> Memory | None:
    """A memory of this owner, superseded and archived ones too; None for any other."""
    query = select(_MEMORY).where(_MEMORY.c.id == memory_id, _MEMORY.c.owner == owner)
    row = conn.execute(query).first()
    return None if row is None else _memory(row)


def live(
    conn: Connection,
    owner: str,
    scope: str,
    kinds: Collection[str],
    *,
    limit: int | None = None,
    after: int = 0,
) -> list[Memory]:
    """What holds of these kinds in one scope, newest first; `after`: with a higher id alone."""
    query = (
        select(_MEMORY)
        .where(_MEMORY.c.owner == owner, _MEMORY.c.scope == scope, _MEMORY.c.kind.in_(kinds))
        .where(*_LIVE, _MEMORY.c.id > after)
        .order_by(_MEMORY.c.created_at.desc(), _MEMORY.c.id.desc())
    )
    return [_memory(row) for row in conn.execute(query.limit(limit))]


def of_source(conn: Connection, owner: str, source: str) -> list[Memory]:
    """Everything that came from one place, oldest first (MEM-16)."""
    query = select(_MEMORY).where(_MEMORY.c.owner == owner, _MEMORY.c.source == source)
    return [_memory(row) for row in conn.execute(query.order_by(_MEMORY.c.id))]


def of_hash(conn: Connection, owner: str, wanted: str) -> list[Memory]:
    """Memories with this text, of every kind and state, newest first."""
    query = select(_MEMORY).where(_MEMORY.c.owner == owner, _MEMORY.c.hash == wanted)
    return [_memory(row) for row in conn.execute(query.order_by(_MEMORY.c.id.desc()))]


def fill(conn: Connection, found: Memory, new: NewMemory, now: dt.datetime) -> None:
    """The same was said again: note when, and what was not known of its source yet (MEM-18)."""
    meta = {**new.meta, **found.meta}
    mine = (_MEMORY.c.id == found.id, _MEMORY.c.owner == found.owner)
    values = {
        "source": found.source or new.source,
        "meta": json.dumps(meta, ensure_ascii=False),
        "confirmed_at": now,
    }
    conn.execute(update(_MEMORY).where(*mine).values(**values))


def confirm(conn: Connection, owner: str, memory_id: int, now: dt.datetime) -> None:
    """The same was said again in other words."""
    mine = (_MEMORY.c.id == memory_id, _MEMORY.c.owner == owner)
    conn.execute(update(_MEMORY).where(*mine).values(confirmed_at=now))


def supersede(conn: Connection, owner: str, ids: Sequence[int], by: int) -> None:
    """Hide memories behind the one that says it anew (MEM-15)."""
    if ids:
        mine = (_MEMORY.c.id.in_(ids), _MEMORY.c.owner == owner)
        conn.execute(update(_MEMORY).where(*mine).values(superseded_by=by))
        remove_memories(conn, owner, ids)


def archive(conn: Connection, owner: str, ids: Sequence[int], now: dt.datetime) -> None:
    """Keep memories and recall them no more (CAP-4)."""
    if ids:
        mine = (_MEMORY.c.id.in_(ids), _MEMORY.c.owner == owner, _MEMORY.c.archived_at.is_(None))
        conn.execute(update(_MEMORY).where(*mine).values(archived_at=now))
        remove_memories(conn, owner, ids)


def purge(conn: Connection, owner: str, before: dt.datetime, limit: int = 500) -> int:
    """Delete what was archived before a time, with its versions. Returns how many; 0: nothing is left (CAP-4)."""
    old = (_MEMORY.c.owner == owner, _MEMORY.c.archived_at < before)
    ids = conn.execute(select(_MEMORY.c.id).where(*old).limit(limit)).scalars().all()
    if ids:
        conn.execute(
            delete(_VERSION).where(_VERSION.c.memory_id.in_(ids), _VERSION.c.owner == owner)
        )
        conn.execute(delete(_MEMORY).where(_MEMORY.c.id.in_(ids), _MEMORY.c.owner == owner))
    return len(ids)


def overflow(conn: Connection, owner: str, scope: str, kind: str, cap: int) -> list[int]:
    """The oldest memories of a kind beyond the newest `cap` (CAP-1)."""
    query = (
        select(_MEMORY.c.id)
        .where(_MEMORY.c.owner == owner, _MEMORY.c.scope == scope, _MEMORY.c.kind == kind, *_LIVE)
        .order_by(_MEMORY.c.created_at.desc(), _MEMORY.c.id.desc())
    )
    return list(conn.execute(query).scalars())[cap:]


def outdated(
    conn: Connection, owner: str, kind: str, before: dt.datetime, limit: int = 500
) -> list[int]:
    """Memories of a kind that were said (or said again) last before a time; compared as times (CAP-5)."""
    said = func.coalesce(_MEMORY.c.confirmed_at, _MEMORY.c.created_at)
    query = select(_MEMORY.c.id).where(
        _MEMORY.c.owner == owner, _MEMORY.c.kind == kind, said < before, *_LIVE
    )
    return list(conn.execute(query.order_by(_MEMORY.c.id).limit(limit)).scalars())


def expired(conn: Connection, owner: str, now: dt.datetime, limit: int = 500) -> list[int]:
    """Memories whose `valid_until` is over."""
    query = select(_MEMORY.c.id).where(
        _MEMORY.c.owner == owner, _MEMORY.c.valid_until <= now, *_LIVE
    )
    return list(conn.execute(query.order_by(_MEMORY.c.id).limit(limit)).scalars())


def kinds_of(conn: Connection, owner: str) -> list[str]:
    """The kinds of memory that an owner has."""
    query = select(_MEMORY.c.kind).where(_MEMORY.c.owner == owner, *_LIVE).distinct()
    return list(conn.execute(query.order_by(_MEMORY.c.kind)).scalars())


def owners(conn: Connection, after: str = "", limit: int = 500) -> list[str]:
    """Who has memories, in order, beginning behind `after`."""
    query = select(_MEMORY.c.owner).where(_MEMORY.c.owner > after).distinct()
    return list(conn.execute(query.order_by(_MEMORY.c.owner).limit(limit)).scalars())


def mark(conn: Connection, marker: NewMemory, digest: str, now: dt.datetime) -> None:
    """Note that something was processed; `digest` is by which it is known again (MEM-8)."""
    values = _values(marker, now) | {"kind": MARKER, "text": digest, "hash": digest}
    conn.execute(insert(_MEMORY), values)


def marked(conn: Connection, owner: str, scope: str, digest: str) -> bool:
    """Whether it was processed, however long ago."""
    query = select(_MEMORY.c.id).where(
        _MEMORY.c.owner == owner,
        _MEMORY.c.kind == MARKER,
        _MEMORY.c.hash == digest,
        _MEMORY.c.scope == scope,
    )
    return conn.execute(query.limit(1)).first() is not None


def last_marker(conn: Connection, owner: str, scope: str, source: str) -> Memory | None:
    """The newest marker of a source."""
    query = select(_MEMORY).where(
        _MEMORY.c.owner == owner,
        _MEMORY.c.kind == MARKER,
        _MEMORY.c.scope == scope,
        _MEMORY.c.source == source,
    )
    row = conn.execute(query.order_by(_MEMORY.c.id.desc()).limit(1)).first()
    return None if row is None else _memory(row)


def _values(new: NewMemory, now: dt.datetime) -> dict[str, Any]:
    return {
        "owner": new.owner,
        "scope": new.scope,
        "kind": new.kind,
        "text": new.text,
        "hash": new.hash,
        "codes": codes_text(new.codes),
        "source": new.source,
        "credibility": new.credibility,
        "topic_key": new.topic_key,
        "meta": json.dumps(new.meta, ensure_ascii=False),
        "level": "raw",
        "quality": 0.5,
        "access_count": 0,
        "created_at": now,
        "valid_until": new.valid_until,
    }


def _memory(row: Row[Any]) -> Memory:
    return Memory(
        row.id,
        row.owner,
        row.scope,
        row.kind,
        row.text,
        tuple(row.codes.split()),
        row.source,
        row.credibility,
        row.topic_key,
        json.loads(row.meta),
        row.created_at,
        row.confirmed_at,
        row.valid_until,
        row.superseded_by,
        row.archived_at,
    )
