"""Where operators are told something: in their private conversations with the bot."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.storage.tables import Session
from channels.types import Address
from gateway.people import identity
from gateway.people.identity import Language
from gateway.storage.tables import Conversation

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_OWN = ("web", "terminal")  # where nobody may look: a page that is closed, a window


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operator is told something."""

    person: str
    address: Address
    language: Language


def places(conn: Connection, operators: Sequence[str], setting: str) -> list[Place]:
    """The private conversations of the operators who have one: each one's newest, on a platform before others."""
    query = (
        select(_SESSION.c.owner, _CONVERSATION.c.address)
        .join(_SESSION, _SESSION.c.id == _CONVERSATION.c.session_id)
        .where(_CONVERSATION.c.private, _SESSION.c.owner.in_(list(operators)))
        .order_by(_CONVERSATION.c.created_at)
    )
    found: dict[str, Address] = {}
    for row in conn.execute(query):
        address = Address.parse(row.address)
        if row.owner not in found or address.channel not in _OWN:
            found[row.owner] = address
    return [
        Place(person, address, _language(conn, person, setting))
        for person, address in found.items()
    ]


def _language(conn: Connection, person: str, setting: str) -> Language:
    own = identity.known(conn, person).language or setting
    return "zh" if own == "zh" else "en"
