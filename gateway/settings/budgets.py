"""The settings of budgets: how much may be spent by whom, and what happens then (DESIGN.md 7)."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from agent_core.budget.pots import KINDS, OnExceeded, Pot, Rules, Unpriced, nano
from gateway.settings.fields import ModelName, Money, PositiveInt, Section

_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s?([kM])")
_TIMES = {"k": 1_000, "M": 1_000_000}
DEFAULT_WARNING = 0.8  # guide "presets", appendix


def _count(value: object) -> object:
    """250k and 1.5M as numbers."""
    found = _COUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    return value if found is None else round(float(found[1]) * _TIMES[found[2]])


Share = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[PositiveInt, BeforeValidator(_count)]


class Budget(Section):
    """The size of one pot, in US dollars, tokens and turns; what is left out is without limit.

    `warn_at` and `on_exceeded` are the budgets' own where they are left out.
    """

    usd: Money | None = None
    tokens: Count | None = None
    runs: Count | None = None
    warn_at: Share | None = None
    on_exceeded: OnExceeded | None = None


class Budgets(Section):
    """Pots of a person, of a chat with all its threads, and of the whole installation, by local days and months.

    `reserve`: a call is made only where its worst case fits. `on_exceeded`: stop with a notice, answer with
    `fallback_model`, ask the operators to grant the pot once more, or wait until it begins anew.
    """

    user_day: Budget | None = Budget(usd=2.00)  # DESIGN.md 9; null: without limit
    user_month: Budget | None = None
    channel_day: Budget | None = None
    day: Budget | None = Budget(usd=25.00)
    month: Budget | None = None
    warn_at: Share | None = DEFAULT_WARNING
    on_exceeded: OnExceeded = "stop_and_report"
    fallback_model: ModelName = "demo"
    reserve: bool = True
    unpriced_models: Unpriced = "warn"

    def rules(self, zone: str) -> Rules:
        """The pots as the runtime knows them; days are those of `zone`."""
        named = ((kind, getattr(self, kind, None)) for kind in KINDS)
        pots = (self._pot(kind, own) for kind, own in named if own is not None)
        return Rules(
            pots=tuple(pots),
            zone=zone,
            reserve=self.reserve,
            unpriced=self.unpriced_models,
            fallback_model=self.fallback_model,
        )

    def _pot(self, kind: object, own: Budget) -> Pot:
        return Pot(
            kind=kind,  # type: ignore[arg-type]
            usd=None if own.usd is None else nano(own.usd),
            tokens=own.tokens,
            runs=own.runs,
            warn_at=self.warn_at if own.warn_at is None else own.warn_at,
            on_exceeded=own.on_exceeded or self.on_exceeded,
        )
