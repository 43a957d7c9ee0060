"""A message that says an earlier one anew, as it was or in other words (Inbound.again).

The turn of the earlier message and everything since is taken back: an undo checkpoint leaves it out of what models see,
and the transcript stays as it is. What its author had said in that turn before it is still in sight, so it is said with
the new message once more. The row names what it says anew, so all this comes out alike when a turn is gone on with.
"""

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import Connection, select

from agent_core.storage import sessions
from agent_core.storage.statements import last_seq
from agent_core.types import Checkpoint
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item, item_of
from gateway.storage.tables import Inbox

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
MOST = 50  # how many earlier versions of one message are looked at


def take_back(conn: Connection, lane: Lane, item: Item, now: dt.datetime) -> Sequence[Checkpoint]:
    """Leave out of what models see the turns of earlier versions of `item` in this session, and all that came since.

    Returns the decisions that do so.
    """
    first = first_back(conn, lane, item)
    if first is None:
        return ()
    left_out = Checkpoint("undo", first - 1, last_seq(conn, lane.session_id) + 1)
    sessions.add_checkpoint(conn, lane.session_id, left_out, now)
    return (left_out,)


def first_back(conn: Connection, lane: Lane, item: Item) -> int | None:
    """The first row of the session that `take_back` leaves out; None where there is nothing to take back."""
    turns = [version.turn_id for version in _versions(conn, lane, item) if version.turn_id]
    return sessions.first_seq(conn, lane.session_id, turns) if turns else None


def before(conn: Connection, lane: Lane, item: Item) -> list[Item]:
    """What was said in the turns of earlier versions of `item` before each of them, oldest first."""
    found: list[Item] = []
    for version in reversed(_versions(conn, lane, item)):
        query = select(_INBOX).where(_INBOX.c.turn_id == version.turn_id, _INBOX.c.id < version.id)
        if version.turn_id:
            found += [item_of(row) for row in conn.execute(query.order_by(_INBOX.c.id))]
    return found


def _versions(conn: Connection, lane: Lane, item: Item) -> list[Item]:
    """The earlier versions of a message, the newest first: only those of its author, at its place."""
    found: list[Item] = []
    while item.again is not None and len(found) < MOST:
        query = select(_INBOX).where(
            _INBOX.c.channel == lane.address.channel,
            _INBOX.c.account == lane.address.account,
            _INBOX.c.key == item.again,
            _INBOX.c.conversation_id == lane.id,
            _INBOX.c.author == item.author,
            _INBOX.c.id < item.id,
        )
        row = conn.execute(query).first()
        if row is None:
            break
        item = item_of(row)
        found.append(item)
    return found
