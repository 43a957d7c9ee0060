"""Replies that a platform refused for good, and those on their way; they can be sent again."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from sqlalchemy import Connection

from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Refused, Wanted
from gateway.outbound import parked
from gateway.outbound.parked import Filter

TEXT_CHARS = 400
MOST = 300
HOUR, DAY, WEEK = dt.timedelta(hours=1), dt.timedelta(days=1), dt.timedelta(weeks=1)
Age = Literal["", "hour", "day", "week", "older"]
_SPANS = {"hour": HOUR, "day": DAY, "week": WEEK}


def _whole(value: object) -> object:
    """JSON knows no integers: 7.0 is one as well."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Narrowed(Wanted):
    """Which parked replies: how their place begins, words of the reason, and stored within a time or a week ago."""

    channel: Annotated[str, Field(max_length=200)] = ""
    cause: Annotated[str, Field(max_length=200)] = ""
    age: Age = ""

    def filter(self, now: dt.datetime, upto: int | None = None) -> Filter:
        """For the database."""
        since = now - _SPANS[self.age] if self.age in _SPANS else None
        before = now - WEEK if self.age == "older" else None
        return Filter(self.channel.strip(), self.cause.strip(), since, before, upto=upto)


class Which(Narrowed):
    """`parked`: refused ones alone; `all`: also those on their way."""

    which: Literal["parked", "all"] = "parked"


class Resend(Narrowed):
    """`upto`: the newest reply that was seen; what was parked since is left alone."""

    upto: Annotated[int, Field(ge=1, lt=2**63), BeforeValidator(_whole)]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One reply. `parts_shown`: how many of its messages the platform has."""

    id: int
    status: str
    place: str
    owner: str
    at: dt.datetime
    error: str
    parts_shown: int
    text: str


@dataclass(frozen=True, slots=True)
class Deliveries:
    """The page, oldest first. `parked`: how many can be sent again, beyond the page as well; `upto`: the newest."""

    deliveries: list[Delivery]
    parked: int
    upto: int


async def read(call: Call[Which]) -> Deliveries:
    """The page's data."""
    wanted, redactor = call.wanted, call.house.redactor
    which = wanted.filter(call.house.core.clock.now())

    def work(conn: Connection) -> Deliveries:
        rows = parked.listing(conn, which, everything=wanted.which == "all")[:MOST]
        shown = [
            Delivery(**{**row, "text": redactor.text(row["text"])[:TEXT_CHARS]}) for row in rows
        ]
        return Deliveries(shown, *parked.extent(conn, which))

    return await call.house.core.db.read(work)


async def resend(call: Call[Nothing]) -> Done:
    """Send a parked reply again, from the part that failed."""
    number = call.number()
    if not await _send(call, Filter(row=number), f"reply {number}"):
        raise Refused(404, "not_found", "No parked reply has this id.")
    return Done(call.say("Reply {number} is being sent.", number=number))


async def resend_all(call: Call[Resend]) -> Done:
    """Send all that were seen again, each from the part that failed; each place gets its own in order."""
    which = call.wanted.filter(call.house.core.clock.now(), call.wanted.upto)
    count = await _send(call, which, "replies")
    return Done(call.say("Replies that are being sent: {count}.", count=count))


async def _send(call: Call[Nothing] | Call[Resend], which: Filter, target: str) -> int:
    core, now = call.house.core, call.house.core.clock.now()

    def work(conn: Connection) -> list[int]:
        ids = parked.release(conn, which)
        if ids:
            note = f"{len(ids)}: {ids[0]} to {ids[-1]}" if len(ids) > 1 else ""
            audit.write(conn, call.who, "resend", now, target=target, note=note)
        return ids

    ids = await core.db.write(work)
    await core.senders.take_up(ids)
    return len(ids)
