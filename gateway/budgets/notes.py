"""Letters about pots: to the person whose turn it is, and to the operators where they talk to the bot."""

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import Connection

from agent_core.budget.ledger import share
from agent_core.budget.pots import NANO, OF_PRESETS, Pot, resets_at
from agent_core.budget.words import moment, name_of, size_of
from agent_core.storage.ledger import PotRow
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.people.identity import Language
from gateway.people.operators import Place
from gateway.texts.texts import say

Letters = list[tuple[int, Draft]]


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
