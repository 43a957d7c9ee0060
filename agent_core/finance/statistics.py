"""Figures about a series of closes. Percentages are in percent (6.3 means 6.3 %), never fractions."""

import datetime as dt
import math
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_core.finance.bars import Bars

TRADING_DAYS = 252
YEAR_DAYS = 365.25


@dataclass(frozen=True, slots=True)
class Drawdown:
    """The deepest fall from a high close to a later low close. `pct` is 0 or more; days are None when nothing fell."""

    pct: float
    peak: dt.date | None
    trough: dt.date | None


def change_pct(first: float, last: float) -> float:
    """From `first` to `last`, in percent of `first`."""
    return (last / first - 1) * 100


def max_drawdown(dates: Sequence[dt.date], close: Sequence[float]) -> Drawdown:
    """The maximum drawdown by closes; of equal ones the earliest."""
    worst = Drawdown(0.0, None, None)
    peak = 0
    for i, value in enumerate(close):
        if value > close[peak]:
            peak = i
        fall = -change_pct(close[peak], value)
        if fall > worst.pct:
            worst = Drawdown(fall, dates[peak], dates[i])
    return worst


def log_returns(close: Sequence[float]) -> list[float]:
    """ln(close / previous close), one fewer than there are closes."""
    return [math.log(b / a) for a, b in pairwise(close)]


def volatility_pct(close: Sequence[float]) -> float | None:
    """Yearly volatility: sample deviation of daily log returns × √252. None below three closes."""
    returns = log_returns(close)
    if len(returns) < 2:
        return None
    mean = sum(returns) / len(returns)
    variance = sum((r - mean) ** 2 for r in returns) / (len(returns) - 1)
    return math.sqrt(variance * TRADING_DAYS) * 100


def cagr_pct(dates: Sequence[dt.date], close: Sequence[float]) -> float | None:
    """Compound yearly growth. None below 360 days, where a yearly figure would mislead."""
    days = (dates[-1] - dates[0]).days
    if days < 360:
        return None
    growth = math.log(close[-1] / close[0])
    return (math.exp(growth * YEAR_DAYS / days) - 1) * 100


def months_before(day: dt.date, months: int) -> dt.date:
    """The same day of an earlier month, or that month's last day."""
    year, month0 = divmod(day.year * 12 + day.month - 1 - months, 12)
    return dt.date(year, month0 + 1, min(day.day, monthrange(year, month0 + 1)[1]))


def return_pct(bars: Bars, months: int) -> float | None:
    """Change of the last close against the last close on or before the day `months` earlier; None if there is none."""
    base = bars.index_until(months_before(bars.as_of, months))
    return None if base < 0 else change_pct(bars.close[base], bars.close[-1])


def extreme_days(bars: Bars) -> tuple[tuple[float, dt.date], tuple[float, dt.date]] | None:
    """The worst and the best daily change in percent, with their days. None below two bars."""
    changes = [
        (change_pct(a, b), day)
        for a, b, day in zip(bars.close, bars.close[1:], bars.dates[1:], strict=False)
    ]
    return (min(changes), max(changes)) if changes else None
