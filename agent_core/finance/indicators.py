"""Technical indicators, by talipp (MIT), with the usual parameters.

Every function takes whole columns and returns one value a bar, None where there are too few bars before it:

- SMA: mean of the last n closes. EMA: seeded with the SMA of the first n closes, weight 2/(n+1).
- RSI 14: Wilder's smoothing, 0..100. ATR 14: Wilder's smoothing of the true range, in the price's currency.
- MACD 12/26/9: EMA12 − EMA26, its EMA9 as signal, their difference as histogram.
- Bollinger 20/2: SMA20 ± 2 population standard deviations.
- Stochastic 14/3: where the close lies between the lowest low and the highest high of 14 bars, 0..100 (100 where both
  are equal), and the SMA3 of that.
- ADX 14: Wilder's strength of a trend, 0..100, with the directional lines +DI and −DI.
- Donchian 20: the highest high and the lowest low of 20 bars, the last one included.
- OBV: volume added on bars that rose and taken off on bars that fell. VWAP: mean typical price by volume. Both count
  from the first bar given, so only their changes, or one beginning, are compared.

Smoothed values depend on where the series begins; after WARM_UP bars that no longer shows in four digits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_core.finance.bars import Bars

if TYPE_CHECKING:
    from talipp.ohlcv import OHLCV

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
    """Upper and lower line of Bollinger bands or of a Donchian channel."""

    upper: Values
    lower: Values


@dataclass(frozen=True, slots=True)
class Stochastic:
    """The two lines of the stochastic oscillator."""

    k: Values
    d: Values


@dataclass(frozen=True, slots=True)
class Directional:
    """Wilder's directional movement: strength, and the lines of rises and falls."""

    adx: Values
    plus: Values
    minus: Values


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

    return list(ATR(period, _candles(bars)))


def stochastic(bars: Bars, period: int = 14, smoothing: int = 3) -> Stochastic:
    """Stochastic oscillator."""
    from talipp.indicators import Stoch

    values = list(Stoch(period, smoothing, _candles(bars)))
    return Stochastic(_part(values, "k"), _part(values, "d"))


def adx(bars: Bars, period: int = 14) -> Directional:
    """Average directional index, with its two lines."""
    from talipp.indicators import ADX

    values = list(ADX(period, period, _candles(bars)))
    return Directional(_part(values, "adx"), _part(values, "plus_di"), _part(values, "minus_di"))


def donchian(bars: Bars, period: int = 20) -> Bands:
    """Donchian channel."""
    from talipp.indicators import DonchianChannels

    values = list(DonchianChannels(period, _candles(bars)))
    return Bands(_part(values, "ub"), _part(values, "lb"))


def obv(bars: Bars) -> Values:
    """On-balance volume, in shares; the first bar's volume is where it begins."""
    from talipp.indicators import OBV

    return list(OBV(_candles(bars)))


def vwap(bars: Bars) -> Values:
    """Volume-weighted average of (high + low + close) / 3 since the first bar; None until something is traded."""
    money = shares = 0.0
    values: Values = []
    for high, low, close, volume in zip(bars.high, bars.low, bars.close, bars.volume, strict=True):
        money += (high + low + close) / 3 * volume
        shares += volume
        values.append(money / shares if shares > 0 else None)
    return values


def _candles(bars: Bars) -> list["OHLCV"]:
    from talipp.ohlcv import OHLCV

    columns = zip(bars.open, bars.high, bars.low, bars.close, bars.volume, strict=True)
    return [OHLCV(*row) for row in columns]


def _part(values: Iterable[object], name: str) -> Values:
    return [None if value is None else getattr(value, name) for value in values]
