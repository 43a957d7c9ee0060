"""One person on two platforms: a one-time code, sent from the other account and confirmed where it was asked for.

Only both together make a link: whoever has the code proves nothing but to have seen it, and whoever confirms has asked
for it. A link makes one person the principal of the other: memory, portfolio and budget are the principal's, sessions
stay with their places. A claim is kept beside its code as `<code>/<person>`, so what a button says decides nothing.
"""

import datetime as dt
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, or_, select

from agent_core.storage.tables import Session
from gateway.people.identity import principal_of
from gateway.storage.tables import Conversation, Inbox, Link, LinkCode, Person

_CODE = LinkCode.__table__  # type: ignore[attr-defined]
_LINK = Link.__table__  # type: ignore[attr-defined]
_PERSON = Person.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which look like digits
MINUTES = 10


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accounts: who asked for the code, and who sent it from elsewhere."""

    first: str
    second: str


def new_code(conn: Connection, person: str, now: dt.datetime) -> str:
    """A code of this person; an earlier one, and what was claimed with it, ends."""
    _forget(conn, person, now)
    code = "".join(secrets.choice(_LETTERS) for _ in range(4)) + f"-{secrets.randbelow(10_000):04}"
    conn.execute(insert(_CODE), _values(code, person, now + dt.timedelta(minutes=MINUTES)))
    return code


def owner_of(conn: Connection, code: str, now: dt.datetime) -> str | None:
    """Who asked for this code; None when it is unknown, expired or claimed already."""
    code = code.upper()
    row = conn.execute(select(_CODE).where(_CODE.c.code == code)).first()
    if row is None or "/" in code or row.expires_at <= now or _claimant(conn, code) is not None:
        return None
    owner: str = row.person_id
    return owner


def claim(conn: Connection, code: str, person: str, now: dt.datetime) -> None:
    """The code was sent by `person`; it waits for its owner's confirmation until it expires."""
    _forget(conn, person, now)
    expires = conn.execute(
        select(_CODE.c.expires_at).where(_CODE.c.code == code.upper())
    ).scalar_one()
    conn.execute(insert(_CODE), _values(f"{code.upper()}/{person}", person, expires))


def settle(
    conn: Connection, code: str, presser: str, now: dt.datetime, *, agreed: bool
) -> Pair | None:
    """The owner's answer to a claim, once and before it expires; None when it is not open or not the presser's."""
    row = conn.execute(select(_CODE).where(_CODE.c.code == code)).first()
    second = _claimant(conn, code)
    if row is None or second is None or row.person_id != presser or row.expires_at <= now:
        return None
    _forget(conn, row.person_id, now)
    if linked(conn, second):
        return None  # it was linked to somebody meanwhile
    if agreed:
        principal = principal_of(conn, row.person_id)
        values = {"person_id": second, "principal": principal, "created_at": now}
        conn.execute(insert(_LINK), values)
    return Pair(row.person_id, second)


def linked(conn: Connection, person: str) -> list[str]:
    """The other accounts of a person."""
    principal = principal_of(conn, person)
    query = select(_LINK.c.person_id).where(_LINK.c.principal == principal)
    everybody = [
        principal,
        *(row.person_id for row in conn.execute(query.order_by(_LINK.c.created_at))),
    ]
    return [other for other in everybody if other != person]


def remove(conn: Connection, person: str) -> list[str]:
    """Take a person out of the link; a principal's accounts are all on their own again. Returns who was linked."""
    others = linked(conn, person)
    conn.execute(delete(_LINK).where(or_(_LINK.c.person_id == person, _LINK.c.principal == person)))
    return others


def withdraw(conn: Connection, person: str, now: dt.datetime) -> bool:
    """Take back a code or a claim that is still open; false when there was none."""
    mine = select(_CODE.c.code).where(_CODE.c.person_id == person, _CODE.c.expires_at > now)
    had = conn.execute(mine).first() is not None
    _forget(conn, person, now)
    return had


def place_of(conn: Connection, person: str) -> str | None:
    """The private conversation in which a person wrote last, or None."""
    query = (
        select(_CONVERSATION.c.id)
        .join(_SESSION, _SESSION.c.id == _CONVERSATION.c.session_id)
        .join(_INBOX, _INBOX.c.conversation_id == _CONVERSATION.c.id)
        .where(_SESSION.c.owner == person, _CONVERSATION.c.private)
        .group_by(_CONVERSATION.c.id)
        .order_by(func.max(_INBOX.c.id).desc())
    )
    found: str | None = conn.execute(query.limit(1)).scalar()
    return found


def name_of(conn: Connection, person: str) -> str:
    """A person's name for showing; the id where there is none."""
    found = conn.execute(select(_PERSON.c.name).where(_PERSON.c.id == person)).scalar()
    return found or person


def _claimant(conn: Connection, code: str) -> str | None:
    query = select(_CODE.c.person_id).where(_CODE.c.code.startswith(f"{code}/", autoescape=True))
    found: str | None = conn.execute(query).scalar()
    return found


def _forget(conn: Connection, person: str, now: dt.datetime) -> None:
    """Take away a person's code with its claim, a claim of theirs, and whatever has expired."""
    own = conn.execute(select(_CODE.c.code).where(_CODE.c.person_id == person)).scalar()
    gone = [_CODE.c.expires_at <= now, _CODE.c.person_id == person]
    if own is not None and "/" not in own:
        gone.append(_CODE.c.code.startswith(f"{own}/", autoescape=True))
    conn.execute(delete(_CODE).where(or_(*gone)))


def _values(code: str, person: str, expires: dt.datetime) -> dict[str, object]:
    return {"code": code, "person_id": person, "expires_at": expires}
