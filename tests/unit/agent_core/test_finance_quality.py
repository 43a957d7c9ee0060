"""What is amiss in a window of prices: gaps, days without trade, splits; said in both languages."""

import datetime as dt
from dataclasses import replace

from agent_core.finance import quality
from agent_core.finance.bars import Split
from tests.unit.agent_core.made_bars import bars_of, days


def test_a_stretch_longer_than_any_holiday_is_a_gap() -> None:
    """Eleven days from close to close (China's spring festival) are none; thirteen are."""
    first = dt.date(2024, 2, 8)
    holiday, gap = (first + dt.timedelta(days=n) for n in (11, 24))
    found = quality.check(bars_of([1, 2, 3], dates=[first, holiday, gap]))
    assert found.gaps == ((holiday, gap),)
    said = "; ".join(quality.remarks(found, "en"))
    assert said == f"there are no prices between {holiday} and {gap}"
    assert "之间没有价格" in quality.remarks(found, "zh")[0]


def test_many_gaps_are_counted() -> None:
    dates = [dt.date(2024, 1, 1) + dt.timedelta(days=20 * i) for i in range(5)]
    said = quality.remarks(quality.check(bars_of([1.0] * 5, dates=dates)), "en")
    assert len(said) == 3
    assert said[2] == "and in 2 more gaps"


def test_days_without_trade_are_counted() -> None:
    found = quality.check(bars_of([1.0] * 10, volume=[0.0] + [5.0] * 9))
    assert quality.remarks(found, "en") == ["1 of 10 days have no volume"]
    assert found.traded
    assert not quality.check(bars_of([1.0] * 10, volume=[0.0] * 2 + [5.0] * 8)).traded


def test_a_split_within_the_window_is_said_and_one_before_it_is_not() -> None:
    bars = replace(bars_of([10.0] * 6), splits=(Split(days(6)[2], 2), Split(days(6)[4], 0.1)))
    adjusted = bars.adjusted()
    said = quality.remarks(quality.check(adjusted), "en")
    assert [line.split(":")[0] for line in said] == [
        f"a 2-for-1 split on {days(6)[2]}",
        f"a 1-for-10 split on {days(6)[4]}",
    ]
    assert "1拆2" in quality.remarks(quality.check(adjusted), "zh")[0]
    assert quality.check(adjusted.rows(5, 6)).splits == ()
    assert quality.check(adjusted.rows(2, 6)).splits == (Split(days(6)[4], 0.1),)


def test_an_empty_window_has_nothing_amiss() -> None:
    found = quality.check(bars_of([]))
    assert quality.remarks(found, "en") == []
