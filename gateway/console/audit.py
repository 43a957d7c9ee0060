"""What operators did, as rows beside what they changed and as a log line. Statements; none commits."""

import datetime as dt
import logging
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from gateway.console.visitor import Visitor
from gateway.storage.tables_console import ConsoleAudit

log = logging.getLogger(__name__)
_AUDIT = ConsoleAudit.__table__  # type: ignore[attr-defined]
NOTE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Deed:
    """One row of the audit."""

    id: int
    owner: str
    role: str
    action: str
    target: str
    note: str
    at: dt.datetime


def write(
    conn: Connection,
    who: Visitor,
    action: str,
    now: dt.datetime,
    *,
    target: str = "",
    note: str = "",
) -> None:
    """Note what `who` does, in the transaction that does it."""
    values = {
        "owner": who.id,
        "role": who.role,
        "action": action,
        "target": target,
        "note": note[:NOTE_CHARS],
        "at": now,
    }
    conn.execute(insert(_AUDIT), values)
    log.info("console_action", extra={"by": who.id, "action": action, "target": target})


def latest(conn: Connection, limit: int) -> list[Deed]:
    """The newest rows first."""
    query = select(_AUDIT).order_by(_AUDIT.c.id.desc()).limit(limit)
    return [Deed(*row) for row in conn.execute(query)]
