"""Replies that a platform refused for good, and those on their way; one can be sent again."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Refused, Wanted
from gateway.outbound import parked

TEXT_CHARS = 400
MOST = 300


class Which(Wanted):
    """`parked`: refused ones alone; `all`: also those on their way."""

    which: Literal["parked", "all"] = "parked"


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
    """The page, oldest first."""

    deliveries: list[Delivery]


async def read(call: Call[Which]) -> Deliveries:
    """The page's data."""
    everything, redactor = call.wanted.which == "all", call.house.redactor

    def work(conn: Connection) -> Deliveries:
        rows = parked.listing(conn, everything=everything)[:MOST]
        return Deliveries(
            [Delivery(**{**row, "text": redactor.text(row["text"])[:TEXT_CHARS]}) for row in rows]
        )

    return await call.house.core.db.read(work)


async def resend(call: Call[Nothing]) -> Done:
    """Send a parked reply again, from the part that failed."""
    core, number, now = call.house.core, call.number(), call.house.core.clock.now()

    def work(conn: Connection) -> bool:
        released = parked.release(conn, number)
        if released:
            audit.write(conn, call.who, "resend", now, target=f"reply {number}")
        return released

    if not await core.db.write(work):
        raise Refused(404, "not_found", "No parked reply has this id.")
    await core.senders.take_up(number)
    return Done(call.say("Reply {number} is being sent.", number=number))
