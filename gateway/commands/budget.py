"""/budget: every pot that applies to the person here, what of it is used, set aside, and when it begins anew."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.budget.ledger import refs
from agent_core.budget.pots import NANO, OwnPots, Payer, Pot, Rules, tightened
from agent_core.budget.words import size_of
from agent_core.storage import ledger
from agent_core.storage.ledger import PotRow
from gateway.budgets.notes import when
from gateway.inbound.conversation import Lane
from gateway.people import identity
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked


def handlers(
    rules: Rules, own: Callable[[Lane], OwnPots]
) -> dict[str, Callable[[Connection, "Asked"], str]]:
    """The command of this file by name. `own` gives the pots of the preset that a conversation uses."""
    return {"budget": lambda conn, asked: _budget(conn, asked, tightened(rules, own(asked.lane)))}


def _budget(conn: Connection, asked: "Asked", rules: Rules) -> str:
    language = asked.language
    if not rules.pots:
        return say("budget_none", language)
    lasting = [pot for pot in rules.pots if pot.kind != "run"]
    shown = [pot for pot in lasting if asked.lane.private or not pot.kind.startswith("user_")]
    principal = identity.principal_of(conn, asked.person)
    payer = Payer(principal, str(replace(asked.lane.address, thread=None)), 0)
    wanted = refs(shown, payer, asked.now, rules.zone)
    rows = {(row.kind, row.key): row for row in ledger.pots_of(conn, wanted)} if wanted else {}
    lines = [f"- {_run_line(pot, asked)}" for pot in rules.pots if pot.kind == "run"]
    lines += [
        f"- {_line(pot, rows.get((pot.kind, payer.key(pot))), asked, rules.zone)}" for pot in shown
    ]
    head = say("budget_head", language, zone=rules.zone)
    parts = [head, "", *lines] if lines else []
    if len(shown) < len(lasting):  # what a person does elsewhere is no matter of a group
        parts += [*([""] if parts else []), say("budget_private", language)]
    return "\n".join(parts)


def _run_line(pot: Pot, asked: "Asked") -> str:
    sizes = ((unit, size) for unit in ("usd", "tokens") if (size := getattr(pot, unit)) is not None)
    shown = " · ".join(_shown(unit, size, asked) for unit, size in sizes)
    return say("budget_run", asked.language, sizes=shown)


def _line(pot: Pot, row: PotRow | None, asked: "Asked", zone: str) -> str:
    language = asked.language
    own = pot if row is None else pot.raised(row.raised)
    units = ("usd", "tokens", "runs")
    used = {unit: 0 if row is None else getattr(row, unit) for unit in units}
    parts = [
        say(
            "budget_part",
            language,
            used=_shown(unit, used[unit], asked),
            size=_shown(unit, size, asked),
        )
        for unit in units
        if (size := getattr(own, unit)) is not None
    ]
    more = _held(own, row, asked)
    if row is not None and row.unpriced and own.usd is not None:
        more += say("budget_unpriced", language, count=row.unpriced)
    if row is not None and row.raised:
        more += say("budget_raised", language)
    more += say("budget_resets", language, at=when(pot, asked.now, zone))
    name = say(f"budget_name_{pot.kind}", language)
    name += say("budget_of_presets", language) if pot.of_preset else ""
    return say("budget_line", language, name=name, parts=" · ".join(parts), more=more)


def _held(pot: Pot, row: PotRow | None, asked: "Asked") -> str:
    if row is None:
        return ""
    held = [("usd", row.usd_held, pot.usd), ("tokens", row.tokens_held, pot.tokens)]
    shown = [_shown(unit, amount, asked) for unit, amount, size in held if amount and size]
    return say("budget_held", asked.language, held=" · ".join(shown)) if shown else ""


def _shown(unit: str, amount: int, asked: "Asked") -> str:
    return size_of(unit, amount / NANO if unit == "usd" else amount, asked.language)
