"""What the gateway has seen of each place, for channels whose platform does not deliver again by itself."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from channels.types import Address
from gateway.inbound import conversation
from gateway.storage.db import Database
from gateway.storage.tables import Conversation, Inbox

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
PLACES = 500
OURS = (
    "sched:",
    "hook:",
    "alert:",
    "task:",
    "question:",
)  # keys of rows that the gateway itself put in: no platform knows them


class SeenPlaces:
    """See channels.base.Seen."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def places(self, channel: str, account: str) -> Sequence[tuple[Address, str]]:
        """See Seen."""
        return await self._db.read(lambda conn: _places(conn, channel, account))


class Known:
    """Whether the gateway has a conversation at an address: a thread that the bot is in."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def __call__(self, address: Address) -> bool:
        """Ask the database."""
        return await self._db.read(lambda conn: conversation.is_known(conn, address))


def _places(conn: Connection, channel: str, account: str) -> list[tuple[Address, str]]:
    newest = (
        select(_INBOX.c.conversation_id, func.max(_INBOX.c.id).label("last"))
        .where(_INBOX.c.channel == channel, _INBOX.c.account == account)
        .where(*(~_INBOX.c.key.startswith(prefix, autoescape=True) for prefix in OURS))
        .group_by(_INBOX.c.conversation_id)
        .subquery()
    )
    query = (
        select(_CONVERSATION.c.address, _INBOX.c.key)
        .join(newest, newest.c.conversation_id == _CONVERSATION.c.id)
        .join(_INBOX, _INBOX.c.id == newest.c.last)
        .order_by(newest.c.last.desc())
        .limit(PLACES)
    )
    return [(Address.parse(row.address), row.key) for row in conn.execute(query)]
