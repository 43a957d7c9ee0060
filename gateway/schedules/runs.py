"""Scheduled runs: a slot of a cron line becomes an inbox row, once, and that row begins a turn.

The key names the schedule and the slot. The turn is that of the configured person, who must be allowed to talk to the
bot at that time: default deny. It works with the schedule's preset in the target conversation, waits in its lane like
any message, and its answer is delivered like a reply. A run that still waits lets later slots pass.
"""

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, exists, insert, select, update

from agent_core.types import Context
from channels.types import Address, Author, Inbound, Kind
from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import QUIET, Item
from gateway.outbound import outbox
from gateway.outbound.draft import NOTHING, Draft
from gateway.people import access
from gateway.people.operators import places
from gateway.presets.news import NO_TURN
from gateway.schedules import plan as schedule_plan
from gateway.schedules.plan import Plan, Spec
from gateway.settings.access import Access
from gateway.settings.groups import Groups
from gateway.storage.tables import Inbox, InboxStatus, Schedule
from gateway.texts.texts import say
from swarm_presets import cron

log = logging.getLogger(__name__)
_SCHEDULE = Schedule.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
RUN = "run"
LATE = dt.timedelta(minutes=1)  # later than this is said to the model
_NOTE = (
    "This run was started by a schedule ({cron}, {zone}), due {slot}. Nobody has written just now, and nobody may be "
    "there to answer: do what the words ask for, and ask a question only where nothing can be done without an answer."
)
_QUIET = (
    f" Where there is nothing that the person should know now, answer with the one word {NOTHING}: "
    "then nothing is sent."
)
_MISSED = " It is late: the gateway did not run at {slot}."


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a slot came to: the (conversation, person) to wake, and what operators are told."""

    wake: tuple[str, str] | None = None
    letters: tuple[tuple[int, Draft], ...] = ()


@dataclass(frozen=True, slots=True)
class Runs:
    """The rules of scheduled runs. Statements; none commits."""

    access: Access
    groups: Groups
    language: str = "auto"

    def sync(
        self,
        conn: Connection,
        wanted: Sequence[Plan],
        accounts: Sequence[tuple[str, str]],
        now: dt.datetime,
    ) -> list[Plan]:
        """Let the table say what is planned now; a plan that stays keeps its next slot.

        Returns the plans whose chat or person cannot be told; what there is of them in the table stays.
        """
        kept: set[int] = set()
        lost: list[Plan] = []
        for plan in wanted:
            found = self._keep(conn, plan, accounts, now)
            if found is None:
                lost.append(plan)
                kept.update(_earlier(conn, plan))
            else:
                kept.add(found)
        gone = (
            _SCHEDULE.c.kind == RUN,
            _SCHEDULE.c.status == "active",
            _SCHEDULE.c.id.not_in(kept),
        )
        conn.execute(update(_SCHEDULE).where(*gone).values(status="cancelled"))
        return lost

    def _keep(
        self,
        conn: Connection,
        plan: Plan,
        accounts: Sequence[tuple[str, str]],
        now: dt.datetime,
    ) -> int | None:
        lane = self.lane(conn, plan, accounts, now)
        if lane is None:
            return None
        person = plan.person or lane.owner
        same = {
            "owner": person,
            "conversation_id": lane.id,
            "kind": RUN,
            "text": plan.spec.text(),
            "cron": plan.cron,
            "timezone": plan.timezone,
            "status": "active",
        }
        query = select(_SCHEDULE.c.id).where(*(_SCHEDULE.c[k] == v for k, v in same.items()))
        found: int | None = conn.execute(query.limit(1)).scalar()
        if found is None:
            due = cron.following(plan.cron, plan.timezone, now)
            values = same | {"next_at": due, "created_at": now}
            found = conn.execute(insert(_SCHEDULE).returning(_SCHEDULE.c.id), values).scalar_one()
        return found

    def lane(
        self,
        conn: Connection,
        plan: Plan,
        accounts: Sequence[tuple[str, str]],
        now: dt.datetime,
    ) -> Lane | None:
        """The conversation of a plan, made where it is new; None where the chat or the person cannot be told."""
        address = schedule_plan.address_of(conn, plan.chat, accounts)
        if address is None:
            return None
        private = schedule_plan.is_private(conn, address, plan.person)
        known = conversation.find(conn, conversation.lane_id(address))
        if not plan.person:  # only a private chat says for whom
            return known if known is not None and known.private else None
        if private and known is not None and known.owner != plan.person:
            return None  # somebody else's private chat
        apart = not private and self._apart(address)
        return conversation.ensure(
            conn, address, private=private, owner=plan.person, now=now, apart=apart
        )

    def _apart(self, address: Address) -> bool:
        return self.groups.rules(address).session == "person"

    def tick(self, conn: Connection, row: Any, now: dt.datetime) -> Ticked:
        """Do what a due row asks for, and set its next slot."""
        slot = cron.latest(row.cron, row.timezone, row.next_at, now)
        due = cron.following(row.cron, row.timezone, now)
        conn.execute(update(_SCHEDULE).where(_SCHEDULE.c.id == row.id).values(next_at=due))
        if slot is None:
            return self._told(conn, row, row.next_at, "schedule_missed", now)
        if not access.is_allowed(conn, self.access, row.owner):
            return self._told(conn, row, slot, "schedule_denied", now)
        if _waits(conn, row.id):
            log.warning("schedule_overrun", extra={"schedule": row.id, "slot": slot.isoformat()})
            return Ticked()
        return self._start(conn, row, slot, now)

    def _start(self, conn: Connection, row: Any, slot: dt.datetime, now: dt.datetime) -> Ticked:
        lane = conversation.find(conn, row.conversation_id)
        if lane is None:
            return Ticked()
        spec = schedule_plan.read(row.text)
        due = Inbound(
            address=lane.address,
            key=_key(row.id, slot),
            author=Author(row.owner.partition(":")[2]),
            text=spec.words,
            at=now,
            kind=Kind.DUE,
            private=lane.private,
            data=QUIET if spec.quiet else None,
        )
        added = inbox.insert_row(conn, due, lane.id, row.owner, InboxStatus.NEW, now)
        return Ticked(None if added is None else (lane.id, row.owner))

    def _told(
        self, conn: Connection, row: Any, slot: dt.datetime, code: str, now: dt.datetime
    ) -> Ticked:
        """A slot that was left out: in the log, and to the operators."""
        spec = schedule_plan.read(row.text)
        log.warning(code, extra={"schedule": row.id, "slot": slot.isoformat(), "of": spec.source})
        letters = []
        for place in places(conn, self.access.operators, self.language):
            text = say(
                code,
                place.language,
                source=spec.source,
                cron=row.cron,
                at=_at(slot, row),
                person=row.owner,
            )
            key = f"schedule:{row.id}:{slot.isoformat()}:{place.person}"
            draft = Draft(NO_TURN, key, place.person, place.address, text)
            letters.append((outbox.put(conn, draft, now), draft))
        return Ticked(letters=tuple(letters))


def _earlier(conn: Connection, plan: Plan) -> Sequence[int]:
    """What an earlier process made of a plan: its bot may only be away."""
    query = select(_SCHEDULE.c.id).where(
        _SCHEDULE.c.kind == RUN,
        _SCHEDULE.c.status == "active",
        _SCHEDULE.c.text == plan.spec.text(),
        _SCHEDULE.c.cron == plan.cron,
        _SCHEDULE.c.timezone == plan.timezone,
    )
    return conn.execute(query).scalars().all()


def _key(schedule_id: int, slot: dt.datetime) -> str:
    return f"sched:{schedule_id}:{slot.astimezone(dt.UTC).isoformat()}"


def _waits(conn: Connection, schedule_id: int) -> bool:
    """Whether an earlier slot of this schedule has not begun yet."""
    mine = _INBOX.c.key.startswith(f"sched:{schedule_id}:", autoescape=True)
    found = select(exists().where(mine, _INBOX.c.status == int(InboxStatus.NEW)))
    return bool(conn.execute(found).scalar())


def _at(slot: dt.datetime, row: Any) -> str:
    return f"{slot.astimezone(ZoneInfo(row.timezone)):%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class Started:
    """A run that nobody's message began: the preset that works, and what its model is told of it.

    `outside`: words of strangers are among that, so that nothing of the turn may be remembered.
    """

    spec: Spec
    note: Context
    outside: bool = False

    def lane(self, lane: Lane) -> Lane:
        """The conversation with the schedule's preset, and no model that a person chose for other turns."""
        return replace(lane, preset=self.spec.preset, model="") if self.spec.preset else lane


def started(conn: Connection, item: Item) -> Started | None:
    """The scheduled run of an inbox row; None for any other row, and for one whose schedule was erased."""
    parts = item.key.split(":", 2)
    if item.kind is not Kind.DUE or len(parts) != 3 or not parts[1].isdecimal():
        return None
    row = conn.execute(select(_SCHEDULE).where(_SCHEDULE.c.id == int(parts[1]))).first()
    if row is None or row.kind != RUN:
        return None
    slot = dt.datetime.fromisoformat(parts[2])
    shown = _at(slot, row)
    note = _NOTE.format(cron=row.cron, zone=row.timezone, slot=shown)
    note += _MISSED.format(slot=shown) if item.at - slot > LATE else ""
    note += _QUIET if item.quiet else ""
    return Started(schedule_plan.read(row.text), Context(note))
