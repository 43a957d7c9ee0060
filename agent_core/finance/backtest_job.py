"""One backtest from prices to figures: what the worker process does (work.py).

The whole window is traded once. A walk-forward split trades its two parts again, each from cash and each from a flat
start: what was found good in the first is believed only as far as it holds in the second.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core.finance.backtest import Leg, Run, simulate
from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_figures import Figures, figures, hold
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import WARM_UP
from agent_core.finance.rules import Rules
from agent_core.finance.rules_signals import Judge, Signals


@dataclass(frozen=True, slots=True)
class Asked:
    """A symbol's bars; those before `start` are known before the window and only warm the indicators up."""

    history: Bars
    start: int


@dataclass(frozen=True, slots=True)
class Request:
    """What to test. `benchmark`: windows to hold in equal parts; `split`: share of days in the first part, or None."""

    assets: tuple[Asked, ...]
    rules: Rules
    terms: Terms
    benchmark: tuple[Bars, ...]
    warm_up: bool = True
    split: float | None = None
    risk_free_pct: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        warm_up: Bars before the window that fed the indicators, the fewest of any symbol.
        undefined: By symbol, the operands that have no value in the window: it is too short for them.
        parts: The figures before and after the split; empty without one.
    """

    run: Run
    figures: Figures
    benchmark: list[float]
    warm_up: int
    undefined: dict[str, tuple[str, ...]]
    parts: tuple[Figures, ...] = ()


def compute(request: Request) -> Outcome:
    """The outcome. Each asset has at least one bar in the window."""
    legs, warm = [], []
    for asset in request.assets:
        bars = min(asset.start, WARM_UP) if request.warm_up else 0
        history = asset.history.rows(asset.start - bars, len(asset.history))
        signals = Judge(history, bars).signals(request.rules)
        legs.append(Leg(history.rows(bars, len(history)), signals))
        warm.append(bars)
    whole = _figured(legs, request)
    return replace(
        whole,
        warm_up=min(warm),
        undefined={
            leg.bars.symbol: tuple(map(str, leg.signals.undefined))
            for leg in legs
            if leg.signals.undefined
        },
        parts=_parts(legs, request, whole.run.dates),
    )


def _figured(legs: Sequence[Leg], request: Request) -> Outcome:
    run = simulate(legs, request.rules, request.terms)
    held = hold(request.benchmark, run.dates, request.terms.cash)
    interval = legs[0].bars.interval
    found = figures(run, held, interval, request.risk_free_pct)
    return Outcome(run, found, held, 0, {})


def _parts(legs: Sequence[Leg], request: Request, dates: Sequence[dt.date]) -> tuple[Figures, ...]:
    if request.split is None:
        return ()
    middle = round(len(dates) * request.split)
    spans = ((dates[0], dates[middle - 1]), (dates[middle], dates[-1]))
    found = []
    for first, last in spans:
        cut = [_cut(leg, first, last) for leg in legs]
        held = tuple(bars.window(first, last) for bars in request.benchmark)
        found.append(_figured(cut, replace(request, benchmark=held)).figures)
    return tuple(found)


def _cut(leg: Leg, first: dt.date, last: dt.date) -> Leg:
    """The leg between two days; its signals know what came before. May be empty."""
    begin = leg.bars.index_until(first - dt.timedelta(days=1)) + 1
    end = leg.bars.index_until(last) + 1
    signals = leg.signals
    return Leg(
        leg.bars.rows(begin, end),
        Signals(
            signals.entry[begin:end],
            signals.exit[begin:end],
            signals.short_entry[begin:end],
            signals.short_exit[begin:end],
        ),
    )
