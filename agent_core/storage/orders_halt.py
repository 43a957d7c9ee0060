"""The kill switch as a row. Statements; none commits. Whoever orders or trades locks the row first (`hold`).

So an order is either stored before the switch was thrown, and then cancelled by it, or it finds the switch thrown.
"""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from agent_core.storage.tables_orders import TradingHalt
from agent_core.storage.upsert import insert_into

_HALT = TradingHalt.__table__  # type: ignore[attr-defined]
_ROW = 1
_BEGINNING = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Halt:
    """How the switch stands, who threw it last, and why."""

    halted: bool = False
    by: str = ""
    reason: str = ""
    at: dt.datetime = _BEGINNING


def hold(conn: Connection) -> Halt:
    """How the switch stands; it stays so until this transaction ends. SQLite has one writer anyway."""
    blank = {"id": _ROW, "halted": False, "owner": "", "reason": "", "at": _BEGINNING}
    insert = insert_into(conn.dialect.name, _HALT).values(**blank)
    conn.execute(insert.on_conflict_do_nothing(index_elements=["id"]))
    row = conn.execute(select(_HALT).where(_HALT.c.id == _ROW).with_for_update()).one()
    return Halt(row.halted, row.owner, row.reason, row.at)


def read(conn: Connection) -> Halt:
    """How the switch stands now."""
    row = conn.execute(select(_HALT).where(_HALT.c.id == _ROW)).first()
    return Halt() if row is None else Halt(row.halted, row.owner, row.reason, row.at)


def throw(conn: Connection, *, halted: bool, by: str, reason: str, at: dt.datetime) -> None:
    """Set the switch; the caller holds it."""
    values = {"halted": halted, "owner": by, "reason": reason, "at": at}
    conn.execute(update(_HALT).where(_HALT.c.id == _ROW).values(**values))


def erase(conn: Connection, owners: Collection[str], nobody: str) -> None:
    """Forget who threw the switch; it stays as it is."""
    mine = update(_HALT).where(_HALT.c.owner.in_(owners))
    conn.execute(mine.values(owner=nobody, reason=""))
