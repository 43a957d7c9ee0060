"""What waits for a decision; deciding goes the way of `swarmgate approvals decide`: once, in time, that call."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection

from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Refused, Wanted
from gateway.questions import remembered
from gateway.questions.local_decisions import listing
from gateway.questions.words import shown
from gateway.redact import Redactor


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question. `kind` is approval, or ask: that one is answered in its chat. `needs` are the rules in short."""

    id: int
    kind: str
    owner: str
    tool: str
    args: dict[str, str]
    needs: list[str]
    yes: list[str]
    conversation: str
    session: str
    asked_at: dt.datetime
    expires_at: dt.datetime


@dataclass(frozen=True, slots=True)
class Remembered:
    """A yes that counts for later calls too."""

    id: int
    owner: str
    tool: str
    args: dict[str, str]
    remember: str
    by: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """The page."""

    waiting: list[Waiting]
    remembered: list[Remembered]


class Verdict(Wanted):
    """What is decided."""

    verdict: Literal["approved", "denied"]


async def read(call: Call[Nothing]) -> Approvals:
    """The page's data."""
    now, redactor = call.house.core.clock.now(), call.house.redactor

    def work(conn: Connection) -> Approvals:
        waiting = [_waiting(row, redactor) for row in listing(conn, now)]
        kept = [
            Remembered(
                row["id"],
                row["owner"],
                row["tool"],
                _args(row["args"], redactor),
                row["remember"],
                row["by"],
            )
            for row in remembered.listing(conn)
        ]
        return Approvals(waiting, kept)

    return await call.house.core.db.read(work)


async def decide(call: Call[Verdict]) -> Done:
    """Approve or deny one call; its turn goes on at once."""
    core, number, verdict = call.house.core, call.number(), call.wanted.verdict
    done, said = await core.desk.decide(number, verdict, f"console-{call.who.name}")
    if not done and f"question {number}" not in said:
        raise Refused(404, "not_found", said)
    now = core.clock.now()
    await core.db.write(
        lambda conn: audit.write(
            conn, call.who, verdict, now, target=f"question {number}", note=said
        )
    )
    if not done and "others are needed" not in said and "once more" not in said:
        raise Refused(409, "not_open", said)
    return Done(said)


async def revoke(call: Call[Nothing]) -> Done:
    """Take a remembered yes back: the next call of that kind asks again."""
    core, number, now = call.house.core, call.number(), call.house.core.clock.now()

    def work(conn: Connection) -> bool:
        gone = remembered.revoke(conn, number)
        if gone:
            audit.write(conn, call.who, "revoke_yes", now, target=f"question {number}")
        return gone

    if not await core.db.write(work):
        raise Refused(404, "not_found", "This question has no yes that is remembered.")
    return Done(call.say("The yes to question {number} counts no more.", number=number))


def _waiting(row: dict[str, Any], redactor: Redactor) -> Waiting:
    return Waiting(
        row["id"],
        row["kind"],
        row["owner"],
        row["tool"],
        _args(row["args"], redactor),
        row["needs"],
        row["yes"],
        row["conversation"],
        row["session"].partition("/")[0],
        row["asked_at"],
        row["expires_at"],
    )


def _args(args: dict[str, Any], redactor: Redactor) -> dict[str, str]:
    return {name: str(shown(redactor.field(name, value))) for name, value in args.items()}
