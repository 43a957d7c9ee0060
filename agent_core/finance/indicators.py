"""Technical indicators, by talipp (MIT), with the usual parameters.

Every function takes whole columns and returns one value a bar, None where there are too few bars before it:

- SMA: mean of the last n closes. EMA: seeded with the SMA of the first n closes, weight 2/(n+1).
- RSI 14: Wilder's smoothing, 0..100. ATR 14: Wilder's smoothing of the true range, in the price's currency.
- MACD 12/26/9: EMA12 − EMA26, its EMA9 as signal, their difference as histogram.
- Bollinger 20/2: SMA20 ± 2 population standard deviations.

Smoothed values depend on where the series begins; after WARM_UP bars that no longer shows in four digits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_core.finance.bars import Bars

WARM_UP = 400  # bars: SMA200 is defined, and (1 − 1/14)^400 of RSI's seed is left

Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Macd:
    """The three lines of MACD."""

    line: Values
    signal: Values
    histogram: Values


@dataclass(frozen=True, slots=True)
class Bands:
    """Upper and lower Bollinger band."""

    upper: Values
    lower: Values


def sma(close: Sequence[float], period: int) -> Values:
    """Simple moving average over `period` bars."""
    from talipp.indicators import SMA

    return list(SMA(period, list(close)))


def ema(close: Sequence[float], period: int) -> Values:
    """Exponential moving average over `period` bars."""
    from talipp.indicators import EMA

    return list(EMA(period, list(close)))


def rsi(close: Sequence[float], period: int = 14) -> Values:
    """Relative strength index, 0..100; 100 when no close of the period fell."""
    from talipp.indicators import RSI

    return list(RSI(period, list(close)))


def macd(close: Sequence[float], fast: int = 12, slow: int = 26, signal: int = 9) -> Macd:
    """Moving average convergence and divergence."""
    from talipp.indicators import MACD

    values = list(MACD(fast, slow, signal, list(close)))
    return Macd(
        _part(values, "macd"),
        _part(values, "signal"),
        _part(values, "histogram"),
    )


def bollinger(close: Sequence[float], period: int = 20, width: float = 2.0) -> Bands:
    """Bollinger bands, `width` standard deviations around the SMA."""
    from talipp.indicators import BB

    values = list(BB(period, width, list(close)))
    return Bands(_part(values, "ub"), _part(values, "lb"))


def atr(bars: Bars, period: int = 14) -> Values:
    """Average true range."""
    from talipp.indicators import ATR
    from talipp.ohlcv import OHLCV

    columns = zip(bars.open, bars.high, bars.low, bars.close, strict=True)
    return list(ATR(period, [OHLCV(*row) for row in columns]))


def _part(values: Iterable[object], name: str) -> Values:
    return [None if value is None else getattr(value, name) for value in values]
