"""Albums: messages that a person sent as one (Telegram's media groups) are one turn.

Each message of an album is an inbox row with a key of its own, committed before the platform is told: so a redelivery
of any one of them ends at its key, and a kill in between loses none. They are joined when their turn begins, a short
while after the newest of them arrived, since the platform does not say how many there are. One that comes later still
is steered into the turn, or is a turn of its own, like any message.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from channels.types import Inbound
from gateway.inbound.inbox import Item, item_of
from gateway.people.identity import person_id
from gateway.storage.tables import Inbox

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
QUIET_S = 1.0  # the parts of an album arrive within tenths of a second of each other
RECENT = 50  # rows of a bot in which an album's first part is looked for


def further(conn: Connection, item: Item) -> list[Item]:
    """The other rows of a row's album that are where it is (new, or in its turn), in order."""
    if item.album is None:
        return []
    query = (
        select(_INBOX)
        .where(
            _INBOX.c.conversation_id == item.conversation_id,
            _INBOX.c.author == item.author,
            _INBOX.c.status == item.status,
            _INBOX.c.id > item.id,
        )
        .order_by(_INBOX.c.id)
    )
    if item.turn_id is not None:
        query = query.where(_INBOX.c.turn_id == item.turn_id)
    return [found for row in conn.execute(query) if (found := item_of(row)).album == item.album]


def wait(item: Item, others: Sequence[Item], now: dt.datetime) -> float:
    """Seconds until an album may be taken for complete; 0 for anything else."""
    if item.album is None:
        return 0.0
    newest = max(row.at for row in (item, *others))
    return max(0.0, QUIET_S - (now - newest).total_seconds())


def joined(item: Item, others: Sequence[Item], before: Sequence[Item] = ()) -> Item:
    """An album as one row: the words of all, the files of all. `before` are messages that are said with it."""
    rows = (*before, item, *others)
    return replace(
        item,
        text="\n".join(row.text for row in rows if row.text),
        files=tuple(line for row in rows for line in row.files),
        attachments=tuple(file for row in rows for file in row.attachments),
    )


def continues(conn: Connection, inbound: Inbound) -> bool:
    """Whether a message belongs to an album of which an addressed part was taken in just before.

    In groups only the part with the caption names the bot.
    """
    if inbound.album is None:
        return False
    query = (
        select(_INBOX)
        .where(
            _INBOX.c.channel == inbound.address.channel,
            _INBOX.c.account == inbound.address.account,
        )
        .order_by(_INBOX.c.id.desc())
        .limit(RECENT)
    )
    author = person_id(inbound.address, inbound.author)
    rows = [item_of(row) for row in conn.execute(query)]
    return any(row.album == inbound.album and row.author == author for row in rows)
