"""Large tool results beside their rows (EVT-6). Statements; none commits."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, select

from agent_core.storage.tables import Blob, Transcript

_BLOB = Blob.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
# Tells the whole text of a tool result from other texts; what follows in a media type is a parameter of it.
RESULT_TYPE = "text/plain; kind=tool-result"
_RESULT = _BLOB.c.media_type.startswith(RESULT_TYPE, autoescape=True)
BATCH = 200  # blobs that one transaction deletes: they may be large


def result_type(credibility: str) -> str:
    """The media type of a stored result, which says how far it may be believed (CRD-2)."""
    return f'{RESULT_TYPE}; credibility="{credibility}"' if credibility else RESULT_TYPE


def load_result(conn: Connection, blob_id: str) -> bytes | None:
    """The whole of a result by the id that its row names, or None; who may read the row is the caller's matter."""
    query = select(_BLOB.c.data).where(_BLOB.c.id == blob_id, _RESULT)
    found: bytes | None = conn.execute(query).scalar()
    return found


def names_result(conn: Connection, session_id: str, prefix: str) -> bool:
    """Whether a row of this session names a stored result whose id begins with `prefix`.

    Equal bytes of one owner are stored once, so a blob may have come from another session first.
    """
    named = _TRANSCRIPT.c.meta.contains(f'"blob": "{prefix}', autoescape=True)
    query = select(_TRANSCRIPT.c.id).where(_TRANSCRIPT.c.session_id == session_id, named)
    return conn.execute(query.limit(1)).first() is not None


def results_like(conn: Connection, prefix: str, limit: int = 8) -> Sequence[Any]:
    """Stored results (session_id, name, media_type, data) whose id begins with `prefix`, of any owner."""
    query = select(_BLOB.c.session_id, _BLOB.c.name, _BLOB.c.media_type, _BLOB.c.data)
    mine = (_BLOB.c.id >= prefix, _BLOB.c.id < prefix + "g", _RESULT)
    return conn.execute(query.where(*mine).order_by(_BLOB.c.id).limit(limit)).all()


def delete_results_before(conn: Connection, before: dt.datetime, limit: int = BATCH) -> int:
    """Delete up to `limit` stored results from before a time; rows keep their previews. Returns how many."""
    old = select(_BLOB.c.id).where(_BLOB.c.created_at < before, _RESULT).limit(limit)
    ids = conn.execute(old).scalars().all()
    if ids:
        conn.execute(delete(_BLOB).where(_BLOB.c.id.in_(ids)))
    return len(ids)


def delete_results_of(conn: Connection, owner: str) -> int:
    """Delete every stored result of an owner (ARC-8). Returns how many."""
    return conn.execute(delete(_BLOB).where(_BLOB.c.owner == owner, _RESULT)).rowcount
