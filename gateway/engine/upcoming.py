"""What comes next in a conversation. Within a transaction each part is read once, however many ask for it."""

from functools import cached_property

from sqlalchemy import Connection

from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.people import identity
from gateway.questions import questions


class Upcoming:
    """The next open row of a conversation, as this transaction sees it. Not to be used in another one."""

    def __init__(self, conn: Connection, conversation_id: str) -> None:
        self._conn = conn
        self._conversation_id = conversation_id
        self._people: dict[str, identity.Known] = {}

    @cached_property
    def item(self) -> Item | None:
        """The row to do next; None when nothing is open."""
        return inbox.next_open(self._conn, self._conversation_id)

    @cached_property
    def lane(self) -> Lane | None:
        """The conversation."""
        return conversation.find(self._conn, self._conversation_id)

    def person(self, author: str) -> identity.Known:
        """What is stored about somebody who wrote."""
        if author not in self._people:
            self._people[author] = identity.known(self._conn, author)
        return self._people[author]


def hold(conn: Connection, conversation_id: str) -> Upcoming:
    """The same, with the conversation's row taken until the transaction ends: nobody else begins what comes next."""
    questions.hold(conn, conversation_id)
    return Upcoming(conn, conversation_id)
