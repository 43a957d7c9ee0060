"""Indicators by name, against formulas written out by hand; crossings; how warm a reading is."""

import datetime as dt

import pytest

from agent_core.finance import indicators, readings
from agent_core.finance.bars import Bars
from agent_core.finance.crossings import crossings
from agent_core.finance.readings import Asked, Reading, parse
from agent_core.finance.sources.bundled import BundledSource
from tests.unit.agent_core.made_bars import bars_of, days

DAY = dt.date.fromisoformat


async def goog_2012() -> Bars:
    return await BundledSource().bars("GOOG", DAY("2012-01-01"), DAY("2012-12-31"))


def read(bars: Bars, *names: str, shown: int | None = None) -> list[Reading]:
    return readings.read([parse(name) for name in names], bars, shown or len(bars))


async def test_stochastic_is_the_place_of_the_close_in_the_range_and_its_mean() -> None:
    bars = await goog_2012()
    found = indicators.stochastic(bars)

    def k(i: int) -> float:
        high, low = max(bars.high[i - 13 : i + 1]), min(bars.low[i - 13 : i + 1])
        return (bars.close[i] - low) / (high - low) * 100

    last = len(bars) - 1
    assert found.k[-1] == pytest.approx(k(last))
    assert found.d[-1] == pytest.approx(sum(k(i) for i in range(last - 2, last + 1)) / 3)
    assert found.k[:13] == [None] * 13


async def test_adx_is_wilders() -> None:
    """Wilder, New Concepts in Technical Trading Systems (1978)."""
    bars = await goog_2012()
    ups, downs, ranges = [], [], [bars.high[0] - bars.low[0]]
    for i in range(1, len(bars)):
        up, down = bars.high[i] - bars.high[i - 1], bars.low[i - 1] - bars.low[i]
        ups.append(up if up > down and up > 0 else 0.0)
        downs.append(down if down > up and down > 0 else 0.0)
        before = bars.close[i - 1]
        ranges.append(max(bars.high[i], before) - min(bars.low[i], before))

    def smoothed(values: list[float]) -> list[float]:
        out = [sum(values[:14]) / 14]
        for value in values[14:]:
            out.append((out[-1] * 13 + value) / 14)
        return out

    true_range = smoothed(ranges)[1:]  # the first bar has a range, but no movement
    plus = [100 * a / b for a, b in zip(smoothed(ups), true_range, strict=True)]
    minus = [100 * a / b for a, b in zip(smoothed(downs), true_range, strict=True)]
    dx = [100 * abs(p - m) / (p + m) for p, m in zip(plus, minus, strict=True)]
    found = indicators.adx(bars)
    assert found.plus[-1] == pytest.approx(plus[-1])
    assert found.minus[-1] == pytest.approx(minus[-1])
    assert found.adx[-1] == pytest.approx(smoothed(dx)[-1])


def test_channel_volume_and_average_price_are_plain_sums() -> None:
    bars = bars_of(
        [10, 11, 12, 11, 11],
        high=[11, 12, 14, 12, 12],
        low=[9, 10, 11, 10, 10],
        volume=[100, 50, 10, 30, 20],
    )
    channel = indicators.donchian(bars, 3)
    assert (channel.upper[-1], channel.lower[-1]) == (14, 10)
    assert indicators.obv(bars) == [100, 150, 160, 130, 130]
    typical = [10, 11, 37 / 3, 11, 11]
    money = sum(p * v for p, v in zip(typical, bars.volume, strict=True))
    assert indicators.vwap(bars)[-1] == pytest.approx(money / 210)


def test_without_volume_there_is_no_average_price() -> None:
    bars = bars_of([10, 11], volume=[0.0, 0.0])
    assert indicators.vwap(bars) == [None, None]


def test_a_market_that_stands_still_has_readings_without_an_error() -> None:
    """No range, no movement, no volume: nothing is divided by zero."""
    bars = bars_of([10.0] * 60, volume=[0.0] * 60)
    for reading in read(bars, *readings.NAMES):
        assert not reading.crossings


def test_names_carry_their_period() -> None:
    assert parse("SMA50") == Asked("sma", 50)
    assert parse("ema(20)") == Asked("ema", 20)
    assert parse("bollinger") == Asked("boll", 20)
    assert parse("macd").label == "macd"
    assert parse("rsi").label == "rsi14"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("rsx", "did you mean rsi"),
        ("", "there are sma, ema"),
        ("macd9", "takes no period"),
        ("sma1", "2 to 250"),
        ("sma999", "2 to 250"),
        ("sma20; drop", "no indicator"),
    ],
)
def test_a_name_that_is_none_names_the_cure(written: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(written)


def test_a_touch_is_no_crossing() -> None:
    found = crossings(days(7), "a/b", [1, 3, 2, 3, 1, None, 3], 2.0)
    assert [(c.date, c.direction) for c in found] == [
        (days(7)[1], "above"), (days(7)[4], "below"), (days(7)[6], "above"),
    ]  # fmt: skip


def test_averages_asked_for_together_cross_each_other() -> None:
    """Down for 30 bars, up for 30: SMA3 comes from below SMA10 to above it, once."""
    close = [float(100 - i) for i in range(30)] + [float(71 + i) for i in range(30)]
    fast, slow = read(bars_of(close), "sma3", "sma10")
    assert not any("sma10" in c.what for c in fast.crossings)
    (both,) = [c for c in slow.crossings if c.what == "sma3/sma10"]
    gap = [sum(close[i - 2 : i + 1]) / 3 - sum(close[i - 9 : i + 1]) / 10 for i in range(9, 60)]
    first = next(i for i in range(1, 51) if gap[i - 1] < 0 < gap[i])
    assert (both.date, both.direction) == (days(60)[first + 9], "above")


def test_what_came_before_the_window_warms_up_but_is_not_shown() -> None:
    bars = bars_of([100.0 + i % 7 for i in range(300)])
    (whole,) = read(bars, "rsi")
    (part,) = read(bars, "rsi", shown=20)
    assert part.lines["rsi"] == whole.lines["rsi"][-20:]
    assert part.settled
    (cold,) = read(bars.rows(280, 300), "rsi")
    assert not cold.settled
    assert cold.lines["rsi"][-1] != part.lines["rsi"][-1]


def test_readings_that_need_more_bars_than_there_are_have_no_value() -> None:
    bars = bars_of([1.0, 2.0, 3.0])
    for reading in read(bars, "sma50", "macd", "adx", "boll", "donchian", "stoch", "atr"):
        assert all(values[-1] is None for values in reading.lines.values())
        assert reading.needs > 3
        assert not reading.settled


def test_vwap_begins_with_the_window() -> None:
    bars = bars_of([10.0] * 50 + [20.0] * 5)
    assert read(bars, "vwap", shown=5)[0].lines["vwap"] == [20.0] * 5
    assert read(bars, "obv", shown=5)[0].lines["obv"] == [100.0] * 5


def test_a_close_leaves_the_channel_of_the_bars_before() -> None:
    close = [10.0, 11.0] * 15 + [13.0]
    (reading,) = read(bars_of(close), "donchian")
    assert [(c.what, c.direction) for c in reading.crossings] == [
        ("close/previous upper", "above"),
    ]
