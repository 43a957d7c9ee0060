"""People: who may talk to the bot, who waits with a code, and what is known of one of them."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import Connection, func, select, update

from agent_core.storage import upkeep
from agent_core.storage.tables import Session
from gateway.budgets import usage
from gateway.budgets.usage import Scope
from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Refused, Wanted, missing
from gateway.console.house import House
from gateway.console.pots import Spent, spent
from gateway.memory import forget
from gateway.people import access, links, roles
from gateway.people.identity import principal_of
from gateway.storage.tables import Person
from gateway.workspaces import workspaces_of

_PERSON = Person.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
MEMORIES = 200


@dataclass(frozen=True, slots=True)
class PersonItem:
    """Somebody. `access` is allowed, revoked or pairing; `code` is the pairing code, for operators only."""

    id: str
    name: str
    access: str
    role: str
    code: str


@dataclass(frozen=True, slots=True)
class People:
    """The list; those that wait come first."""

    people: list[PersonItem]


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory of a person."""

    id: int
    kind: str
    state: str
    text: str
    source: str
    created_at: dt.datetime


@dataclass(frozen=True, slots=True)
class PersonPage:
    """One person. Memory, budgets and cost are the principal's, whose accounts `linked` are the others.

    `roles` are those that an admin may give them; `named`: the settings say which role it is.
    """

    id: str
    name: str
    access: str
    role: str
    roles: list[str]
    named: bool
    language: str
    principal: str
    linked: list[str]
    sessions: int
    calls: int
    usd: float
    unpriced: int
    pots: list[Spent]
    memories: list[Memory]
    created_at: dt.datetime


class Code(Wanted):
    """A pairing code, such as ABCD-1234."""

    code: Annotated[str, Field(min_length=4, max_length=20)]


class Sure(Wanted):
    """`confirm` repeats the person's id: what is forgotten is gone."""

    confirm: Annotated[str, Field(max_length=200)]


class Change(Wanted):
    """Whether a person may talk to the bot from now on."""

    access: Literal["allowed", "revoked"]


async def read(call: Call[Nothing]) -> People:
    """The list."""
    house, now = call.house, call.house.core.clock.now()
    rules = house.settings.access

    def work(conn: Connection) -> tuple[list[dict[str, str]], dict[str, str]]:
        return access.people(conn, now), roles.roles_of(conn, rules)

    rows, role = await house.core.db.read(work)
    order = {"pairing": 0, "allowed": 1, "revoked": 2}
    codes = call.who.role != "viewer"
    made = [
        PersonItem(
            row["id"],
            row["name"],
            row["access"],
            role.get(row["id"]) or rules.role(row["id"]),
            row["code"] if codes else "",
        )
        for row in rows
    ]
    return People(sorted(made, key=lambda one: order.get(one.access, 3)))


async def show(call: Call[Nothing]) -> PersonPage:
    """One person."""
    house, person, now = call.house, call.path["id"], call.house.core.clock.now()
    return await house.core.db.read(lambda conn: _page(conn, house, person, now))


def _page(conn: Connection, house: House, person: str, now: dt.datetime) -> PersonPage:
    row = known(conn, person)
    owner = principal_of(conn, person)
    rules, access_rules = house.core.budgets.rules, house.settings.access
    month = Scope(owners=forget.identities(conn, person), since=now - dt.timedelta(days=30))
    cost = usage.total(conn, month)
    opened = select(func.count()).where(_SESSION.c.owner == person, _SESSION.c.parent.is_(None))
    kept = upkeep.entries(conn, owner, everything=True)[:MEMORIES]
    memories = [
        Memory(m.id, m.kind, m.state, house.redactor.text(m.text), m.source, m.created_at)
        for m in kept
    ]
    return PersonPage(
        row.id,
        row.name,
        row.access,
        roles.role_of(conn, access_rules, person),
        [] if access_rules.names(person) else list(access_rules.given),
        access_rules.names(person),
        row.language,
        owner,
        links.linked(conn, person),
        conn.execute(opened).scalar_one(),
        cost.calls,
        cost.usd,
        cost.unpriced,
        [
            spent(conn, pot, owner, now, rules.zone)
            for pot in rules.pots
            if pot.kind in ("user_day", "user_month")
        ],
        memories,
        row.created_at,
    )


def known(conn: Connection, person: str) -> Person:
    """The row of a person. Raises Refused (404)."""
    row = conn.execute(select(_PERSON).where(_PERSON.c.id == person)).first()
    if row is None:
        raise missing()
    return row  # type: ignore[return-value]


async def approve(call: Call[Code]) -> Done:
    """Let in the person who was shown this pairing code."""
    core, now, code = call.house.core, call.house.core.clock.now(), call.wanted.code

    def work(conn: Connection) -> dict[str, str]:
        row = access.approve(conn, code, now)
        audit.write(conn, call.who, "approve_person", now, target=f"user {row['id']}")
        return row

    try:
        row = await core.db.write(work)
    except access.UnknownCode:
        said = "No such pairing code, or it has expired: the person writes again for a new one."
        raise Refused(404, "not_found", said) from None
    return Done(call.say("{id} may talk now.", id=row["id"]))


async def change(call: Call[Change]) -> Done:
    """Shut a person out, or let them in again."""
    core, now, person = call.house.core, call.house.core.clock.now(), call.path["id"]
    wanted = call.wanted.access

    def work(conn: Connection) -> None:
        known(conn, person)
        if wanted == "revoked":
            access.revoke(conn, person)
        else:
            conn.execute(update(_PERSON).where(_PERSON.c.id == person).values(access=wanted))
        audit.write(conn, call.who, f"person_{wanted}", now, target=f"user {person}")

    await core.db.write(work)
    said = "{id} is shut out." if wanted == "revoked" else "{id} may talk now."
    return Done(call.say(said, id=person))


async def unlink(call: Call[Nothing]) -> Done:
    """Take an account out of its link; a principal's accounts are all on their own again."""
    core, now, person = call.house.core, call.house.core.clock.now(), call.path["id"]

    def work(conn: Connection) -> list[str]:
        known(conn, person)
        others = links.remove(conn, person)
        audit.write(conn, call.who, "unlink", now, target=f"user {person}", note=", ".join(others))
        return others

    if not await core.db.write(work):
        raise Refused(409, "not_linked", "This person is linked with nobody.")
    return Done(call.say("{id} is on its own again.", id=person))


async def forget_memory(call: Call[Nothing]) -> Done:
    """Delete one memory for good."""
    core, now = call.house.core, call.house.core.clock.now()
    person, number = call.path["id"], call.number("memory")

    def work(conn: Connection) -> int:
        gone = upkeep.remove(conn, principal_of(conn, person), [number])
        if gone:
            target = f"memory {number} of user {person}"
            audit.write(conn, call.who, "forget_memory", now, target=target)
        return gone

    if not await core.db.write(work):
        raise missing()
    return Done(call.say("Memory {number} is gone.", number=number))


async def forget_all(call: Call[Sure]) -> Done:
    """Delete everything that is kept of a person, with their linked accounts, and count again to prove it."""
    house, person = call.house, call.path["id"]
    if call.wanted.confirm != person:
        raise Refused(409, "not_confirmed", "Write the person's id to confirm.")
    core, now, rooms = house.core, house.core.clock.now(), workspaces_of(house.settings)

    def work(conn: Connection) -> forget.Report:
        known(conn, person)
        report = forget.everything(conn, person, now, workspaces=rooms)
        note = f"{report.removed} removed, {report.left} left"
        audit.write(conn, call.who, "forget_person", now, target=f"user {person}", note=note)
        return report

    try:
        report = await core.db.write(work)
    except forget.AtBroker as e:
        raise Refused(409, "at_broker", str(e)) from None
    for lane, other in report.wake:
        core.engine.wake(lane, other)
    said = call.say("Deleted: {removed}. Left: {left}.", removed=report.removed, left=report.left)
    return Done(said)
