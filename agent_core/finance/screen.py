"""Screening: measures of each symbol, bounds on them, an order. Pure functions over bars.

Measures, at the last bar, with their usual number of days:

- return_pct 63: change of the close against that of so many bars before.
- distance_to_high_pct 252: how far the close lies below the highest high of so many bars; 0 at the high.
- rsi 14: Wilder's, over up to 400 bars. volatility_pct 63: yearly, of so many daily log returns.
- above_sma_pct 50: how far the close lies above (below: negative) its average.
- volume_ratio 50: the last volume over the mean of so many before it.

A symbol with too few bars for a measure, or whose volumes mean nothing where one is asked for, is left out with the
reason; so is one whose prices end more than STALE before the newest of all. It never counts as having failed a bound.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from agent_core.finance import indicators, quality
from agent_core.finance.bars import Bars
from agent_core.finance.statistics import change_pct, volatility_pct

Measure = Literal[
    "return_pct", "distance_to_high_pct", "rsi", "volatility_pct", "above_sma_pct", "volume_ratio"
]
MEASURES: tuple[Measure, ...] = get_args(Measure)
DAYS: dict[Measure, int] = {
    "return_pct": 63, "distance_to_high_pct": 252, "rsi": 14, "volatility_pct": 63, "above_sma_pct": 50,
    "volume_ratio": 50,
}  # fmt: skip
MOST_DAYS = 1260
WARM_UP = 400
STALE = dt.timedelta(days=10)

Why = Literal["too few bars", "no volume", "stale", "no prices"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A measure over `days`, and the bounds that it must lie within, both included; None leaves a side open."""

    measure: Measure
    days: int
    least: float | None = None
    most: float | None = None

    @property
    def label(self) -> str:
        """As it is shown: return_pct(63)."""
        return f"{self.measure}({self.days})"

    @property
    def bars(self) -> int:
        """Bars that the measure needs."""
        return self.days + (self.measure in {"return_pct", "rsi", "volatility_pct", "volume_ratio"})


@dataclass(frozen=True, slots=True)
class Row:
    """One symbol's figures, by label; `failed` is the label of the first bound that it broke, "" for none."""

    symbol: str
    close: float
    currency: str
    source: str
    as_of: dt.date
    figures: dict[str, float]
    failed: str


@dataclass(frozen=True, slots=True)
class Left:
    """A symbol that could not be judged, and why."""

    symbol: str
    why: Why
    detail: str


def tail_needed(wanted: Sequence[Wanted]) -> int:
    """How many bars of a series are enough to measure all of these."""
    return max((w.bars + (WARM_UP if w.measure == "rsi" else 0) for w in wanted), default=1)


def judge(series: Sequence[Bars], wanted: Sequence[Wanted]) -> list[Row | Left]:
    """One verdict a series, in their order. `wanted` may repeat a measure with other days or bounds."""
    return [_judge(bars, wanted) for bars in series]


def without_stale(verdicts: Sequence[Row | Left]) -> list[Row | Left]:
    """The verdicts, with those rows left out whose prices end long before the newest of all."""
    newest = max((v.as_of for v in verdicts if isinstance(v, Row)), default=None)
    return [
        Left(v.symbol, "stale", str(v.as_of))
        if isinstance(v, Row) and newest and newest - v.as_of > STALE
        else v
        for v in verdicts
    ]


def ranked(rows: Sequence[Row], by: str, descending: bool) -> list[Row]:
    """The rows by a figure's label; equal ones by symbol."""
    sign = -1 if descending else 1
    return sorted(rows, key=lambda row: (sign * row.figures[by], row.symbol))


def _judge(bars: Bars, wanted: Sequence[Wanted]) -> Row | Left:
    figures: dict[str, float] = {}
    failed = ""
    for one in wanted:
        if len(bars) < one.bars:
            return Left(bars.symbol, "too few bars", f"{one.label}: {len(bars)} < {one.bars}")
        if one.measure == "volume_ratio" and not _has_volume(bars, one.days):
            return Left(bars.symbol, "no volume", one.label)
        value = _MEASURED[one.measure](bars, one.days)
        if value is None:
            return Left(bars.symbol, "too few bars", one.label)
        figures[one.label] = value
        within = (one.least is None or value >= one.least) and (
            one.most is None or value <= one.most
        )
        failed = failed or ("" if within else one.label)
    return Row(bars.symbol, bars.close[-1], bars.currency, bars.source, bars.as_of, figures, failed)


def _has_volume(bars: Bars, days: int) -> bool:
    part = bars.rows(len(bars) - days - 1, len(bars))
    return quality.check(part).traded and sum(part.volume[:-1]) > 0


def _rsi(bars: Bars, days: int) -> float | None:
    return indicators.rsi(bars.close[-(WARM_UP + days) :], days)[-1]


def _volume_ratio(bars: Bars, days: int) -> float:
    before = bars.volume[-days - 1 : -1]
    return bars.volume[-1] / (sum(before) / len(before))


_MEASURED: dict[Measure, Callable[[Bars, int], float | None]] = {
    "return_pct": lambda b, n: change_pct(b.close[-n - 1], b.close[-1]),
    "distance_to_high_pct": lambda b, n: -change_pct(max(b.high[-n:]), b.close[-1]),
    "rsi": _rsi,
    "volatility_pct": lambda b, n: volatility_pct(b.close[-n - 1 :]),
    "above_sma_pct": lambda b, n: change_pct(sum(b.close[-n:]) / n, b.close[-1]),
    "volume_ratio": _volume_ratio,
}
