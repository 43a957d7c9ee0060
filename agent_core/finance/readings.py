"""Indicators as a person asks for them: sma50, rsi, macd; their lines over a window, crossings, and how warm they are.

A name is one of NAMES, with a period where it takes one (ema20). Each reading states how many bars it needs for its
first value. Smoothed ones (ema, rsi, macd, atr, adx) also depend on where the series begins: they count as settled once
less than a hundredth of a percent of their seed is left, or about that.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from typing import Literal

from agent_core.finance import indicators
from agent_core.finance.bars import Bars
from agent_core.finance.crossings import Crossing, Line, crossings
from agent_core.finance.indicators import Values

PERIODS = {
    "sma": 20,
    "ema": 20,
    "rsi": 14,
    "boll": 20,
    "atr": 14,
    "stoch": 14,
    "adx": 14,
    "donchian": 20,
}
NAMES = ("sma", "ema", "rsi", "macd", "boll", "atr", "stoch", "obv", "vwap", "adx", "donchian")
SHORTEST, LONGEST = 2, 250
_ALIASES = {"bb": "boll", "bollinger": "boll", "stochastic": "stoch", "ma": "sma"}
_NAME = re.compile(r"([a-z]+)[ _(]?(\d{1,4})?\)?")

Unit = Literal["price", "score", "shares"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One indicator with its period; None where it takes none."""

    name: str
    period: int | None

    @property
    def label(self) -> str:
        """As it is shown: sma50, macd."""
        return f"{self.name}{self.period or ''}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One indicator over a window: its lines by name, one value a bar; the crossings within the window, in order.

    `needs` bars give the first value. `settled` tells whether the last value no longer shows where the series begins.
    """

    label: str
    unit: Unit
    lines: dict[str, Values]
    crossings: tuple[Crossing, ...]
    needs: int
    settled: bool


def parse(written: str) -> Asked:
    """The indicator that is meant. Raises ValueError with the names that there are."""
    match = _NAME.fullmatch(written.strip().lower())
    name = _ALIASES.get(match[1], match[1]) if match else ""
    if match is None or name not in NAMES:
        near = get_close_matches(written.lower(), NAMES, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"no indicator is named {written!r}; {guess}there are {', '.join(NAMES)}")
    if match[2] is None:
        return Asked(name, PERIODS.get(name))
    period = int(match[2])
    if name not in PERIODS:
        raise ValueError(f"{name} takes no period; ask for {name} alone")
    if not SHORTEST <= period <= LONGEST:
        raise ValueError(f"{written!r}: a period is {SHORTEST} to {LONGEST} bars")
    return Asked(name, period)


def read(asked: Sequence[Asked], history: Bars, shown: int) -> list[Reading]:
    """The readings over the last `shown` bars of `history`, in the order asked; what came before warms them up.

    Of two averages of one kind that are asked for together, the slower one has the crossings of both: sma20/sma50.
    """
    made = {one.label: _one(one, history, shown) for one in dict.fromkeys(asked)}
    days = history.dates[-shown:]
    averages = sorted((r for r in made.values() if r.label[:3] in {"sma", "ema"}), key=_needs)
    for fast, slow in combinations(averages, 2):
        if fast.label[:3] == slow.label[:3]:
            lines = fast.lines[fast.label], slow.lines[slow.label]
            both = crossings(days, f"{fast.label}/{slow.label}", *lines)
            before = made[slow.label]
            made[slow.label] = replace(before, crossings=_in_time([*before.crossings, *both]))
    return list(made.values())


def _needs(reading: Reading) -> int:
    return reading.needs


def _one(asked: Asked, history: Bars, shown: int) -> Reading:
    lines, unit = _LINES[asked.name](history, shown, asked.period or 0)
    window = history.rows(len(history) - shown, len(history))
    cut = {name: values[-shown:] for name, values in lines.items()}
    needs, settles = _warm_up(asked)
    return Reading(
        asked.label,
        unit,
        cut,
        _crossed(asked, window, cut),
        needs,
        len(history) >= needs + settles,
    )


def _warm_up(asked: Asked) -> tuple[int, int]:
    """Bars until the first value, and further ones until a smoothed value has settled."""
    n = asked.period or 1
    return {
        "ema": (n, 5 * n),
        "rsi": (n + 1, 9 * n),
        "macd": (34, 5 * 26),
        "atr": (n, 9 * n),
        "adx": (2 * n, 9 * n),
        "stoch": (n, 0),
    }.get(asked.name, (n, 0))


_Lines = tuple[dict[str, Values], Unit]


def _average(of: Callable[[Sequence[float], int], Values], name: str) -> Callable[..., _Lines]:
    return lambda bars, shown, n: ({f"{name}{n}": of(bars.close, n)}, "price")


def _macd(bars: Bars, shown: int, n: int) -> _Lines:
    del shown, n
    found = indicators.macd(bars.close)
    return {"macd": found.line, "signal": found.signal, "histogram": found.histogram}, "price"


def _boll(bars: Bars, shown: int, n: int) -> _Lines:
    del shown
    bands = indicators.bollinger(bars.close, n)
    return {
        "upper": bands.upper,
        "middle": indicators.sma(bars.close, n),
        "lower": bands.lower,
    }, "price"


def _stoch(bars: Bars, shown: int, n: int) -> _Lines:
    del shown
    found = indicators.stochastic(bars, n)
    return {"k": found.k, "d": found.d}, "score"


def _adx(bars: Bars, shown: int, n: int) -> _Lines:
    del shown
    found = indicators.adx(bars, n)
    return {"adx": found.adx, "plus_di": found.plus, "minus_di": found.minus}, "score"


def _donchian(bars: Bars, shown: int, n: int) -> _Lines:
    del shown
    bands = indicators.donchian(bars, n)
    return {"upper": bands.upper, "lower": bands.lower}, "price"


_LINES: dict[str, Callable[[Bars, int, int], _Lines]] = {
    "sma": _average(indicators.sma, "sma"),
    "ema": _average(indicators.ema, "ema"),
    "rsi": lambda bars, shown, n: ({"rsi": indicators.rsi(bars.close, n)}, "score"),
    "macd": _macd,
    "boll": _boll,
    "atr": lambda bars, shown, n: ({"atr": indicators.atr(bars, n)}, "price"),
    "stoch": _stoch,
    "obv": lambda bars, shown, n: ({"obv": indicators.obv(bars.rows(len(bars) - shown, len(bars)))}, "shares"),
    "vwap": lambda bars, shown, n: ({"vwap": indicators.vwap(bars.rows(len(bars) - shown, len(bars)))}, "price"),
    "adx": _adx,
    "donchian": _donchian,
}  # fmt: skip


def _crossed(asked: Asked, window: Bars, lines: dict[str, Values]) -> tuple[Crossing, ...]:
    watched = _WATCHED.get(asked.name, _nothing)(asked.label, window.close, lines)
    found = [crossings(window.dates, what, line, other) for what, line, other in watched]
    return _in_time([c for one in found for c in one])


def _in_time(found: list[Crossing]) -> tuple[Crossing, ...]:
    return tuple(sorted(found, key=lambda c: c.date))


_Watched = list[tuple[str, Line, Line | float]]


def _nothing(label: str, close: Line, lines: dict[str, Values]) -> _Watched:
    del label, close, lines
    return []


def _against_close(label: str, close: Line, lines: dict[str, Values]) -> _Watched:
    return [(f"close/{label}", close, next(iter(lines.values())))]


def _bands(label: str, close: Line, lines: dict[str, Values]) -> _Watched:
    del label
    return [(f"close/{side}", close, lines[side]) for side in ("upper", "lower")]


def _channel(label: str, close: Line, lines: dict[str, Values]) -> _Watched:
    """A channel includes its own bar, so that a close can only leave that of the bar before."""
    del label
    return [(f"close/previous {s}", close, [None, *lines[s][:-1]]) for s in ("upper", "lower")]


_WATCHED: dict[str, Callable[[str, Line, dict[str, Values]], _Watched]] = {
    "sma": _against_close,
    "ema": _against_close,
    "vwap": _against_close,
    "rsi": lambda label, _, lines: [(f"{label}/{at}", lines["rsi"], at) for at in (30, 50, 70)],
    "macd": lambda _, __, lines: [
        ("macd/signal", lines["macd"], lines["signal"]), ("macd/0", lines["macd"], 0.0),
    ],
    "boll": _bands,
    "stoch": lambda _, __, lines: [
        ("k/d", lines["k"], lines["d"]), ("k/20", lines["k"], 20), ("k/80", lines["k"], 80),
    ],
    "adx": lambda _, __, lines: [
        ("plus_di/minus_di", lines["plus_di"], lines["minus_di"]), ("adx/25", lines["adx"], 25),
    ],
    "donchian": _channel,
}  # fmt: skip
