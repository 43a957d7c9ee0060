"""What happens at set times: reminders of people, and runs of settings and presets."""

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Refused
from gateway.redact import Redactor
from gateway.schedules import plan
from gateway.schedules.runs import RUN
from gateway.schedules.schedule import REMINDER
from gateway.storage.tables import Schedule

_SCHEDULE = Schedule.__table__  # type: ignore[attr-defined]
MOST = 500


@dataclass(frozen=True, slots=True)
class Timed:
    """One entry. `kind` is reminder or run; a run's `source` is where it is written: settings, or a preset."""

    id: int
    kind: str
    owner: str
    place: str
    text: str
    source: str
    preset: str
    cron: str
    timezone: str
    next_at: dt.datetime


@dataclass(frozen=True, slots=True)
class Schedules:
    """The page: active entries, the next one first."""

    entries: list[Timed]


async def read(call: Call[Nothing]) -> Schedules:
    """The page's data."""
    redactor = call.house.redactor
    return await call.house.core.db.read(lambda conn: Schedules(_rows(conn, redactor)))


async def cancel(call: Call[Nothing]) -> Done:
    """Take a reminder off. Runs are taken out of the file that they are written in."""
    core, number, now = call.house.core, call.number(), call.house.core.clock.now()

    def work(conn: Connection) -> bool:
        mine = (
            _SCHEDULE.c.id == number,
            _SCHEDULE.c.kind == REMINDER,
            _SCHEDULE.c.status == "active",
        )
        off = update(_SCHEDULE).where(*mine).values(status="cancelled").returning(_SCHEDULE.c.id)
        done = conn.execute(off).first() is not None
        if done:
            audit.write(conn, call.who, "cancel_reminder", now, target=f"reminder {number}")
        return done

    if not await core.db.write(work):
        raise Refused(404, "not_found", "No active reminder has this id.")
    core.timer.wake()
    return Done(call.say("Reminder {number} is off.", number=number))


def _rows(conn: Connection, redactor: Redactor) -> list[Timed]:
    query = select(_SCHEDULE).where(_SCHEDULE.c.status == "active")
    found = []
    for row in conn.execute(query.order_by(_SCHEDULE.c.next_at, _SCHEDULE.c.id).limit(MOST)):
        spec = plan.read(row.text) if row.kind == RUN else None
        found.append(
            Timed(
                row.id,
                row.kind,
                row.owner,
                row.conversation_id,
                redactor.text(spec.words if spec else row.text),
                spec.source if spec else "",
                spec.preset if spec else "",
                row.cron,
                row.timezone,
                row.next_at,
            )
        )
    return found
