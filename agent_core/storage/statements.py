"""Statements on the agent core's tables.

Each takes a connection inside a transaction and never commits.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from agent_core.ports import NewBlob
from agent_core.storage.prepared import Change, Prepared
from agent_core.storage.tables import Blob, Session, Transcript, Turn, UsageRow
from agent_core.storage.upsert import insert_into
from agent_core.types import NewRow, Row, RowKind, TurnStatus, Usage, decode, encode

_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
_BLOB = Blob.__table__  # type: ignore[attr-defined]

# Statements of the hot path are prepared: building and compiling them costs more than running them.
_LOAD = (
    select(
        _TRANSCRIPT.c.seq,
        _TRANSCRIPT.c.turn_id,
        _TRANSCRIPT.c.kind,
        _TRANSCRIPT.c.ref,
        _TRANSCRIPT.c.body,
        _TRANSCRIPT.c.meta,
        _TRANSCRIPT.c.at,
    )
    .where(_TRANSCRIPT.c.session_id == bindparam("session"), _TRANSCRIPT.c.seq > bindparam("after"))
    .order_by(_TRANSCRIPT.c.seq)
)
_LOAD_ALL = Prepared(_LOAD)
_LOAD_UNTIL = Prepared(_LOAD.where(_TRANSCRIPT.c.seq <= bindparam("until")))
_APPEND = Prepared(insert(_TRANSCRIPT))
_ADD_USAGE = Prepared(insert(_USAGE))
_OPEN_TURN = Prepared(insert(_TURN))
_CLOSE_TURN = Prepared(
    update(_TURN)
    .where(_TURN.c.id == bindparam("turn"))
    .values(
        status=bindparam("new_status"),
        ended_at=bindparam("ended", type_=_TURN.c.ended_at.type),
        error_id=bindparam("error"),
    )
)


def ensure_session(
    conn: Connection,
    session_id: str,
    owner: str,
    now: dt.datetime,
    *,
    parent: str | None = None,
    agent: str | None = None,
) -> None:
    """Create the session if it is not there yet."""
    values = {
        "id": session_id,
        "owner": owner,
        "parent": parent,
        "agent": agent,
        "title": "",
        "created_at": now,
    }
    conn.execute(
        insert_into(conn.dialect.name, _SESSION).on_conflict_do_nothing(index_elements=["id"]),
        values,
    )


def has_session(conn: Connection, session_id: str) -> bool:
    """Whether there is such a session."""
    query = select(_SESSION.c.id).where(_SESSION.c.id == session_id)
    return conn.execute(query).first() is not None


def load_rows(
    conn: Connection, session_id: str, after: int = 0, *, until: int | None = None
) -> list[Row]:
    """The rows of a session with a `seq` above `after` (and up to `until`), in order."""
    wanted = {"session": session_id, "after": after}
    bound = {} if until is None else {"until": until}
    found = (_LOAD_UNTIL if bound else _LOAD_ALL).execute(conn, wanted | bound)
    return [
        Row(r.seq, r.turn_id, RowKind(r.kind), decode(r.body), r.ref, r.at, json.loads(r.meta))
        for r in found
    ]


def last_seq(conn: Connection, session_id: str) -> int:
    """The highest `seq` of a session, 0 for none."""
    query = select(func.max(_TRANSCRIPT.c.seq)).where(_TRANSCRIPT.c.session_id == session_id)
    return conn.execute(query).scalar() or 0


def append_rows(
    conn: Connection,
    session_id: str,
    turn_id: int,
    after: int,
    rows: Sequence[NewRow],
    now: dt.datetime,
) -> list[Row]:
    """Append rows as `after` + 1 and on.

    An IntegrityError says that somebody else appended first.
    """
    added = numbered(turn_id, after, rows, now)
    if added:
        _APPEND.execute(conn, [_values(session_id, row) for row in added])
    return added


def numbered(turn_id: int, after: int, rows: Sequence[NewRow], now: dt.datetime) -> list[Row]:
    """Rows as they are once they are appended as `after` + 1 and on."""
    return [
        Row(after + i, turn_id, row.kind, row.message, row.ref, now, row.meta)
        for i, row in enumerate(rows, 1)
    ]


def appending(session_id: str, row: Row) -> Change:
    """`append_rows` of one row, to be executed with other changes."""
    return _APPEND.given(_values(session_id, row))


def _values(session_id: str, row: Row) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "seq": row.seq,
        "turn_id": row.turn_id,
        "kind": row.kind.value,
        "ref": row.ref,
        "body": encode(row.message),
        "meta": json.dumps(row.meta, ensure_ascii=False) if row.meta else "{}",
        "at": row.at,
    }


def add_usage(
    conn: Connection,
    *,
    turn_id: int,
    session_id: str,
    owner: str,
    model: str,
    usage: Usage,
    now: dt.datetime,
) -> None:
    """Record one paid model call."""
    _ADD_USAGE.execute(
        conn,
        {
            "turn_id": turn_id,
            "session_id": session_id,
            "owner": owner,
            "model": model,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "usd": usage.usd,
            "cache_write_1h_tokens": usage.cache_write_1h_tokens,
            "usd_uncached": usage.usd_uncached,
            "at": now,
        },
    )


def blob_id(owner: str, data: bytes) -> str:
    """The id of a blob: equal bytes of one owner are stored once, and never shared between owners."""
    return hashlib.sha256(owner.encode() + b"\0" + data).hexdigest()


def add_blob(
    conn: Connection, *, owner: str, session_id: str, blob: NewBlob, now: dt.datetime
) -> None:
    """Store bytes, once."""
    values = {
        "id": blob.id,
        "owner": owner,
        "session_id": session_id,
        "name": blob.name,
        "media_type": blob.media_type,
        "data": blob.data,
        "created_at": now,
    }
    conn.execute(
        insert_into(conn.dialect.name, _BLOB).on_conflict_do_nothing(index_elements=["id"]), values
    )


def load_blob(conn: Connection, owner: str, wanted: str) -> tuple[bytes, str, str] | None:
    """Data, media type and name of a blob of this owner, or None."""
    query = select(_BLOB.c.data, _BLOB.c.media_type, _BLOB.c.name)
    row = conn.execute(query.where(_BLOB.c.id == wanted, _BLOB.c.owner == owner)).first()
    return None if row is None else (row.data, row.media_type, row.name)


def opening_turn(
    *,
    turn_id: int,
    session_id: str,
    principal: str,
    preset: str,
    horizon: int,
    now: dt.datetime,
    digest: str = "",
) -> Change:
    """A turn begins; inbox rows up to `horizon` are backlog and never steered into it. To be executed with others."""
    return _OPEN_TURN.given(
        {
            "id": turn_id,
            "session_id": session_id,
            "principal": principal,
            "status": TurnStatus.RUNNING.value,
            "preset": preset,
            "digest": digest,
            "horizon": horizon,
            "error_id": None,
            "started_at": now,
            "ended_at": None,
        },
    )


def close_turn(
    conn: Connection, turn_id: int, status: TurnStatus, now: dt.datetime, error_id: str | None
) -> None:
    """A turn ends."""
    values = {"turn": turn_id, "new_status": status.value, "ended": now, "error": error_id}
    _CLOSE_TURN.execute(conn, values)
