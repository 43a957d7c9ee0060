"""Who may talk to the bot: default deny, by stable ids (CHN-1).

A stranger gets a pairing code that an operator approves.

Order: a revoked person is out; operators and the allow list are in; an approved person is in; else
`access.default`.
"""

import datetime as dt
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    bindparam,
    delete,
    select,
    update,
)

from agent_core.storage.prepared import Prepared
from agent_core.storage.upsert import insert_into
from gateway.settings.access import Access
from gateway.storage.tables import Pairing, Person

_PERSON = Person.__table__  # type: ignore[attr-defined]
_PAIRING = Pairing.__table__  # type: ignore[attr-defined]
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which look like digits
PAIRING_HOURS = 24
LOCAL = frozenset({"web", "terminal"})  # whoever is in has shown a code or owns the machine

# What `standing_of` takes.
COLUMNS = (_PERSON.c.access.label("access"), _PERSON.c.language.label("own_language"))
_KNOWN = Prepared(select(*COLUMNS).where(_PERSON.c.id == bindparam("person")))


class Standing(NamedTuple):
    """What is stored about a person who may or may not talk; `language` is their own choice, or empty."""

    access: str
    language: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` is the pairing code to show; `language` the person's own choice."""

    allowed: bool
    code: str | None = None
    language: str = ""


class UnknownCode(Exception):
    """No such pairing code, or it has expired."""


def with_standing(source: FromClause, person: ColumnElement[Any]) -> FromClause:
    """Rows of `source`, each with what is stored about this person, if anything is."""
    return source.outerjoin(_PERSON, _PERSON.c.id == person)


def standing(conn: Connection, person: str) -> Standing | None:
    """What is stored about a person; None for somebody who is not known."""
    row = _KNOWN.execute(conn, {"person": person}).first()
    return None if row is None else standing_of(row)


def standing_of(row: Any) -> Standing | None:
    """The same from its columns (`COLUMNS`)."""
    return None if row.access is None else Standing(row.access, row.own_language)


def judge(
    conn: Connection,
    policy: Access,
    person: str,
    name: str,
    now: dt.datetime,
    known: Standing | None,
) -> Verdict:
    """Whether a person, of whom this is `known`, may talk; a stranger gets a pairing code where the settings say so."""
    if known is not None and known.access == "revoked":
        return Verdict(False)
    listed = person in policy.operators or person in policy.allow
    local = person.partition(":")[0] in LOCAL
    if known is not None or listed or local or policy.default == "allow":
        if known is None:
            _add(conn, person, name, now)
        return Verdict(True, language="" if known is None else known.language)
    if policy.default == "deny":
        return Verdict(False)
    return Verdict(False, _pairing_code(conn, person, name, now))


def is_allowed(conn: Connection, policy: Access, person: str) -> bool:
    """Whether this person may talk to the bot now, as `judge` has it; changes nothing."""
    known = standing(conn, person)
    if known is not None:
        return known.access != "revoked"
    listed = person in policy.operators or person in policy.allow
    return listed or person.partition(":")[0] in LOCAL or policy.default == "allow"


def _add(conn: Connection, person: str, name: str, now: dt.datetime) -> None:
    values = {
        "id": person,
        "name": name,
        "access": "allowed",
        "role": "user",
        "language": "",
        "created_at": now,
    }
    conn.execute(
        insert_into(conn.dialect.name, _PERSON).on_conflict_do_nothing(index_elements=["id"]),
        values,
    )


def _pairing_code(conn: Connection, person: str, name: str, now: dt.datetime) -> str:
    conn.execute(
        delete(_PAIRING).where(_PAIRING.c.person_id == person, _PAIRING.c.expires_at <= now)
    )
    code = "".join(secrets.choice(_LETTERS) for _ in range(4)) + f"-{secrets.randbelow(10_000):04}"
    expires = now + dt.timedelta(hours=PAIRING_HOURS)
    values = {"code": code, "person_id": person, "name": name, "expires_at": expires}
    conn.execute(
        insert_into(conn.dialect.name, _PAIRING).on_conflict_do_nothing(
            index_elements=["person_id"]
        ),
        values,
    )
    kept = select(_PAIRING.c.code).where(_PAIRING.c.person_id == person)
    return str(conn.execute(kept).scalar_one())


def approve(conn: Connection, code: str, now: dt.datetime) -> dict[str, str]:
    """Let in the person whom the code names, and nobody else. Raises UnknownCode."""
    row = conn.execute(select(_PAIRING).where(_PAIRING.c.code == code.strip().upper())).first()
    if row is None or row.expires_at <= now:
        raise UnknownCode(
            f"{code}: no such pairing code, or it has expired; the person writes again for a new one"
        )
    _add(conn, row.person_id, row.name, now)
    conn.execute(update(_PERSON).where(_PERSON.c.id == row.person_id).values(access="allowed"))
    conn.execute(delete(_PAIRING).where(_PAIRING.c.code == row.code))
    return {"id": row.person_id, "name": row.name, "access": "allowed"}


def revoke(conn: Connection, person: str) -> bool:
    """Shut a person out; false when nobody has this id."""
    done = conn.execute(
        update(_PERSON)
        .where(_PERSON.c.id == person)
        .values(access="revoked")
        .returning(_PERSON.c.id)
    )
    return done.first() is not None


def people(conn: Connection, now: dt.datetime) -> list[dict[str, str]]:
    """Everybody known, and everybody who waits with a code."""
    known = [
        {"id": r.id, "name": r.name, "access": r.access, "code": ""}
        for r in conn.execute(select(_PERSON).order_by(_PERSON.c.created_at))
    ]
    waiting = [
        {"id": r.person_id, "name": r.name, "access": "pairing", "code": r.code}
        for r in conn.execute(select(_PAIRING).where(_PAIRING.c.expires_at > now))
    ]
    return known + waiting
