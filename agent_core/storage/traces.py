"""Traces of turns: events written beside the rows, read by turn, deleted by age or owner. Statements; none commits."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from agent_core.storage.prepared import Prepared
from agent_core.storage.tables import Trace, Turn

_TRACE = Trace.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_ADD = Prepared(insert(_TRACE))
BATCH = 2_000  # rows that one transaction deletes, so that no message waits for it


@dataclass(frozen=True, slots=True)
class Noted:
    """An event before it is stored. `fields` are JSON."""

    event: str
    fields: dict[str, Any]
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """A stored event."""

    id: int
    turn_id: int
    session_id: str
    owner: str
    event: str
    fields: dict[str, Any]
    at: dt.datetime


def add_traces(
    conn: Connection, *, turn_id: int, session_id: str, owner: str, events: Sequence[Noted]
) -> None:
    """Store events in their order, in one statement."""
    if events:
        values = [
            {
                "turn_id": turn_id,
                "session_id": session_id,
                "owner": owner,
                "event": noted.event,
                "body": json.dumps(
                    noted.fields, ensure_ascii=False, separators=(",", ":"), default=str
                ),
                "at": noted.at,
            }
            for noted in events
        ]
        _ADD.execute(conn, values)


def traces_of_turn(conn: Connection, turn_id: int) -> list[TraceEvent]:
    """The events of a turn, those of its sub-agents among them, in the order in which they were stored."""
    query = select(_TRACE).where(_TRACE.c.turn_id == turn_id).order_by(_TRACE.c.id)
    return [
        TraceEvent(
            row.id, row.turn_id, row.session_id, row.owner, row.event, json.loads(row.body), row.at
        )
        for row in conn.execute(query)
    ]


def traces_of_session(conn: Connection, session_id: str) -> Iterator[TraceEvent]:
    """The events of a session's turns, oldest turn first."""
    query = select(_TURN.c.id).where(_TURN.c.session_id == session_id).order_by(_TURN.c.id)
    for turn_id in conn.execute(query).scalars().all():
        yield from traces_of_turn(conn, turn_id)


def delete_traces_before(conn: Connection, before: dt.datetime, limit: int = BATCH) -> int:
    """Delete up to `limit` of the oldest events, if they are older than `before`. Returns how many; 0: none are left.

    Events are walked in the order of their ids, which is that of their times: no index of times is kept for it.
    """
    query = select(_TRACE.c.id, _TRACE.c.at).order_by(_TRACE.c.id).limit(limit)
    old = [row.id for row in takewhile(lambda row: row.at < before, conn.execute(query).all())]
    if old:
        conn.execute(delete(_TRACE).where(_TRACE.c.id >= old[0], _TRACE.c.id <= old[-1]))
    return len(old)


def delete_traces_of(conn: Connection, owner: str) -> int:
    """Delete every event of an owner (ARC-8). Returns how many."""
    return conn.execute(delete(_TRACE).where(_TRACE.c.owner == owner)).rowcount
