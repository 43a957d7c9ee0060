"""Letters about pots: to the person whose turn it is, and to the operators where they talk to the bot."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.budget.ledger import share
from agent_core.budget.pots import NANO, OF_PRESETS, Pot, resets_at
from agent_core.budget.words import moment, name_of, size_of
from agent_core.storage.ledger import PotRow
from agent_core.storage.tables import Session
from channels.types import Address
from gateway import identity, outbox
from gateway.draft import Draft
from gateway.identity import Language
from gateway.tables import Conversation
from gateway.texts import say

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_OWN = ("web", "terminal")  # where nobody may look: a page that is closed, a window

Letters = list[tuple[int, Draft]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operator is told something."""

    person: str
    address: Address
    language: Language


def places(conn: Connection, operators: Sequence[str], setting: str) -> list[Place]:
    """The private conversations of the operators who have one: each one's newest, on a platform before others."""
    query = (
        select(_SESSION.c.owner, _CONVERSATION.c.address)
        .join(_SESSION, _SESSION.c.id == _CONVERSATION.c.session_id)
        .where(_CONVERSATION.c.private, _SESSION.c.owner.in_(list(operators)))
        .order_by(_CONVERSATION.c.created_at)
    )
    found: dict[str, Address] = {}
    for row in conn.execute(query):
        address = Address.parse(row.address)
        if row.owner not in found or address.channel not in _OWN:
            found[row.owner] = address
    return [
        Place(person, address, _language(conn, person, setting))
        for person, address in found.items()
    ]


def _language(conn: Connection, person: str, setting: str) -> Language:
    own = identity.known(conn, person).language or setting
    return "zh" if own == "zh" else "en"


def unit_of(pot: Pot, row: PotRow) -> str:
    """The unit in which a pot is nearest to its end."""
    sizes = {"usd": (row.usd, pot.usd), "tokens": (row.tokens, pot.tokens)}
    sizes["runs"] = (row.runs, pot.runs)
    known = {unit: used / size for unit, (used, size) in sizes.items() if size}
    return max(known, key=lambda unit: known[unit], default="usd")


def size(pot: Pot, unit: str, language: Language) -> str:
    """The size of a pot for people."""
    amount = getattr(pot, unit) or 0
    return size_of(unit, amount / NANO if unit == "usd" else amount, language)


def when(pot: Pot, now: dt.datetime, zone: str) -> str:
    """When a pot begins anew, for people."""
    at = resets_at(pot.kind, now, zone)
    return "—" if at is None else moment(at)


def warning(
    conn: Connection,
    pot: Pot,
    row: PotRow,
    told: Sequence[Place],
    *,
    turn_id: int,
    person: Place,
    now: dt.datetime,
    zone: str,
) -> Letters:
    """Tell the person, and each operator, that a pot goes to its end. Stored here; sent after the commit."""
    at, part = when(pot, now, zone), f"{100 * share(pot, row):.0f}"
    run = "_run" if pot.kind == "run" else ""
    text = say(
        f"budget_warning{run}",
        person.language,
        share=part,
        pot=name_of(pot.kind, person.language),
        at=at,
    )
    drafts = [Draft(turn_id, f"budget:{row.id}", person.person, person.address, text)]
    for place in told:
        if place.address == person.address:
            continue
        words = say(
            f"budget_warning_ops{run}",
            place.language,
            kind=row.kind,
            key=key_of(row, place.language),
            share=part,
            size=size(pot, unit_of(pot, row), place.language),
            at=at,
        )
        key = f"budget:{row.id}:{place.person}"
        drafts.append(Draft(turn_id, key, place.person, place.address, words))
    return [(outbox.put(conn, draft, now), draft) for draft in drafts]


def key_of(row: PotRow, language: Language) -> str:
    """Whose pot it is, for operators."""
    key = row.key.removesuffix(OF_PRESETS)
    whose = f"`{key}`" if key else say("budget_everybody", language)
    return whose + (say("budget_of_presets", language) if key != row.key else "")
