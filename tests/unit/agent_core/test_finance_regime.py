"""The state of a market: an index of equal weights, volatility ranked in its year, breadth."""

import math

import pytest

from agent_core.finance.regime import equal_weight, judge, rolling_volatility
from tests.unit.agent_core.made_bars import bars_of, days


def test_the_index_moves_by_the_mean_of_its_members() -> None:
    index = equal_weight([bars_of([10, 11, 11]), bars_of([20, 20, 10], symbol="B")])
    assert index.levels == pytest.approx((100, 105, 105 * 0.75))
    assert index.dates == days(3)


def test_a_member_that_was_closed_brings_its_whole_move_when_it_opens() -> None:
    d = days(4)
    index = equal_weight([bars_of([1, 1, 1, 1]), bars_of([10, 12, 12], dates=[d[0], d[2], d[3]])])
    assert index.levels == pytest.approx((100, 100, 110, 110))


def test_a_member_that_is_listed_later_does_not_jump_the_index() -> None:
    d = days(3)
    index = equal_weight([bars_of([1, 1, 1]), bars_of([500, 550], dates=d[1:])])
    assert index.levels == pytest.approx((100, 100, 105))


def test_volatility_rolls_over_twenty_days() -> None:
    levels = [100 * 1.01 ** (i % 2) for i in range(30)]
    rolling = rolling_volatility(levels)
    assert len(rolling) == 10
    assert rolling == pytest.approx([math.log(1.01) * math.sqrt(252) * 100] * 10)
    assert rolling_volatility(levels[:20]) == []


@pytest.mark.parametrize(("last", "mood"), [(0.03, "rough"), (0.001, "calm"), (0.0102, "normal")])
def test_the_mood_ranks_the_last_month_in_its_year(last: float, mood: str) -> None:
    """Months of swings from .5 to 1.5 %, then a last one."""
    swings = [0.005 + 0.001 * (i // 20 % 11) for i in range(240)] + [last] * 22
    level, levels = 100.0, [100.0]
    for i, swing in enumerate(swings):
        level *= 1 + swing * (-1) ** i
        levels.append(level)
    assert judge([bars_of(levels)]).mood == mood


def test_breadth_counts_members_above_their_averages() -> None:
    rising = bars_of([100.0 + i for i in range(250)])
    falling = bars_of([400.0 - i for i in range(250)], symbol="B")
    young = bars_of([100.0 + i for i in range(60)], symbol="C", dates=days(250)[-60:])
    found = judge([rising, falling, young])
    assert found.above_sma50 == pytest.approx(200 / 3)
    assert found.above_sma200 == 50


def test_few_bars_leave_the_mood_unknown() -> None:
    found = judge([bars_of([100.0, 101.0, 102.0])])
    assert (found.mood, found.volatility, found.above_sma50) == ("unknown", None, None)
