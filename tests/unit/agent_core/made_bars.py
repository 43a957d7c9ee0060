"""Bars written by hand, for tests of what is computed from them; and the runs of rules over them."""

import datetime as dt
from array import array
from collections.abc import Sequence
from typing import Any

from agent_core.finance.backtest import Leg, Run, simulate
from agent_core.finance.backtest_account import Terms
from agent_core.finance.bars import Bars, Dividend
from agent_core.finance.rules import read_rules
from agent_core.finance.rules_signals import Judge, Signals

DAY_0 = dt.date(2020, 1, 6)


def days(count: int) -> tuple[dt.date, ...]:
    """Consecutive days."""
    return tuple(DAY_0 + dt.timedelta(days=i) for i in range(count))


def bars_of(
    open_: Sequence[float],
    close: Sequence[float] | None = None,
    *,
    high: Sequence[float] | None = None,
    low: Sequence[float] | None = None,
    volume: Sequence[float] | None = None,
    symbol: str = "TEST",
    dates: Sequence[dt.date] | None = None,
    dividends: tuple[Dividend, ...] = (),
) -> Bars:
    """Bars whose highs and lows are those of open and close, unless they are given."""
    close = open_ if close is None else close
    pairs = list(zip(open_, close, strict=True))
    return Bars(
        symbol=symbol,
        currency="USD",
        source="made",
        dates=tuple(dates or days(len(open_))),
        open=array("d", open_),
        high=array("d", high or [max(pair) for pair in pairs]),
        low=array("d", low or [min(pair) for pair in pairs]),
        close=array("d", close),
        volume=array("d", volume or [100.0] * len(open_)),
        dividends=dividends,
    )


def marks(length: int, at: Sequence[int]) -> list[bool]:
    """True at these bars."""
    return [i in at for i in range(length)]


def leg(
    bars: Bars,
    entry: Sequence[int] = (),
    exit_: Sequence[int] = (),
    short_entry: Sequence[int] = (),
    short_exit: Sequence[int] = (),
) -> Leg:
    """The bars with signals at these bars."""
    n = len(bars)
    signals = Signals(marks(n, entry), marks(n, exit_), marks(n, short_entry), marks(n, short_exit))
    return Leg(bars, signals)


def run(*legs: Leg, terms: Terms | None = None, **sizing: Any) -> Run:
    """The legs traded; `sizing` are fields of Rules, such as stop_loss_pct."""
    rules = read_rules({"entry": {"gt": ["close", 0]}, **sizing})
    return simulate(legs, rules, terms or Terms(cash=1000.0))


def judged(bars: Bars, start: int = 0, **rules: Any) -> Signals:
    """The signals of rules over bars, from `start` on."""
    return Judge(bars, start).signals(read_rules(rules))
