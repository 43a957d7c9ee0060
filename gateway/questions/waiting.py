"""Turns that wait for a person: their slot and their conversation are free, their inbox rows stay with them."""

from collections.abc import Collection, Sequence

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


class AskingLanes:
    """Conversations that may have undecided questions: a hint in memory, so that all others cost no query.

    Until `load` every conversation may have one; who has had one stays, since a wrong "no" would lose a question.
    `shared`: other processes ask as well, so every conversation always may have one.
    """

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared
        self._lanes: set[str] | None = None

    def load(self, lanes: Sequence[str]) -> None:
        """What the database says at the start."""
        if self._shared:
            return
        self._lanes = {*lanes, *(self._lanes or ())}

    def add(self, conversation_id: str) -> None:
        """A question was asked here."""
        if self._lanes is not None:
            self._lanes.add(conversation_id)

    def __contains__(self, conversation_id: object) -> bool:
        return self._lanes is None or conversation_id in self._lanes
