"""What is due at a time: one table, one timer (DESIGN.md 3.3, field bugs "Schedules").

The timer sleeps until the next due row; adding one wakes it. A due slot becomes an inbox row whose key names the slot,
so it happens once, also across restarts and beside another engine; the same transaction puts the reminder into the
outbox of the place it came from and takes the slot off the schedule. It is not a turn, and it does not wait for one.
A reminder that was due while nobody ran is delivered at the start, with a note. Runs by a cron line, which are turns,
have rules of their own (schedule_runs.py).
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Select, insert, select, update

from agent_core.ports import Clock
from channels.types import Author, Inbound, Kind
from gateway.inbound import conversation, inbox
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people.identity import Language, known, language_of
from gateway.rounds import Rounds
from gateway.schedules.runs import RUN, Runs, Ticked
from gateway.storage.db import Database
from gateway.storage.tables import InboxStatus, Schedule
from gateway.texts.texts import say

log = logging.getLogger(__name__)
_SCHEDULE = Schedule.__table__  # type: ignore[attr-defined]
REMINDER = "reminder"
PROMPT = dt.timedelta(minutes=1)  # later than this is said
GRACE = dt.timedelta(minutes=10)  # later than this was missed
RETRY_S = 5.0


def add_reminder(
    conn: Connection,
    *,
    owner: str,
    conversation_id: str,
    text: str,
    at: dt.datetime,
    timezone: str,
    now: dt.datetime,
) -> int:
    """Store a reminder; wake the timer once this is committed. Returns its id."""
    values = {
        "owner": owner,
        "conversation_id": conversation_id,
        "kind": REMINDER,
        "text": text,
        "cron": "",
        "timezone": timezone,
        "status": "active",
        "next_at": at,
        "created_at": now,
    }
    added: int = conn.execute(insert(_SCHEDULE).returning(_SCHEDULE.c.id), values).scalar_one()
    return added


def reminders(conn: Connection, owner: str, conversation_id: str | None = None) -> list[Any]:
    """The active reminders of a person (in one conversation), the next one first."""
    query = select(_SCHEDULE).where(
        _SCHEDULE.c.owner == owner, _SCHEDULE.c.status == "active", _SCHEDULE.c.kind == REMINDER
    )
    if conversation_id is not None:
        query = query.where(_SCHEDULE.c.conversation_id == conversation_id)
    return list(conn.execute(query.order_by(_SCHEDULE.c.next_at, _SCHEDULE.c.id)))


def cancel(conn: Connection, owner: str, schedule_id: int) -> bool:
    """Take a person's own reminder off; false when there is no such active one."""
    done = conn.execute(
        update(_SCHEDULE)
        .where(
            _SCHEDULE.c.id == schedule_id,
            _SCHEDULE.c.owner == owner,
            _SCHEDULE.c.status == "active",
        )
        .values(status="cancelled")
        .returning(_SCHEDULE.c.id)
    )
    return done.first() is not None


def next_due(conn: Connection, kinds: Collection[str] = (REMINDER,)) -> dt.datetime | None:
    """When the next active row of these kinds is due, or None."""
    query = select(_SCHEDULE.c.next_at).where(
        _SCHEDULE.c.status == "active", _SCHEDULE.c.kind.in_(kinds)
    )
    found: dt.datetime | None = conn.execute(query.order_by(_SCHEDULE.c.next_at).limit(1)).scalar()
    return found


def fire(conn: Connection, now: dt.datetime, language: str = "auto") -> list[tuple[int, Draft]]:
    """Remind of everything that is due: once for each slot. Returns the outbox rows to hand to the senders."""
    query = _due(REMINDER, now)
    letters = []
    for row in conn.execute(query.order_by(_SCHEDULE.c.next_at, _SCHEDULE.c.id)).all():
        letter = _remind(conn, row, now, language)
        conn.execute(update(_SCHEDULE).where(_SCHEDULE.c.id == row.id).values(status="done"))
        if letter is not None:
            letters.append(letter)
    return letters


def run(conn: Connection, now: dt.datetime, runs: Runs) -> list[Ticked]:
    """Start every scheduled run that is due: once for each slot."""
    query = _due(RUN, now).order_by(_SCHEDULE.c.next_at, _SCHEDULE.c.id)
    return [runs.tick(conn, row, now) for row in conn.execute(query).all()]


def _due(kind: str, now: dt.datetime) -> Select[Any]:
    return select(_SCHEDULE).where(
        _SCHEDULE.c.status == "active", _SCHEDULE.c.kind == kind, _SCHEDULE.c.next_at <= now
    )


def _remind(conn: Connection, row: Any, now: dt.datetime, setting: str) -> tuple[int, Draft] | None:
    lane = conversation.find(conn, row.conversation_id)
    owner = known(conn, row.owner)
    if lane is None or owner.revoked:
        return None
    slot = row.next_at.astimezone(dt.UTC)
    due = Inbound(
        address=lane.address,
        key=f"sched:{row.id}:{slot.isoformat()}",
        author=Author(row.owner.partition(":")[2]),
        text=row.text,
        at=slot,
        kind=Kind.DUE,
        private=lane.private,
    )
    row_id = inbox.insert_row(conn, due, lane.id, row.owner, InboxStatus.DONE, now)
    if row_id is None:
        return None  # this slot was done already
    language = language_of(row.text, None, setting, owner.language)
    draft = Draft(row_id, "reminder", row.owner, lane.address, _words(row, slot, now, language))
    return outbox.put(conn, draft, now), draft


def _words(row: Any, slot: dt.datetime, now: dt.datetime, language: Language) -> str:
    late = now - slot
    at = f"{slot.astimezone(ZoneInfo(row.timezone)):%Y-%m-%d %H:%M}"
    if late > GRACE:
        return say("reminder_missed", language, text=row.text, at=at)
    return say("reminder_late" if late > PROMPT else "reminder", language, text=row.text, at=at)


class Timer:
    """The one task that waits for the next due row. `runs`: the rules of scheduled runs; `start_turn` wakes a lane."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        senders: Sender,
        *,
        language: str = "auto",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        runs: Runs | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._senders = senders
        self._language = language
        self._runs = runs
        self.start_turn: Callable[[str, str], None] = lambda *_: None
        self._rounds = Rounds(
            "schedule", self._tick, waits="schedule_waits", retry_s=RETRY_S, sleep=sleep
        )

    def wake(self) -> None:
        """The schedule has changed (and is committed): look at it again."""
        self._rounds.wake()

    async def start(self, *, runs: bool = True) -> None:
        """Deliver what was missed, then wait for what comes. Not `runs`: where no platform could take the answers."""
        self._runs = self._runs if runs else None
        self._rounds.start()

    async def stop(self) -> None:
        """End the waiting; a transaction that runs is not cut off half way, and what is due stays due."""
        await self._rounds.stop()

    async def _tick(self) -> float | None:
        """Do what is due; seconds until the next row, None when there is none."""
        kinds = (REMINDER, RUN) if self._runs else (REMINDER,)
        due = await self._db.read(lambda conn: next_due(conn, kinds))
        if due is None:
            return None
        if (left := (due - self._clock.now()).total_seconds()) > 0:
            return left
        now = self._clock.now()
        for letter in await self._db.write(lambda conn: fire(conn, now, self._language)):
            self._senders.send(self._senders.letter(*letter))
        if (runs := self._runs) is not None:
            self._started(await self._db.write(lambda conn: run(conn, now, runs)))
        return 0.0

    def _started(self, ticked: Sequence[Ticked]) -> None:
        for one in ticked:
            if one.wake is not None:
                self.start_turn(*one.wake)
            for letter in one.letters:
                self._senders.send(self._senders.letter(*letter))
