"""Who is logged in to the console, and what was done in it. For admins."""

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import Connection

from gateway.console import audit, logins
from gateway.console.calls import Call, Done, Nothing, missing

DEEDS = 200


@dataclass(frozen=True, slots=True)
class LoginItem:
    """One log-in; `id` is the beginning of its own. `mine`: this very one."""

    id: str
    owner: str
    agent: str
    mine: bool
    created_at: dt.datetime
    expires_at: dt.datetime


@dataclass(frozen=True, slots=True)
class DeedItem:
    """One thing that was done."""

    id: int
    at: dt.datetime
    by: str
    role: str
    action: str
    target: str
    note: str


@dataclass(frozen=True, slots=True)
class AccessPage:
    """The page, newest first."""

    logins: list[LoginItem]
    deeds: list[DeedItem]


async def read(call: Call[Nothing]) -> AccessPage:
    """The page's data."""
    now, mine = call.house.core.clock.now(), call.who.login

    def work(conn: Connection) -> AccessPage:
        held = [
            LoginItem(
                one.id[: logins.SHOWN],
                one.owner,
                one.agent,
                one.id == mine,
                one.created_at,
                one.expires_at,
            )
            for one in logins.listing(conn, now)
        ]
        deeds = [
            DeedItem(d.id, d.at, d.owner, d.role, d.action, d.target, d.note)
            for d in audit.latest(conn, DEEDS)
        ]
        return AccessPage(held, deeds)

    return await call.house.core.db.read(work)


async def end(call: Call[Nothing]) -> Done:
    """End a log-in: whoever holds its cookie is out at the next click, an open page within seconds."""
    core, now = call.house.core, call.house.core.clock.now()

    def work(conn: Connection) -> str | None:
        owner = logins.end(conn, call.path["id"])
        if owner is not None:
            audit.write(conn, call.who, "end_login", now, target=f"log-in of {owner}")
        return owner

    owner = await core.db.write(work)
    if owner is None:
        raise missing()
    return Done(call.say("The log-in of {owner} is over.", owner=owner))
