"""Turns that wait for a person: their slot and their conversation are free, their inbox rows stay with them."""

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, select, update

from agent_core.storage.prepared import Prepared
from agent_core.storage.tables import Turn
from agent_core.types import TurnStatus
from gateway.storage.tables import Inbox, InboxStatus, Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
# The turn of the conversation `lane` that waits for a person.
TURN = (
    select(_QUESTION.c.turn_id)
    .join(_TURN, _TURN.c.id == _QUESTION.c.turn_id)
    .where(
        _QUESTION.c.conversation_id == bindparam("lane"),
        _QUESTION.c.status == "open",
        _TURN.c.status == TurnStatus.WAITING.value,
    )
    .limit(1)
)
_TURN_OF = Prepared(TURN)


def resume(conn: Connection, turn_id: int, status: str = TurnStatus.RUNNING.value) -> bool:
    """Let a waiting turn go on; false when it does not wait (yet): then it looks at the answer before it would."""
    waits = (_TURN.c.id == turn_id, _TURN.c.status == TurnStatus.WAITING.value)
    found = conn.execute(update(_TURN).where(*waits).values(status=status).returning(_TURN.c.id))
    if found.first() is None:
        return False
    mine = (_INBOX.c.turn_id == turn_id, _INBOX.c.status == InboxStatus.WAITING)
    conn.execute(update(_INBOX).where(*mine).values(status=int(InboxStatus.IN_TURN)))
    return True


def wait(conn: Connection, turn_id: int, asked: Collection[int]) -> bool:
    """Leave a turn to the person; false when one of its questions has been decided meanwhile."""
    if not asked:
        return False
    statuses = set(
        conn.execute(select(_QUESTION.c.status).where(_QUESTION.c.id.in_(asked))).scalars()
    )
    if statuses != {"open"}:
        return False
    runs = (_TURN.c.id == turn_id, _TURN.c.status == TurnStatus.RUNNING.value)
    marked = update(_TURN).where(*runs).values(status=TurnStatus.WAITING.value)
    if conn.execute(marked.returning(_TURN.c.id)).first() is None:
        return False  # a person has asked to stop it: that comes first
    mine = (_INBOX.c.turn_id == turn_id, _INBOX.c.status == InboxStatus.IN_TURN)
    values = {"status": int(InboxStatus.WAITING), "attempts": 0}  # no restart has broken it so far
    conn.execute(update(_INBOX).where(*mine).values(values))
    return True


def turn_of(conn: Connection, conversation_id: str) -> int | None:
    """The turn of a conversation that waits for a person, or None."""
    found: int | None = _TURN_OF.execute(conn, {"lane": conversation_id}).scalar()
    return found
