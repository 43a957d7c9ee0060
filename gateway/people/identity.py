"""Who a person is and which language they speak.

Identities are stable ids, never display names (hermes#44729).
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, FromClause, bindparam, literal, select

from agent_core.storage.prepared import Prepared
from channels.types import Address, Author
from gateway.storage.tables import Link, Person

Language = Literal["en", "zh"]
_PERSON = Person.__table__  # type: ignore[attr-defined]
_LINK = Link.__table__  # type: ignore[attr-defined]
# What `known_of` takes.
COLUMNS = (
    _PERSON.c.language.label("own_language"),
    _PERSON.c.access.label("access"),
    _LINK.c.principal.label("principal"),
)
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Known:
    """`language` is the person's own choice or empty; `principal` owns memory, portfolio and budget."""

    language: str
    principal: str
    revoked: bool = False


def with_person(source: FromClause, person: ColumnElement[Any]) -> FromClause:
    """Rows of `source`, each with what is stored about its person, if anything is."""
    return source.outerjoin(_PERSON, _PERSON.c.id == person).outerjoin(
        _LINK, _LINK.c.person_id == person
    )


# On the path of each turn: prepared, and answered in one round trip.
_ONE = select(literal(1).label("one")).subquery()
_KNOWN = Prepared(select(*COLUMNS).select_from(with_person(_ONE, bindparam("person"))))


def known(conn: Connection, person: str) -> Known:
    """What is stored about a person."""
    return known_of(_KNOWN.execute(conn, {"person": person}).one(), person)


def known_of(row: Any, person: str) -> Known:
    """The same from its columns (`COLUMNS`). Somebody who linked another identity first is a principal of their own."""
    return Known(row.own_language or "", row.principal or person, row.access == "revoked")


def principal_of(conn: Connection, person: str) -> str:
    """Whose memory, portfolio and budget this person's turns use: another identity's once both were linked."""
    return known(conn, person).principal


def person_id(address: Address, author: Author) -> str:
    """`<channel>:<stable id>`, such as telegram:123 or web:alice."""
    return f"{address.channel}:{author.id}"


def language_of(text: str, platform: str | None, setting: str, own: str = "") -> Language:
    """The person's own choice, else the settings', else the words themselves, else what the platform says."""
    for fixed in (own, setting):
        if fixed in ("en", "zh"):
            return "zh" if fixed == "zh" else "en"
    if _HAN.search(text):
        return "zh"
    if re.search(r"[A-Za-z]{2}", text) and not text.startswith(("/", "!")):
        return "en"
    return "zh" if (platform or "").lower().startswith("zh") else "en"
