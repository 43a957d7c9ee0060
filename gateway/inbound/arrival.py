"""What is stored about who writes, and where: read at once, before a message is judged and put in."""

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, literal, select, true

from agent_core.storage.prepared import Prepared
from gateway.inbound import conversation
from gateway.inbound.conversation import Lane
from gateway.people import access
from gateway.people.access import Standing
from gateway.questions import questions

_ONE = select(literal(1).label("one")).subquery()
_PLACES = select(*conversation.COLUMNS).select_from(conversation.PLACES)
_LANE = _PLACES.where(bindparam("lane") == conversation.IDS).subquery("place")
_ARRIVAL = Prepared(
    select(*access.COLUMNS, *_LANE.c, questions.IS_ASKED.label("asked")).select_from(
        access.with_standing(_ONE, bindparam("person")).outerjoin(_LANE, true())
    )
)


class Arrival(NamedTuple):
    """`standing` of a person who is known, `lane` where there is one already; `asked`: it has open questions."""

    standing: Standing | None
    lane: Lane | None
    asked: bool


def arrival(conn: Connection, person: str, conversation_id: str) -> Arrival:
    """A person in a conversation, as this transaction sees them."""
    row = _ARRIVAL.execute(conn, {"person": person, "lane": conversation_id}).one()
    lane = None if row.lane_id is None else conversation.lane_of(row)
    return Arrival(access.standing_of(row), lane, bool(row.asked))
