"""The pots of a preset as the runtime knows them (guide "presets", 5)."""

from collections.abc import Callable

from agent_core.budget.pots import KINDS, OwnPots, Pot, nano
from swarm_presets.schema_rules import BudgetsPart, PeriodPot, RunPot


def own_pots(part: BudgetsPart | None, model: Callable[[str], str]) -> OwnPots:
    """Every pot that limits something; `model` resolves an alias."""
    if part is None:
        return OwnPots()
    written = ((kind, getattr(part, kind)) for kind in KINDS)
    pots = (_pot(kind, own, model) for kind, own in written if own is not None)
    return OwnPots(
        pots=tuple(pot for pot in pots if (pot.usd, pot.tokens, pot.runs) != (None, None, None)),
        reserve=part.reserve,
        unpriced=part.unpriced_models,
    )


def _pot(kind: object, own: RunPot | PeriodPot, model: Callable[[str], str]) -> Pot:
    return Pot(
        kind=kind,  # type: ignore[arg-type]
        usd=None if own.usd is None else nano(own.usd),
        tokens=own.tokens,
        runs=own.runs if isinstance(own, PeriodPot) else None,
        warn_at=own.warn_at,
        on_exceeded=own.on_exceeded or "stop_and_report",
        fallback_model=model(own.fallback_model) if own.fallback_model else "",
        of_preset=kind != "run",
    )


def run_time(part: BudgetsPart | None) -> float:
    """Seconds that a run may take by its pot; inf where nothing is written."""
    run = part.run if part else None
    return float("inf") if run is None or run.time is None else run.time
