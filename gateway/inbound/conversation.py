"""Which conversation (lane) and session a message belongs to: the only place that decides it (DESIGN.md 3, table).

A conversation is a place: a private chat, a group, a topic, a thread, a web session. It points to
its current session, the transcript; `/new` moves the pointer.
"""

import datetime as dt
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, or_, select, update

from agent_core.storage.prepared import Change, Prepared, together
from agent_core.storage.statements import ensure_session
from agent_core.storage.tables import Session
from agent_core.storage.upsert import insert_into
from channels.types import Address
from gateway.storage.tables import Conversation, Inbox

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
# Statements of the hot path are prepared: building and compiling them costs more than running them.
_OF_LANE = ("id", "address", "private", "session_id", "preset", "model", "epoch", "thinking")
# What `lane_of` takes, and from where.
COLUMNS = (
    *(_CONVERSATION.c[name].label(f"lane_{name}") for name in _OF_LANE),
    _SESSION.c.owner.label("lane_owner"),
)
PLACES = _CONVERSATION.join(_SESSION, _SESSION.c.id == _CONVERSATION.c.session_id)
IDS = _CONVERSATION.c.id
_BY_ID = Prepared(select(*COLUMNS).select_from(PLACES).where(bindparam("lane") == IDS))
_RAISE = Prepared(
    update(_CONVERSATION)
    .where(_CONVERSATION.c.id == bindparam("lane"))
    .values(epoch=_CONVERSATION.c.epoch + 1)
    .returning(_CONVERSATION.c.epoch)
)
_EPOCH = Prepared(  # SQLite, which has one writer at a time, leaves the lock out
    select(_CONVERSATION.c.epoch)
    .where(_CONVERSATION.c.id == bindparam("lane"))
    .with_for_update(read=True)
)


@dataclass(frozen=True, slots=True)
class Lane:
    """A conversation as it stands. `owner` is who opened its session."""

    id: str
    address: Address
    private: bool
    session_id: str
    preset: str
    model: str
    epoch: int
    owner: str
    thinking: bool = False


def lane_id(address: Address, person: str = "") -> str:
    """The conversation of an address; with `person`, that person's own one among several at a place."""
    return f"{address}@{person}" if person else str(address)


def new_session_id() -> str:
    """A fresh session's id, not guessable."""
    return f"s{secrets.token_hex(8)}"


def find(conn: Connection, conversation_id: str) -> Lane | None:
    """The conversation, or None."""
    row = _BY_ID.execute(conn, {"lane": conversation_id}).first()
    return None if row is None else lane_of(row)


def lane_of(row: Any) -> Lane:
    """A conversation from its columns (`COLUMNS`)."""
    return Lane(
        row.lane_id,
        Address.parse(row.lane_address),
        row.lane_private,
        row.lane_session_id,
        row.lane_preset,
        row.lane_model,
        row.lane_epoch,
        row.lane_owner,
        row.lane_thinking,
    )


def is_known(conn: Connection, address: Address) -> bool:
    """Whether there is a conversation at this address, shared or of one person there."""
    apart = _CONVERSATION.c.id.startswith(lane_id(address) + "@", autoescape=True)
    query = select(_CONVERSATION.c.id).where(or_(_CONVERSATION.c.id == lane_id(address), apart))
    return conn.execute(query.limit(1)).first() is not None


def of_row(conn: Connection, row_id: int, address: Address) -> Lane | None:
    """The conversation of an inbox row (a turn's id is that of its first one), if it is at this address."""
    if not 0 < row_id < 2**63:  # a button's data is only as good as who sends it
        return None
    query = select(_INBOX.c.conversation_id).where(_INBOX.c.id == row_id)
    found = conn.execute(query).scalar()
    lane = find(conn, found) if found else None
    return lane if lane is not None and lane.address == address else None


def ensure(
    conn: Connection,
    address: Address,
    *,
    private: bool,
    owner: str,
    now: dt.datetime,
    apart: bool = False,
) -> Lane:
    """The conversation of this place, made with a first session if it is new. `apart`: the owner's own one there."""
    conversation_id = lane_id(address, owner if apart else "")
    if found := find(conn, conversation_id):
        return found
    session_id = new_session_id()
    ensure_session(conn, session_id, owner, now)
    conn.execute(
        insert_into(conn.dialect.name, _CONVERSATION).on_conflict_do_nothing(index_elements=["id"]),
        {
            "id": conversation_id,
            "address": str(address),
            "private": private,
            "session_id": session_id,
            "epoch": 0,
            "preset": "",
            "model": "",
            "created_at": now,
        },
    )
    made = find(conn, conversation_id)
    if made is None:
        raise LookupError(f"the conversation {conversation_id} cannot be made")
    if made.session_id != session_id:  # another message was first in the same moment
        conn.execute(delete(_SESSION).where(_SESSION.c.id == session_id))
    return made


def renew(conn: Connection, lane: Lane, owner: str, now: dt.datetime) -> str:
    """Point the conversation to a new session; the old transcript stays."""
    session_id = new_session_id()
    ensure_session(conn, session_id, owner, now)
    choose(conn, lane.id, session_id=session_id)
    return session_id


def choose(conn: Connection, conversation_id: str, **values: str | bool) -> None:
    """Set session_id, preset, model or thinking of a conversation."""
    conn.execute(
        update(_CONVERSATION).where(_CONVERSATION.c.id == conversation_id).values(**values)
    )


def raise_epoch(conn: Connection, conversation_id: str, changes: Sequence[Change] = ()) -> int:
    """Begin a run: every append of an earlier one is fenced from now on. `changes` are executed with it."""
    raised = _RAISE.given({"lane": conversation_id})
    epoch: int = together(conn, [*changes, raised]).one()[0]
    return epoch


def epoch_of(conn: Connection, conversation_id: str) -> int:
    """The present epoch, locked against change until this transaction ends."""
    epoch: int = _EPOCH.execute(conn, {"lane": conversation_id}).one()[0]
    return epoch
