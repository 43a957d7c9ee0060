"""The sessions of a place: list them, go back to one, fork, take the last turn back, try it again.

A session belongs to the place whose conversation ran its turns; only there it can be listed and resumed, so that
nobody reaches into another chat by an id. Nothing is deleted: /undo adds a checkpoint, /fork copies (immutable) rows.
"""

import datetime as dt
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select

from agent_core.storage import sessions
from agent_core.storage.sessions import LastTurn
from agent_core.storage.statements import last_seq
from agent_core.storage.tables import Session, Turn
from agent_core.types import Block, Checkpoint, Context, TurnStatus
from gateway.inbound import conversation
from gateway.inbound.conversation import Lane
from gateway.storage.tables import Inbox

_SESSION = Session.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
SHORT = 7  # characters of an id that people see and type; a longer prefix works as well
LISTED = 20
_ENDED = frozenset({TurnStatus.DONE.value, TurnStatus.STOPPED.value, TurnStatus.FAILED.value})


@dataclass(frozen=True, slots=True)
class Entry:
    """A session of a place. `last_at` is when its newest turn began, or when it was made; `owner` opened it."""

    id: str
    title: str
    last_at: dt.datetime
    current: bool
    owner: str

    @property
    def short(self) -> str:
        """The id as people see it."""
        return self.id[:SHORT]


class Retaken(NamedTuple):
    """What a person had said in the turn that was taken back, and the decisions that leave it out; empty for none."""

    blocks: tuple[Block, ...] = ()
    left_out: tuple[Checkpoint, ...] = ()


def of_place(conn: Connection, lane: Lane) -> list[Entry]:
    """The sessions that had a turn in this conversation, and the current one; newest first."""
    last = (
        select(_TURN.c.session_id, func.max(_TURN.c.started_at).label("last_at"))
        .join(_INBOX, _INBOX.c.id == _TURN.c.id)
        .where(_INBOX.c.conversation_id == lane.id)
        .group_by(_TURN.c.session_id)
        .subquery()
    )
    query = (
        select(
            _SESSION.c.id,
            _SESSION.c.title,
            _SESSION.c.owner,
            _SESSION.c.created_at,
            last.c.last_at,
        )
        .outerjoin(last, last.c.session_id == _SESSION.c.id)
        .where(or_(last.c.session_id.is_not(None), _SESSION.c.id == lane.session_id))
    )
    found = [
        Entry(
            row.id,
            row.title,
            row.last_at or row.created_at,
            row.id == lane.session_id,
            row.owner,
        )
        for row in conn.execute(query)
    ]
    return sorted(found, key=lambda entry: (entry.last_at, entry.current), reverse=True)


def resume(conn: Connection, lane: Lane, wanted: str) -> Entry | None:
    """Point the conversation to one of its sessions, named by its id or the beginning of it; None when none fits."""
    fitting = [entry for entry in of_place(conn, lane) if entry.id.startswith(wanted)]
    if not wanted or len(fitting) != 1:
        return None
    conversation.choose(conn, lane.id, session_id=fitting[0].id)
    return fitting[0]


def fork(conn: Connection, lane: Lane, owner: str, now: dt.datetime) -> str | None:
    """Go on in a copy of the current session; what follows leaves the old one as it is.

    Returns the new id, None when there is nothing to copy. An abandoned fork in which nothing was said is not listed.
    """
    if last_seq(conn, lane.session_id) == 0:
        return None
    session_id = conversation.new_session_id()
    sessions.fork(conn, lane.session_id, session_id, owner, now)
    conversation.choose(conn, lane.id, session_id=session_id)
    return session_id


def undoable(conn: Connection, lane: Lane) -> LastTurn | None:
    """The last turn of the current session, if it has ended; one that waits for a person is still going on."""
    turn = sessions.last_turn(conn, lane.session_id)
    if turn is None:
        return None
    status = conn.execute(select(_TURN.c.status).where(_TURN.c.id == turn.turn_id)).scalar()
    return turn if status is None or status in _ENDED else None


def undo(conn: Connection, lane: Lane, now: dt.datetime) -> str | None:
    """Leave the last turn out of what models see. Returns the words it began with, None when there is none."""
    turn = undoable(conn, lane)
    if turn is None:
        return None
    rows = sessions.said(conn, lane.session_id, turn)
    left_out = Checkpoint("undo", turn.after, turn.until)
    sessions.add_checkpoint(conn, lane.session_id, left_out, now)
    return rows[0].message.text if rows else ""


def retaken(conn: Connection, lane: Lane, now: dt.datetime) -> Retaken:
    """Take the last turn back, so that what the person had said in it can be said again."""
    turn = undoable(conn, lane)
    if turn is None:
        return Retaken()
    rows = sessions.said(conn, lane.session_id, turn)
    blocks = tuple(b for row in rows for b in row.message.blocks if not isinstance(b, Context))
    if not blocks:
        return Retaken()
    left_out = Checkpoint("undo", turn.after, turn.until)
    sessions.add_checkpoint(conn, lane.session_id, left_out, now)
    return Retaken(blocks, (left_out,))
