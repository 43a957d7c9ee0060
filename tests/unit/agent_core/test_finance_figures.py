"""Indicators, statistics, trend and levels against formulas written out by hand."""

import datetime as dt
import itertools
import math
import random
from array import array
from collections.abc import Sequence

import pytest

from agent_core.finance import indicators, statistics, trend
from agent_core.finance.bars import Bars
from agent_core.finance.levels import find_levels
from agent_core.finance.sources.bundled import BundledSource

DAY = dt.date.fromisoformat


def made(close: Sequence[float], spread: float = 0.5) -> Bars:
    dates = tuple(DAY("2020-01-01") + dt.timedelta(days=i) for i in range(len(close)))
    return Bars(
        symbol="TEST",
        currency="USD",
        source="made",
        dates=dates,
        open=array("d", close),
        high=array("d", (c + spread for c in close)),
        low=array("d", (c - spread for c in close)),
        close=array("d", close),
        volume=array("d", [1.0] * len(close)),
    )


async def goog_2012() -> Bars:
    return await BundledSource().bars("GOOG", DAY("2012-01-01"), DAY("2012-12-31"))


def ema_by_hand(values: Sequence[float], n: int) -> list[float | None]:
    out: list[float | None] = [None] * (n - 1)
    level = sum(values[:n]) / n
    out.append(level)
    for value in values[n:]:
        level += (value - level) * 2 / (n + 1)
        out.append(level)
    return out


async def test_sma_is_the_mean_of_the_last_closes() -> None:
    close = (await goog_2012()).close
    values = indicators.sma(close, 20)
    assert values[:19] == [None] * 19
    assert values[-1] == pytest.approx(sum(close[-20:]) / 20)


async def test_rsi_is_wilders() -> None:
    close = list((await goog_2012()).close)
    changes = [b - a for a, b in itertools.pairwise(close)]
    gain = sum(max(c, 0) for c in changes[:14]) / 14
    loss = sum(max(-c, 0) for c in changes[:14]) / 14
    for change in changes[14:]:
        gain = (gain * 13 + max(change, 0)) / 14
        loss = (loss * 13 + max(-change, 0)) / 14
    assert indicators.rsi(close)[-1] == pytest.approx(100 - 100 / (1 + gain / loss))


async def test_macd_is_the_difference_of_two_emas_and_its_ema() -> None:
    close = list((await goog_2012()).close)
    fast, slow = ema_by_hand(close, 12), ema_by_hand(close, 26)
    line = [a - b for a, b in zip(fast, slow, strict=True) if a is not None and b is not None]
    signal = ema_by_hand(line, 9)[-1]
    assert signal is not None
    found = indicators.macd(close)
    assert found.line[-1] == pytest.approx(line[-1])
    assert found.signal[-1] == pytest.approx(signal)
    assert found.histogram[-1] == pytest.approx(line[-1] - signal)
    assert indicators.ema(close, 26)[-1] == pytest.approx(slow[-1])


async def test_bollinger_bands_lie_two_deviations_from_the_mean() -> None:
    close = list((await goog_2012()).close)[-20:]
    mean = sum(close) / 20
    deviation = math.sqrt(sum((c - mean) ** 2 for c in close) / 20)
    bands = indicators.bollinger(close)
    assert bands.upper[-1] == pytest.approx(mean + 2 * deviation)
    assert bands.lower[-1] == pytest.approx(mean - 2 * deviation)


async def test_atr_is_wilders_mean_of_true_ranges() -> None:
    bars = await goog_2012()
    ranges = [bars.high[0] - bars.low[0]] + [
        max(bars.high[i], bars.close[i - 1]) - min(bars.low[i], bars.close[i - 1])
        for i in range(1, len(bars))
    ]
    level = sum(ranges[:14]) / 14
    for value in ranges[14:]:
        level = (level * 13 + value) / 14
    assert indicators.atr(bars)[-1] == pytest.approx(level)


def test_indicators_of_few_bars_are_none() -> None:
    assert indicators.sma([1.0], 20) == [None]
    assert indicators.rsi([1.0, 2.0]) == [None, None]
    assert indicators.macd([1.0] * 30).signal[-1] is None
    assert indicators.sma([], 20) == []


def test_drawdown_is_the_deepest_fall_and_its_days() -> None:
    bars = made([100, 120, 90, 110, 130, 104, 125])
    found = statistics.max_drawdown(bars.dates, bars.close)
    assert found.pct == pytest.approx(25)
    assert (found.peak, found.trough) == (bars.dates[1], bars.dates[2])
    rising = made([1, 2, 3])
    assert statistics.max_drawdown(rising.dates, rising.close).peak is None


def test_volatility_is_the_sample_deviation_of_log_returns() -> None:
    close = [100, 100 * math.exp(0.01), 100]
    assert statistics.volatility_pct(close) == pytest.approx(0.01 * math.sqrt(2 * 252) * 100)
    assert statistics.volatility_pct([1, 2]) is None


def test_cagr_needs_a_year() -> None:
    dates = [DAY("2000-01-01"), DAY("2004-01-01")]
    assert statistics.cagr_pct(dates, [100, 200]) == pytest.approx((2**0.25 - 1) * 100, abs=0.01)
    assert statistics.cagr_pct([DAY("2000-01-01"), DAY("2000-06-01")], [100, 200]) is None


def test_returns_look_back_to_the_last_close_of_that_day_or_before() -> None:
    assert statistics.months_before(DAY("2012-03-31"), 1) == DAY("2012-02-29")
    assert statistics.months_before(DAY("2012-01-15"), 12) == DAY("2011-01-15")
    bars = made([float(i) for i in range(100, 161)])  # 2020-01-01 … 2020-03-01
    assert statistics.return_pct(bars, 1) == pytest.approx((160 / 131 - 1) * 100)
    assert statistics.return_pct(bars, 3) is None


def test_a_steady_rise_is_up_and_a_steady_fall_is_down() -> None:
    rise = [100 * 1.005**i for i in range(120)]
    sma20, sma50 = indicators.sma(rise, 20)[-1], indicators.sma(rise, 50)[-1]
    up = trend.classify(rise, sma20, sma50)
    assert (up.direction, up.votes) == ("up", (1, 1, 1))
    assert up.strength == pytest.approx(1)
    fall = rise[::-1]
    sma20, sma50 = indicators.sma(fall, 20)[-1], indicators.sma(fall, 50)[-1]
    assert trend.classify(fall, sma20, sma50).direction == "down"


def test_noise_around_a_level_is_sideways() -> None:
    noise = random.Random(1)
    close = [100 + noise.uniform(-1, 1) for _ in range(120)]
    flat = trend.classify(close, indicators.sma(close, 20)[-1], indicators.sma(close, 50)[-1])
    assert flat.direction == "sideways"
    assert 0 <= flat.strength <= 1


def test_a_short_series_is_judged_by_its_line_alone() -> None:
    assert trend.classify([100, 103, 106, 109], None, None).direction == "up"
    assert trend.classify([100.0], None, None).direction == "sideways"
    assert trend.fit_line([100.0] * 10).r2 == 0


def test_levels_are_turning_points_nearest_first() -> None:
    """A zigzag between 90 and 110, twice, ending at 100."""
    leg = [100 + i for i in range(10)] + [110 - i for i in range(20)] + [90 + i for i in range(10)]
    found = find_levels(made(leg + leg + [100.0]))
    assert found.support == (89.5,)
    assert found.resistance == (110.5,)


def test_without_turning_points_the_extremes_are_the_levels() -> None:
    found = find_levels(made([100.0, 101.0, 102.0]))
    assert found.support == (99.5,)
    assert found.resistance == (102.5,)


async def test_levels_lie_on_their_side_of_the_last_close() -> None:
    bars = await goog_2012()
    found = find_levels(bars, 12.5)
    assert list(found.support) == sorted(found.support, reverse=True)
    assert list(found.resistance) == sorted(found.resistance)
    assert found.support[0] < bars.close[-1] < found.resistance[0]
