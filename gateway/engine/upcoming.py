"""What comes next in a conversation, with all that its begin asks for, read at once.

Between two processes and their database each statement is a journey; within a transaction what is read is read once.
"""

from functools import cached_property
from typing import Any

from sqlalchemy import Connection, func, select

from agent_core.storage.prepared import Prepared
from agent_core.storage.sessions import load_checkpoints
from agent_core.storage.tables import Checkpoint as CheckpointRow
from agent_core.storage.tables import Transcript
from agent_core.types import Checkpoint
from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.people import identity
from gateway.questions import questions, waiting

_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_CHECKPOINT = CheckpointRow.__table__  # type: ignore[attr-defined]
_NEXT = inbox.NEXT.subquery("next")
_PLACES = conversation.PLACES
_SESSION_ID = _PLACES.c.conversation_session_id
_LAST = select(func.max(_TRANSCRIPT.c.seq)).where(_TRANSCRIPT.c.session_id == _SESSION_ID)
_DECIDED = select(_CHECKPOINT.c.id).where(_CHECKPOINT.c.session_id == _SESSION_ID).exists()
_UPCOMING = Prepared(
    select(
        _NEXT,
        *conversation.COLUMNS,
        *identity.COLUMNS,
        inbox.NEWEST.scalar_subquery().label("newest"),
        waiting.TURN.scalar_subquery().label("waits"),
        _LAST.scalar_subquery().label("last_seq"),
        _DECIDED.label("decided"),
    ).select_from(
        identity.with_person(
            _NEXT.join(_PLACES, _NEXT.c.conversation_id == conversation.IDS), _NEXT.c.author
        )
    )
)


class Upcoming:
    """The next open row of a conversation, as this transaction sees it. Not to be used in another one."""

    def __init__(self, conn: Connection, conversation_id: str) -> None:
        self._conn = conn
        self._conversation_id = conversation_id

    @cached_property
    def _row(self) -> Any:
        return _UPCOMING.execute(self._conn, {"lane": self._conversation_id}).first()

    @cached_property
    def item(self) -> Item | None:
        """The row to do next: the first of an open turn, else the oldest new one. None when nothing is open."""
        return None if self._row is None else inbox.item_of(self._row)

    @cached_property
    def lane(self) -> Lane | None:
        """The conversation; None when nothing is open."""
        return None if self._row is None else conversation.lane_of(self._row)

    @property
    def newest(self) -> int:
        """The highest id of an open row: rows up to it are backlog of a turn that begins now. 0 for none."""
        return 0 if self._row is None else self._row.newest

    @property
    def waits(self) -> int | None:
        """The turn that waits for a person, or None."""
        return None if self._row is None else self._row.waits

    @property
    def last_seq(self) -> int:
        """The highest `seq` of the conversation's session, 0 for none."""
        return 0 if self._row is None else self._row.last_seq or 0

    @cached_property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints of the conversation's session, oldest first."""
        if self.lane is None or not self._row.decided:
            return ()
        return load_checkpoints(self._conn, self.lane.session_id)

    def person(self, author: str) -> identity.Known:
        """What is stored about somebody who wrote."""
        if self._row is not None and author == self._row.author:
            return identity.known_of(self._row, author)
        return identity.known(self._conn, author)


def hold(conn: Connection, conversation_id: str) -> Upcoming:
    """The same, with the conversation's row taken until the transaction ends: nobody else begins what comes next."""
    questions.hold(conn, conversation_id)
    return Upcoming(conn, conversation_id)
