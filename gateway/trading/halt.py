"""The kill switch: /halt and the file HALT in `data_dir` stop all orders at once, and cancel open ones.

The switch is a row that every order locks (agent_core/storage/orders_halt.py), so it outlives a restart and holds for
every process on the database. Orders of the paper broker are cancelled in the transaction that throws it; those of a
real broker are taken back right afterwards (orders.py), also when the file appears while some are open. While the file
is there nothing is ordered or booked, whatever the row says; taking it away resumes.
"""

import asyncio
import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from agent_core.storage import orders as rows
from agent_core.storage import orders_audit as audit
from agent_core.storage import orders_halt as switch
from agent_core.trading import PAPER, Report
from gateway.storage.db import Database
from gateway.watching.watched import watched

FILE = "HALT"
CURE = "an operator resumes with /halt off"
CURE_FILE = "an operator resumes by removing that file"
STOPPED = "trading is halted"


@dataclass(frozen=True, slots=True)
class Stopped:
    """What throwing the switch did: orders cancelled at once, and orders that are taken back at a broker next."""

    cancelled: int
    left: int


def why(conn: Connection, file: Path | None) -> str:
    """Why nothing may be ordered, with the cure; "" where it may. Holds the switch until the transaction ends."""
    found = switch.hold(conn)
    if file is not None and file.exists():
        return f"trading is halted by the file {file.name} in data_dir; {CURE_FILE}"
    if not found.halted:
        return ""
    reason = f" ({found.reason})" if found.reason else ""
    return f"trading is halted by {found.by} since {found.at:%Y-%m-%d %H:%M} UTC{reason}; {CURE}"


def stop(conn: Connection, by: str, reason: str, now: dt.datetime) -> Stopped:
    """Throw the switch, and cancel what the paper broker has open."""
    switch.hold(conn)
    switch.throw(conn, halted=True, by=by, reason=reason, at=now)
    audit.note(conn, by, "halt", now, {"reason": reason})
    cancelled, left = 0, 0
    for order in rows.undone(conn):
        if order.broker != PAPER:
            left += 1
        elif moved := rows.move(conn, order, Report("cancelled", note=STOPPED), now):
            audit.note(
                conn, order.owner, "cancelled", now, audit.fields_of(moved, "cancelled", None)
            )
            cancelled += 1
    return Stopped(cancelled, left)


def resume(conn: Connection, by: str, now: dt.datetime) -> bool:
    """Let orders be placed again; false where nothing was halted. What was cancelled stays cancelled."""
    if not switch.hold(conn).halted:
        return False
    switch.throw(conn, halted=False, by=by, reason="", at=now)
    audit.note(conn, by, "resume", now, {})
    return True


async def appears(file: Path) -> None:
    """Return once the file is there; raises OSError where the system has no watches left."""
    while True:
        async with watched(file) as changed:
            if await asyncio.to_thread(file.exists):
                return
            await changed()


async def halt(db: Database, by: str, reason: str, now: dt.datetime) -> Stopped:
    """Throw the switch from anywhere in the process; wake the desk afterwards (`Desk.wake`)."""
    return await db.write(lambda conn: stop(conn, by, reason, now))
