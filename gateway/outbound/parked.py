"""Replies that a platform refused for good: parked with the reason, listed for operators.

They are sent again when an operator says so.
"""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select, update

from gateway.outbound.replicas import tell_of_one_more
from gateway.storage.replica import NOBODY
from gateway.storage.tables import Outbox, OutboxStatus

_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_NAMES = {status.value: status.name.lower() for status in OutboxStatus}
_PARKED = _OUTBOX.c.status == OutboxStatus.PARKED


@dataclass(frozen=True, slots=True)
class Filter:
    """Which replies; what is left out leaves none out.

    `channel` is how a place begins: a platform, one of its bots, or one chat (telegram, telegram:777, telegram:777:1).
    `cause`: words of the platform's reason, in either case. `since` (included) and `before`: when the reply was
    stored. `row`: that one alone; `upto`: the newest one.
    """

    channel: str = ""
    cause: str = ""
    since: dt.datetime | None = None
    before: dt.datetime | None = None
    row: int | None = None
    upto: int | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """For a query."""
        found: list[ColumnElement[bool]] = []
        if self.channel:
            below = _OUTBOX.c.lane.startswith(f"{self.channel}:", autoescape=True)
            found.append(or_(_OUTBOX.c.lane == self.channel, below))
        if self.cause:
            found.append(_OUTBOX.c.error.icontains(self.cause, autoescape=True))
        if self.since is not None:
            found.append(_OUTBOX.c.at >= self.since)
        if self.before is not None:
            found.append(_OUTBOX.c.at < self.before)
        if self.row is not None:
            found.append(_OUTBOX.c.id == self.row)
        if self.upto is not None:
            found.append(_OUTBOX.c.id <= self.upto)
        return found


ALL = Filter()


def count(conn: Connection) -> int:
    """How many replies are parked."""
    return extent(conn, ALL)[0]


def extent(conn: Connection, which: Filter) -> tuple[int, int]:
    """How many parked replies these are, and the newest one (0 for none)."""
    query = select(func.count(), func.max(_OUTBOX.c.id)).where(_PARKED, *which.conditions())
    many, newest = conn.execute(query).one()
    return many, newest or 0


def listing(
    conn: Connection, which: Filter = ALL, *, everything: bool = False
) -> list[dict[str, Any]]:
    """Parked replies, oldest first; `everything`: also those that are still on their way."""
    states = [OutboxStatus.PARKED]
    if everything:
        states += [OutboxStatus.OPEN, OutboxStatus.READY]
    query = select(_OUTBOX).where(_OUTBOX.c.status.in_(states), *which.conditions())
    return [
        {
            "id": row.id,
            "status": _NAMES[row.status],
            "place": row.lane,
            "owner": row.owner,
            "at": row.at,
            "error": row.error,
            "parts_shown": len(json.loads(row.ids)),
            "text": json.loads(row.body)["text"],
        }
        for row in conn.execute(query.order_by(_OUTBOX.c.id))
    ]


def release(conn: Connection, which: Filter) -> list[int]:
    """Make parked replies ready to go again, from the part that failed; their ids as each place gets them."""
    values = {"status": int(OutboxStatus.READY), "error": "", "attempts": 0, "replica": NOBODY}
    statement = update(_OUTBOX).where(_PARKED, *which.conditions()).values(values)
    done = sorted(conn.execute(statement.returning(_OUTBOX.c.id)).scalars())
    if done:
        tell_of_one_more(conn)
    return done
