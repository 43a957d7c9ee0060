"""Replies among replicas: each is sent by the one that stored it; of a dead one, by another. PostgreSQL alone.

A place keeps its order: a reply waits while an earlier one of another replica is ready to go there.
"""

from collections.abc import Collection
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select, update

from gateway.storage import replica
from gateway.storage.tables import Outbox, OutboxStatus

_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_READY = _OUTBOX.c.status == int(OutboxStatus.READY)
ROLE = "outbox"  # of who takes up what dead replicas left


class Standing(Enum):
    """How a reply stands before it is sent."""

    NEXT = "next"
    BEHIND = "behind"  # an earlier one is to be sent there first
    GONE = "gone"  # sent already, or another replica has taken it up, for this one seemed dead


def standing(conn: Connection, row_id: int, kept: Collection[int]) -> Standing:
    """Whether this process may send a reply now. `kept` are rows that it cannot send, and that hold up no other."""
    earlier = _OUTBOX.alias()
    before = and_(
        earlier.c.lane == _OUTBOX.c.lane,
        earlier.c.status == int(OutboxStatus.READY),
        earlier.c.id < _OUTBOX.c.id,
        earlier.c.id.not_in(kept),
    )
    query = select(_OUTBOX.c.replica, exists().where(before).correlate(_OUTBOX))
    row = conn.execute(query.where(_OUTBOX.c.id == row_id, _READY)).first()
    if row is None or row[0] != replica.mine(conn):
        return Standing.GONE
    return Standing.BEHIND if row[1] else Standing.NEXT


def own_before(conn: Connection, lane: str, row_id: int) -> list[Any]:
    """This process's own ready replies to a place before that row, in order."""
    own = (_OUTBOX.c.lane == lane, _READY, _OUTBOX.c.replica == replica.mine(conn))
    query = select(_OUTBOX).where(*own, _OUTBOX.c.id < row_id).order_by(_OUTBOX.c.id)
    return list(conn.execute(query))


def others_wait(conn: Connection, lane: str) -> bool:
    """Whether a reply of another replica is ready to go to this place."""
    theirs = (_OUTBOX.c.lane == lane, _READY, _OUTBOX.c.replica != replica.mine(conn))
    return bool(conn.execute(select(exists().where(*theirs))).scalar())


def take_over(conn: Connection) -> list[Any]:
    """Make the ready replies of dead replicas and of nobody this process's own; in order."""
    living = replica.alive(conn) | {replica.mine(conn)}
    return _take(conn, _OUTBOX.c.replica.not_in(living))


def take_released(conn: Connection) -> list[Any]:
    """Make the ready replies of nobody, which operators have released, this process's own; in order."""
    return _take(conn, _OUTBOX.c.replica == replica.NOBODY)


def _take(conn: Connection, left: ColumnElement[bool]) -> list[Any]:
    mine = {"replica": replica.mine(conn)}
    taken = conn.execute(update(_OUTBOX).where(_READY, left).values(mine).returning(_OUTBOX))
    return sorted(taken, key=lambda row: row.id)


def tell_of_one_more(conn: Connection) -> None:
    """Wake who takes up what is nobody's, once this is committed. Nothing where there are no replicas."""
    if conn.dialect.name == "postgresql":
        conn.execute(select(func.pg_notify("swarmgate", f"role-wake:{ROLE}")))
