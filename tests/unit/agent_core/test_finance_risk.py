"""Risk and correlation: figures by hand, and against numpy."""

import datetime as dt
import math
from dataclasses import replace

import numpy as np
import pytest

from agent_core.finance import risk
from agent_core.finance.bars import Bars
from agent_core.finance.correlation import FEWEST, correlations, pearson
from agent_core.finance.returns import common_closes, simple_returns
from agent_core.finance.sources.bundled import BundledSource
from tests.unit.agent_core.made_bars import bars_of, days

DAY = dt.date.fromisoformat


async def year(symbol: str) -> Bars:
    return await BundledSource().bars(symbol, DAY("2012-01-01"), DAY("2012-12-31"))


def test_historical_loss_is_a_quantile_and_the_mean_beyond_it() -> None:
    """21 returns of −10 % … +10 %: the 5 % quantile is the second lowest, −9 %."""
    tail = risk.tail([i / 100 for i in range(-10, 11)], 95)
    assert tail.historical_var == pytest.approx(9.0)
    assert tail.historical_es == pytest.approx(9.5)


def test_parametric_loss_is_that_of_a_normal_distribution() -> None:
    """z(95 %) = 1.644854, φ(z) = 0.103136 (tables)."""
    returns = [0.01, -0.01] * 50
    deviation = math.sqrt(0.0001 * 100 / 99)
    tail = risk.tail(returns, 95)
    assert tail.parametric_var == pytest.approx(1.644854 * deviation * 100, abs=1e-5)
    assert tail.parametric_es == pytest.approx(0.103136 / 0.05 * deviation * 100, abs=1e-4)


@pytest.mark.parametrize(("level", "fewest"), [(95, 20), (99, 100)])
def test_too_few_returns_give_no_quantile(level: int, fewest: int) -> None:
    assert risk.tail([0.01] * (fewest - 1), level).historical_var is None
    assert risk.tail([0.01, *[-0.01] * (fewest - 1)], level).historical_var == pytest.approx(1)


def test_downside_counts_losses_alone() -> None:
    found = risk.downside_deviation_pct([0.03, -0.04, 0.0, 0.0])
    assert found == pytest.approx(math.sqrt(0.0016 / 4 * 252) * 100)
    assert risk.downside_deviation_pct([0.1]) is None


def test_beta_of_twice_the_benchmark_is_two() -> None:
    moves = [0.01 * ((-1) ** i) * (1 + i % 3) for i in range(30)]
    index, double = [100.0], [100.0]
    for move in moves:
        index.append(index[-1] * (1 + move))
        double.append(double[-1] * (1 + 2 * move))
    found = risk.beta(bars_of(double), bars_of(index))
    assert found is not None
    assert found.beta == pytest.approx(2)
    assert found.correlation == pytest.approx(1)
    assert found.days == 30


def test_beta_needs_common_days_and_a_benchmark_that_moves() -> None:
    moving = bars_of([100.0 + i % 5 for i in range(30)])
    assert risk.beta(moving, bars_of([100.0] * 30)) is None
    later = replace(moving, dates=tuple(day + dt.timedelta(days=40) for day in moving.dates))
    assert risk.beta(moving, later) is None


async def test_figures_of_real_prices_agree_with_numpy() -> None:
    """Tolerance: 1e-9 of a percent."""
    goog, ibm = await year("GOOG"), await year("IBM")
    a, b = np.array(simple_returns(goog.close)), np.array(simple_returns(ibm.close))
    for level in (95, 99):
        tail = risk.tail(list(a), level)
        edge = np.quantile(a, 1 - level / 100)
        assert tail.historical_var == pytest.approx(-edge * 100, abs=1e-9)
        assert tail.historical_es == pytest.approx(-a[a <= edge].mean() * 100, abs=1e-9)
    beta = risk.beta(goog, ibm)
    assert beta is not None
    assert beta.beta == pytest.approx(np.cov(a, b)[0, 1] / np.var(b, ddof=1))
    assert beta.correlation == pytest.approx(np.corrcoef(a, b)[0, 1])
    (pair,) = correlations([goog, ibm])
    assert pair.value == pytest.approx(np.corrcoef(a, b)[0, 1])
    downside = np.sqrt(np.mean(np.minimum(a, 0) ** 2) * 252) * 100
    assert risk.downside_deviation_pct(list(a)) == pytest.approx(downside)


def test_returns_go_from_one_common_day_to_the_next() -> None:
    """A holiday of one market joins two days of the other into one return."""
    all_days = days(4)
    one = bars_of([1, 2, 4, 8])
    other = bars_of([1, 4, 8], dates=[all_days[0], all_days[2], all_days[3]], symbol="OTHER")
    common, ours, theirs = common_closes(one, other)
    assert common == [all_days[0], all_days[2], all_days[3]]
    assert (ours, theirs) == ([1, 4, 8], [1, 4, 8])


def test_a_pair_with_few_days_or_no_movement_has_no_coefficient() -> None:
    enough = [100.0 + i % 3 for i in range(FEWEST + 1)]
    assert correlations([bars_of(enough), bars_of(enough)])[0].value == pytest.approx(1)
    assert correlations([bars_of(enough[:-1]), bars_of(enough[:-1])])[0].value is None
    assert correlations([bars_of(enough), bars_of([5.0] * len(enough))])[0].value is None
    assert pearson([1, 2, 3], [3, 2, 1]) == -1.0
