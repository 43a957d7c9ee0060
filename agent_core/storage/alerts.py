"""Alerts of all persons, as whoever watches them sees them. Statements; none commits.

Adding and removing one's own is a matter of portfolio.py.
"""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from agent_core.book import Alert
from agent_core.storage.tables_memory import Alert as AlertRow

_ALERT = AlertRow.__table__  # type: ignore[attr-defined]
OPEN = ("pending", "fired")
_OPEN = (_ALERT.c.state.in_(OPEN), _ALERT.c.symbol != "")


@dataclass(frozen=True, slots=True)
class Owned:
    """An alert and whose it is."""

    owner: str
    alert: Alert


def every(conn: Connection) -> list[Owned]:
    """All alerts on a symbol that are not over, by symbol and id."""
    query = select(_ALERT).where(*_OPEN).order_by(_ALERT.c.symbol, _ALERT.c.id)
    return [Owned(row.owner, _alert(row)) for row in conn.execute(query)]


def of_place(conn: Connection, owner: str, conversation_id: str) -> Sequence[Alert]:
    """A person's own ones of one conversation that are not over, in the order in which they were made."""
    mine = (_ALERT.c.owner == owner, _ALERT.c.conversation_id == conversation_id)
    rows = conn.execute(select(_ALERT).where(*_OPEN, *mine).order_by(_ALERT.c.id))
    return [_alert(row) for row in rows]


def count(conn: Connection, owner: str) -> int:
    """How many alerts of a person are not over, wherever they were made."""
    query = select(func.count()).where(*_OPEN, _ALERT.c.owner == owner)
    return conn.execute(query).scalar_one()


def change(conn: Connection, before: Alert, *, state: str, condition: dict[str, Any]) -> bool:
    """Set where an alert stands; False where it is gone or was changed since it was read."""
    same = (
        _ALERT.c.id == before.id,
        _ALERT.c.state == before.state,
        _ALERT.c.condition == _json(before.condition),
    )
    values = {"state": state, "condition": _json(condition)}
    return conn.execute(update(_ALERT).where(*same).values(values)).rowcount > 0


def _json(condition: dict[str, Any]) -> str:
    return json.dumps(condition, ensure_ascii=False)


def _alert(row: Row[Any]) -> Alert:
    at: dt.datetime = row.at
    return Alert(
        text=row.text,
        at=at,
        symbol=row.symbol,
        condition=json.loads(row.condition),
        state=row.state,
        conversation_id=row.conversation_id,
        id=row.id,
    )
