"""The state of a market: its trend, how rough it is against its own past, and how many of its members take part.

A market is one index, or several symbols with equal weights, balanced anew each day: the index moves by the mean of the
returns, each since its own last close, of the members that have a close on that day.

- Trend: the rule of trend.py on the index.
- Volatility: the last 20 days' yearly volatility, ranked among those of the year before: calm below the 33rd
  percentile, rough above the 80th, else normal.
- Breadth: the share of members whose last close is above their SMA50, and above their SMA200.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_core.finance import indicators, trend
from agent_core.finance.bars import Bars
from agent_core.finance.statistics import TRADING_DAYS, log_returns
from agent_core.finance.trend import Trend

SPAN = 20
LOOK_BACK = 320  # bars: a year of volatilities of 20 days, and SMA200
CALM, ROUGH = 33.0, 80.0
FEWEST_RANKED = 60  # volatilities to rank the last one among

Mood = Literal["calm", "normal", "rough", "unknown"]


@dataclass(frozen=True, slots=True)
class Index:
    """Levels by day; the first is 100."""

    dates: tuple[dt.date, ...]
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Regime:
    """The state at the index's last day. Percentages 0..100; None where there are too few bars to tell."""

    trend: Trend
    mood: Mood
    volatility: float | None
    rank: float | None
    above_sma50: float | None
    above_sma200: float | None


def equal_weight(members: Sequence[Bars]) -> Index:
    """The index of one or more members."""
    closes = [dict(zip(bars.dates, bars.close, strict=True)) for bars in members]
    days = sorted({day for bars in members for day in bars.dates})
    last: list[float | None] = [None] * len(members)
    levels: list[float] = []
    for day in days:
        moves = []
        for i, member in enumerate(closes):
            close, before = member.get(day), last[i]
            if close is not None and before is not None:
                moves.append(close / before)
            last[i] = close or before
        change = sum(moves) / len(moves) if moves else 1.0
        levels.append(levels[-1] * change if levels else 100.0)
    return Index(tuple(days), tuple(levels))


def recent(bars: Bars) -> Bars:
    """The bars that count for a regime."""
    return bars.rows(len(bars) - LOOK_BACK, len(bars))


def judge(members: Sequence[Bars]) -> Regime:
    """The regime of one or more members at their last day."""
    members = [recent(bars) for bars in members]
    levels = equal_weight(members).levels
    averages = [(indicators.sma(levels, n) or [None])[-1] for n in (20, 50)]
    volatility, rank = _volatility(levels)
    return Regime(
        trend=trend.classify(levels, *averages),
        mood=_mood(rank),
        volatility=volatility,
        rank=rank,
        above_sma50=_breadth(members, 50),
        above_sma200=_breadth(members, 200),
    )


def _volatility(levels: Sequence[float]) -> tuple[float | None, float | None]:
    """The last rolling volatility, and the percent of those of a year that it is above."""
    rolling = rolling_volatility(levels)[-TRADING_DAYS:]
    if not rolling:
        return None, None
    last = rolling[-1]
    if len(rolling) < FEWEST_RANKED:
        return last, None
    return last, sum(1 for v in rolling if v < last) / len(rolling) * 100


def rolling_volatility(levels: Sequence[float], span: int = SPAN) -> list[float]:
    """Yearly volatility in percent of each `span` returns: root of the mean of squared log returns × √252."""
    squares = [r * r for r in log_returns(levels)]
    found = []
    total = sum(squares[:span])
    for i in range(span, len(squares) + 1):
        if i > span:
            total += squares[i - 1] - squares[i - 1 - span]
        found.append((max(total, 0.0) / span * TRADING_DAYS) ** 0.5 * 100)
    return found


def _mood(rank: float | None) -> Mood:
    if rank is None:
        return "unknown"
    return "calm" if rank < CALM else "rough" if rank > ROUGH else "normal"


def _breadth(members: Sequence[Bars], period: int) -> float | None:
    able = [bars for bars in members if len(bars) >= period]
    if not able:
        return None
    above = sum(1 for b in able if b.close[-1] > sum(b.close[-period:]) / period)
    return above / len(able) * 100
