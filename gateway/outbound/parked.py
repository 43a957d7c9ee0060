"""Replies that a platform refused for good: parked with the reason, listed for operators.

They are sent again when an operator says so.
"""

import json
from typing import Any

from sqlalchemy import Connection, func, select, update

from gateway.outbound.replicas import tell_of_one_more
from gateway.storage.replica import NOBODY
from gateway.storage.tables import Outbox, OutboxStatus

_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_NAMES = {status.value: status.name.lower() for status in OutboxStatus}


def count(conn: Connection) -> int:
    """How many replies are parked."""
    query = select(func.count()).where(_OUTBOX.c.status == OutboxStatus.PARKED)
    return conn.execute(query).scalar_one()


def listing(conn: Connection, *, everything: bool = False) -> list[dict[str, Any]]:
    """Parked replies, oldest first; `everything`: also those that are still on their way."""
    states = [OutboxStatus.PARKED]
    if everything:
        states += [OutboxStatus.OPEN, OutboxStatus.READY]
    query = select(_OUTBOX).where(_OUTBOX.c.status.in_(states)).order_by(_OUTBOX.c.id)
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
        for row in conn.execute(query)
    ]


def release(conn: Connection, row_id: int) -> bool:
    """Make a parked reply ready to go again, from the part that failed; false when it is not parked."""
    done = conn.execute(
        update(_OUTBOX)
        .where(_OUTBOX.c.id == row_id, _OUTBOX.c.status == OutboxStatus.PARKED)
        .values(status=int(OutboxStatus.READY), error="", attempts=0, replica=NOBODY)
        .returning(_OUTBOX.c.id)
    ).first()
    if done is not None:
        tell_of_one_more(conn)
    return done is not None
