"""What the questions about the bundled prices should be answered with, from the raw files and textbook formulas alone.

Nothing here comes from the code that answers them: its own reader, its own splits, its own arithmetic.
"""

import csv
import datetime as dt
import gzip
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

SYMBOLS = ("AAPL", "GOOG", "IBM", "MSFT")
DATA = files("agent_core") / "finance" / "data"


@dataclass(frozen=True)
class Day:
    """One row of a file."""

    date: dt.date
    high: float
    low: float
    close: float
    volume: float


@dataclass(frozen=True)
class Expected:
    """Numbers with the decimals that they are told with, and words such as days and codes."""

    numbers: tuple[tuple[float, int], ...]
    words: tuple[str, ...] = ()


@cache
def raw(symbol: str) -> tuple[Day, ...]:
    text = gzip.decompress((DATA / f"{symbol}.csv.gz").read_bytes()).decode()
    return tuple(
        Day(
            dt.date.fromisoformat(r["date"]),
            *(float(r[key]) for key in ("high", "low", "close", "volume")),
        )
        for r in csv.DictReader(text.splitlines())
    )


@cache
def splits(symbol: str) -> tuple[tuple[dt.date, float], ...]:
    rows = csv.DictReader((DATA / "splits.csv").read_text().splitlines())
    return tuple(
        (dt.date.fromisoformat(r["date"]), float(r["ratio"])) for r in rows if r["symbol"] == symbol
    )


@cache
def until(symbol: str, end: dt.date | None = None) -> tuple[Day, ...]:
    """All days up to `end`, in the shares of the last day: what was before a split is divided by its ratio."""
    found = []
    for day in raw(symbol):
        if end is None or day.date <= end:
            ratio = math.prod(r for at, r in splits(symbol) if day.date < at)
            high, low, close = (value / ratio for value in (day.high, day.low, day.close))
            found.append(Day(day.date, high, low, close, day.volume * ratio))
    return tuple(found)


def window(q: dict[str, Any], symbol: str | None = None) -> tuple[Day, ...]:
    days = until(symbol or q["symbol"], q["end"])
    return tuple(day for day in days if day.date >= q["start"])


def closes(days: Sequence[Day]) -> list[float]:
    return [day.close for day in days]


def percent(first: float, last: float) -> float:
    return 100 * (last - first) / first


def returns(values: Sequence[float]) -> list[float]:
    return [b / a - 1 for a, b in pairwise(values)]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def covariance(a: Sequence[float], b: Sequence[float]) -> float:
    ma, mb = mean(a), mean(b)
    return sum((x - ma) * (y - mb) for x, y in zip(a, b, strict=True)) / (len(a) - 1)


def change(q: dict[str, Any]) -> Expected:
    days = window(q)
    first, last = days[0].close, days[-1].close
    return Expected(((percent(first, last), 2), (first, 2), (last, 2)), (str(days[0].date),))


def last_close(q: dict[str, Any]) -> Expected:
    days = window(q)
    return Expected(((days[-1].close, 2),), (str(days[-1].date),))


def high(q: dict[str, Any]) -> Expected:
    best = max(window(q), key=lambda day: day.high)
    return Expected(((best.high, 2),), (str(best.date),))


def low(q: dict[str, Any]) -> Expected:
    worst = min(window(q), key=lambda day: day.low)
    return Expected(((worst.low, 2),), (str(worst.date),))


def yearly_return(q: dict[str, Any]) -> Expected:
    before = [day for day in until(q["symbol"], q["end"]) if day.date < q["start"]][-1]
    return Expected(((percent(before.close, window(q)[-1].close), 2),), (str(before.date),))


def average_volume(q: dict[str, Any]) -> Expected:
    return Expected(((mean([day.volume for day in window(q)]), 0),))


def compared(q: dict[str, Any]) -> Expected:
    moved = {s: percent(window(q, s)[0].close, window(q, s)[-1].close) for s in q["symbols"]}
    best = max(moved, key=lambda s: moved[s])
    return Expected(tuple((value, 2) for value in moved.values()), (f"**{best}**",))


def drawdown(q: dict[str, Any]) -> Expected:
    days = window(q)
    worst, peak, trough = 0.0, days[0], days[0]
    for at, day in enumerate(days):
        top = max(days[: at + 1], key=lambda d: d.close)
        fall = percent(top.close, day.close)
        if fall < worst:
            worst, peak, trough = fall, top, day
    return Expected(((-worst, 2),), (str(peak.date), str(trough.date)))


def volatility(q: dict[str, Any]) -> Expected:
    logs = [math.log(b / a) for a, b in pairwise(closes(window(q)))]
    return Expected(((100 * math.sqrt(252 * covariance(logs, logs)), 2),))


def wilder(values: Sequence[float], period: int = 14) -> float:
    steps = [b - a for a, b in pairwise(values)]
    up = mean([max(s, 0.0) for s in steps[:period]])
    down = mean([max(-s, 0.0) for s in steps[:period]])
    for step in steps[period:]:
        up = (up * (period - 1) + max(step, 0.0)) / period
        down = (down * (period - 1) + max(-step, 0.0)) / period
    return 100 - 100 / (1 + up / down)


def rsi(q: dict[str, Any]) -> Expected:
    return Expected(((wilder(closes(until(q["symbol"], q["end"]))), 2),))


def averages(q: dict[str, Any]) -> Expected:
    values = closes(until(q["symbol"], q["end"]))
    return Expected(tuple((mean(values[-n:]), 2) for n in q["days"]))


def _paired(q: dict[str, Any]) -> tuple[list[float], list[float]]:
    a, b = ({day.date: day.close for day in window(q, s)} for s in q["symbols"])
    common = sorted(a.keys() & b.keys())
    return returns([a[d] for d in common]), returns([b[d] for d in common])


def beta(q: dict[str, Any]) -> Expected:
    a, b = _paired(q)
    return Expected(((covariance(a, b) / covariance(b, b), 3),), (q["symbols"][1],))


def correlation(q: dict[str, Any]) -> Expected:
    a, b = _paired(q)
    return Expected(((covariance(a, b) / math.sqrt(covariance(a, a) * covariance(b, b)), 2),))


def value_at_risk(q: dict[str, Any]) -> Expected:
    ordered = sorted(returns(closes(window(q))))
    place = 0.05 * (len(ordered) - 1)
    below = math.floor(place)
    value = ordered[below] + (ordered[below + 1] - ordered[below]) * (place - below)
    return Expected(((-100 * value, 2),))


def overview(_: dict[str, Any]) -> Expected:
    numbers: list[tuple[float, int]] = []
    for symbol in SYMBOLS:
        days = until(symbol)
        last = days[-1]
        year_ago = [d for d in days if d.date <= last.date.replace(year=last.date.year - 1)][-1]
        month_ago = [d for d in days if d.date <= last.date.replace(month=2)][-1]
        numbers += [(last.close, 2), (percent(days[-2].close, last.close), 2)]
        numbers += [(percent(d.close, last.close), 2) for d in (month_ago, year_ago)]
    return Expected(tuple(numbers), SYMBOLS)


def position_size(q: dict[str, Any]) -> Expected:
    entry = until(q["symbol"])[-1].close
    units = math.floor(q["account"] * q["risk_pct"] / 100 / (entry - q["stop"]))
    return Expected(((units, 0), (units * (entry - q["stop"]), 2)))


def _screened(measure: Callable[[list[float]], float], holds: Callable[[float], bool]) -> Expected:
    found = {symbol: measure(closes(until(symbol))) for symbol in SYMBOLS}
    kept = {symbol: value for symbol, value in found.items() if holds(value)}
    return Expected(tuple((value, 2) for value in kept.values()), tuple(f"| {s} |" for s in kept))


def above_average(q: dict[str, Any]) -> Expected:
    return _screened(lambda c: percent(mean(c[-q["days"] :]), c[-1]), lambda v: v >= 0)


def rsi_below(q: dict[str, Any]) -> Expected:
    return _screened(wilder, lambda v: v <= q["bound"])


def rsi_above(q: dict[str, Any]) -> Expected:
    return _screened(wilder, lambda v: v >= q["bound"])


KINDS: dict[str, Callable[[dict[str, Any]], Expected]] = {
    f.__name__: f
    for f in (
        change, last_close, high, low, yearly_return, average_volume, compared, drawdown, volatility, rsi, averages,
        beta, correlation, value_at_risk, overview, position_size, above_average, rsi_below, rsi_above,
    )
}  # fmt: skip
