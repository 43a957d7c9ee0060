"""The first page: is all well, what is waiting, what did today cost, what went wrong; and the kill switch."""

import datetime as dt
import json
import time
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import Connection, func, select

from agent_core.storage import orders_halt
from agent_core.storage.tables import Trace, Turn
from gateway.budgets import usage
from gateway.budgets.usage import Scope
from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Wanted
from gateway.console.house import House
from gateway.console.pots import Spent, spent
from gateway.outbound import parked
from gateway.storage.tables import Inbox, InboxStatus, Outbox, OutboxStatus
from gateway.trading import halt

_TURN = Turn.__table__  # type: ignore[attr-defined]
_TRACE = Trace.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
TURNS = 500  # the newest, of which those of a day are counted
ERRORS = 8


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """One bot. `reason` is empty while all is well."""

    name: str
    account: str
    state: str
    reason: str
    restarts: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that failed in a turn."""

    at: dt.datetime
    session: str
    turn: int
    code: str
    detail: str
    error_id: str


@dataclass(frozen=True, slots=True)
class Switch:
    """The kill switch of trading. `file`: the file HALT in `data_dir` holds it, whatever is pressed here."""

    halted: bool
    by: str
    reason: str
    at: dt.datetime | None
    file: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """All of the page. `turns` counts the newest turns of the last 24 hours by status; `saved` is what caches saved."""

    database: str
    uptime: float
    running: int
    max_running: int
    waiting: int
    oldest_waiting: dt.datetime | None
    sending: int
    parked: int
    channels: list[ChannelHealth]
    turns: dict[str, int]
    calls: int
    tokens: int
    usd: float
    unpriced: int
    saved: float
    hit_share: float
    pots: list[Spent]
    errors: list[Wrong]
    preset_problems: list[str]
    switch: Switch


async def read(call: Call[Nothing]) -> Overview:
    """The page's data."""
    house = call.house
    core, now = house.core, house.core.clock.now()
    zone = house.settings.locale.timezone
    file = (house.settings.data_dir / halt.FILE).exists()
    rows = await core.db.read(lambda conn: _rows(conn, house, now, zone, file=file))
    return Overview(
        database=core.db.dialect,
        uptime=round(time.monotonic() - house.began, 1),
        running=core.engine.busy(),
        max_running=house.settings.sessions.max_running,
        channels=[
            ChannelHealth(s.name, s.account, str(s.state), s.reason, s.restarts)
            for s in core.channels.states()
        ],
        preset_problems=core.turns.teams.first_problems(),
        **rows,
    )


def _rows(
    conn: Connection, house: House, now: dt.datetime, zone: str, *, file: bool
) -> dict[str, Any]:
    open_ = _INBOX.c.status == int(InboxStatus.NEW)
    waiting = conn.execute(select(func.count(), func.min(_INBOX.c.id)).where(open_)).one()
    oldest = conn.execute(select(_INBOX.c.at).where(_INBOX.c.id == (waiting[1] or 0))).scalar()
    on_the_way = _OUTBOX.c.status.in_([OutboxStatus.OPEN, OutboxStatus.READY])
    today = usage.total(conn, Scope(since=usage.first_moment(now, 1, zone)))
    thrown = orders_halt.read(conn)
    return {
        "waiting": waiting[0],
        "oldest_waiting": oldest,
        "sending": conn.execute(select(func.count()).where(on_the_way)).scalar_one(),
        "parked": parked.count(conn),
        "turns": _turns(conn, now),
        "calls": today.calls,
        "tokens": today.input + today.output,
        "usd": today.usd,
        "unpriced": today.unpriced,
        "saved": today.saved,
        "hit_share": round(today.hit_share, 4),
        "pots": _pots(conn, house, now),
        "errors": _errors(conn, house),
        "switch": Switch(
            thrown.halted, thrown.by, thrown.reason, thrown.at if thrown.halted else None, file
        ),
    }


def _turns(conn: Connection, now: dt.datetime) -> dict[str, int]:
    newest = select(_TURN.c.status, _TURN.c.started_at).order_by(_TURN.c.id.desc()).limit(TURNS)
    counts: dict[str, int] = {}
    for row in conn.execute(newest):
        if row.started_at >= now - dt.timedelta(days=1):
            counts[row.status] = counts.get(row.status, 0) + 1
    return dict(sorted(counts.items()))


def _pots(conn: Connection, house: House, now: dt.datetime) -> list[Spent]:
    rules = house.core.budgets.rules
    return [
        spent(conn, pot, "", now, rules.zone) for pot in rules.pots if pot.kind in ("day", "month")
    ]


def _errors(conn: Connection, house: House) -> list[Wrong]:
    newest = select(_TRACE).where(_TRACE.c.event == "error").order_by(_TRACE.c.id.desc())
    found = []
    for row in conn.execute(newest.limit(ERRORS)):
        said = json.loads(row.body)
        detail = house.redactor.text(str(said.get("detail", "")))[:300]
        found.append(
            Wrong(
                row.at,
                row.session_id.partition("/")[0],
                row.turn_id,
                str(said.get("code", "")),
                detail,
                str(said.get("error_id") or ""),
            )
        )
    return found


class Halt(Wanted):
    """Why trading is halted; noted in the audit of orders."""

    reason: Annotated[str, Field(max_length=200)] = ""


async def stop_trading(call: Call[Halt]) -> Done:
    """Throw the kill switch: nothing is ordered any more, and open orders are cancelled."""
    core, now = call.house.core, call.house.core.clock.now()

    def work(conn: Connection) -> halt.Stopped:
        audit.write(conn, call.who, "halt", now, note=call.wanted.reason)
        return halt.stop(conn, f"console:{call.who.name}", call.wanted.reason, now)

    done = await core.db.write(work)
    core.orders.wake()
    return Done(
        call.say(
            "Trading is halted. Cancelled at once: {cancelled}; being taken back at a broker: {left}.",
            cancelled=done.cancelled,
            left=done.left,
        )
    )


async def resume_trading(call: Call[Nothing]) -> Done:
    """Let orders be placed again; what was cancelled stays cancelled."""
    core, now = call.house.core, call.house.core.clock.now()

    def work(conn: Connection) -> bool:
        audit.write(conn, call.who, "resume", now)
        return halt.resume(conn, f"console:{call.who.name}", now)

    was = await core.db.write(work)
    if (call.house.settings.data_dir / halt.FILE).exists():
        return Done(call.say("The file HALT in data_dir still halts trading: remove it."))
    return Done(call.say("Trading goes on." if was else "Trading was not halted."))
