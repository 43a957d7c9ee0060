"""The figures of a backtest, by hand; and the published MACD rule on bundled prices, computed a second time here."""

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_figures import (
    PublishedRow,
    curve,
    deals,
    figures,
    hold,
    published_row,
)
from agent_core.finance.backtest_job import Asked, Outcome, Request, compute
from agent_core.finance.bars import Bars, Dividend
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.strategies import expand
from agent_core.finance.strategy_names import Name
from tests.unit.agent_core.made_bars import bars_of, days, leg, run

DAY = dt.date.fromisoformat


def test_the_figures_of_a_short_curve_by_hand() -> None:
    """Returns +10 %, −10 %, +20 %; risk-free 2.52 % a year is 0.01 % a day."""
    found = curve(days(4), [100, 110, 99, 118.8], 252, 2.52)
    excess = [0.0999, -0.1001, 0.1999]
    mean = sum(excess) / 3
    population = math.sqrt(sum((r - mean) ** 2 for r in excess) / 3)
    assert found.total_return_pct == pytest.approx(18.8)
    assert found.sharpe == pytest.approx(mean / population * math.sqrt(252))
    assert found.sortino == pytest.approx(mean / math.sqrt(0.1001**2 / 3) * math.sqrt(252))
    assert found.volatility_pct == pytest.approx(population * math.sqrt(1.5) * math.sqrt(252) * 100)
    assert found.drawdown.pct == pytest.approx(10)
    assert (found.annual_return_pct, found.calmar) == (None, None), "four days make no year"


def test_yearly_growth_and_calmar_are_told_from_a_year_on() -> None:
    dates = (DAY("2020-01-01"), DAY("2021-01-01"), DAY("2022-01-01"))
    found = curve(dates, [100, 80, 144], 252, 0)
    years = 731 / 365.25
    assert found.annual_return_pct == pytest.approx((1.44 ** (1 / years) - 1) * 100)
    assert found.calmar == pytest.approx(found.annual_return_pct / 20)


def test_an_account_that_never_moved_has_no_ratios() -> None:
    found = curve(days(4), [100, 100, 100, 100], 252, 2)
    assert (found.sharpe, found.sortino, found.calmar) == (None, None, None)
    assert (found.total_return_pct, found.volatility_pct, found.drawdown.pct) == (0, 0, 0)


def test_a_lost_account_has_lost_everything() -> None:
    dates = (DAY("2020-01-01"), DAY("2021-01-01"), DAY("2022-01-01"))
    found = curve(dates, [100, 0, 0], 252, 0)
    assert (found.total_return_pct, found.annual_return_pct, found.drawdown.pct) == (
        -100,
        -100,
        100,
    )


def test_the_figures_of_trades_by_hand() -> None:
    """Won 100 %, lost 50 %, and one still open."""
    bars = bars_of([10, 10, 20, 20, 20, 10, 10, 10])
    done = run(leg(bars, entry=[0, 3, 6], exit_=[1, 4]))
    found = deals(done.trades)
    assert (found.closed, found.open) == (2, 1)
    assert found.win_rate_pct == 50
    assert found.profit_factor == pytest.approx(1000 / 1000)
    assert (found.best_pct, found.worst_pct, found.average_pct) == (100, -50, 25)
    assert found.average_bars == 1
    assert deals([]).win_rate_pct is None
    whole = figures(done, hold([bars], done.dates, 1000), "day", 0)
    assert whole.exposure_pct == pytest.approx(3 / 8 * 100)
    assert whole.turnover == pytest.approx(
        (1000 + 2000 + 2000 + 1000 + 1000) / (sum(done.equity) / 8) / (7 / 365.25)
    )
    assert whole.excess_pct == pytest.approx(0)


def test_holding_buys_equal_parts_at_the_first_close_and_reinvests_dividends() -> None:
    dates = days(3)
    a = bars_of([10, 10, 20], symbol="A", dividends=(Dividend(dates[1], 1.0),))
    b = bars_of([5, 10], symbol="B", dates=dates[1:])
    values = hold([a, b], dates, 1000)
    assert values == pytest.approx([1000, 500 / 0.9 + 500, 500 * 2 / 0.9 + 1000])
    later = hold([a], dates[1:], 1000)
    assert later == pytest.approx([1000, 2000]), "known from before, it begins at its price of then"


async def test_a_split_reports_both_parts_each_from_cash() -> None:
    bars = await BundledSource().bars("GOOG", DAY("2009-01-01"), DAY("2010-12-31"))
    rules, _ = expand("sma_cross", {"fast": 10, "slow": 30})

    def of(begin: int, end: int, split: float | None = None) -> Outcome:
        asked = Asked(bars.rows(0, end), begin)
        held = (bars.rows(begin, end),)
        return compute(Request((asked,), rules, Terms(), held, split=split))

    both = of(0, len(bars), split=0.6)
    middle = round(len(bars) * 0.6)
    assert both.parts == (of(0, middle).figures, of(middle, len(bars)).figures)
    assert both.parts[0].bars + both.parts[1].bars == both.figures.bars == len(bars)
    assert both.parts[1].first == bars.dates[middle]


@pytest.mark.parametrize(
    ("symbol", "pinned", "trades"), [("GOOG", 46.000, 6), ("AAPL", 756.107, 4)]
)
async def test_an_average_above_another_is_held_from_the_first_bar_that_knows_both(
    symbol: str, pinned: float, trades: int
) -> None:
    """50/200 from 2005 to 2012, with and without an uptrend at the start, against a second computation."""
    whole = await Sources([BundledSource()]).bars(symbol, None, DAY("2012-12-31"))
    start = whole.index_until(DAY("2004-12-31")) + 1
    rules, _ = expand("sma_cross", {"fast": 50, "slow": 200})
    window = whole.rows(start, len(whole))
    done = compute(Request((Asked(whole, start),), rules, Terms(), (window,)))
    cash, shares, bought = 100_000.0, 0.0, 0
    for i in range(start + 1, len(whole)):  # the first decision is at the first close of the window
        above = i >= 200 and sum(whole.close[i - 50 : i]) / 50 > sum(whole.close[i - 200 : i]) / 200
        if above and not shares:
            cash, shares, bought = 0.0, cash / whole.open[i], bought + 1
        elif shares and not above:
            cash, shares = shares * whole.open[i], 0.0
    assert done.run.equity[-1] == pytest.approx(cash + shares * whole.close[-1], rel=1e-9)
    assert done.figures.curve.total_return_pct == pytest.approx(pinned, abs=0.001)
    assert len(done.run.trades) == bought == trades
    if symbol == "AAPL":
        assert done.run.trades[0].entered == window.dates[1], "the trend was up before the window"


@pytest.mark.parametrize("name", ["sma_cross", "ema_cross"])
def test_a_window_that_begins_in_an_uptrend_is_held_from_its_second_open(name: Name) -> None:
    """Bars before the window count; without them the first bar at which both averages exist decides."""
    bars = bars_of([float(i) for i in range(10, 40)])
    rules, _ = expand(name, {"fast": 2, "slow": 5})
    for warm, entered in ((True, 11), (False, 15)):
        asked = (Asked(bars, 10),)
        (trade,) = compute(Request(asked, rules, Terms(), (bars.rows(10, 30),), warm)).run.trades
        assert trade.entered == bars.dates[entered]


@pytest.mark.parametrize(
    ("name", "params", "prices"),
    [
        ("rsi_reversion", {"period": 3}, [*range(40, 20, -1), 19.5]),
        ("bollinger", {"period": 5, "width": 0.5}, [*range(40, 20, -1), 19.5]),
    ],
)
def test_a_window_that_begins_at_a_level_is_entered_like_one_that_comes_to_it(
    name: Name, params: dict[str, Any], prices: list[float]
) -> None:
    """The same kind of fault: below the level since before the window, and never crossing it within."""
    bars = bars_of([float(price) for price in prices])
    rules, _ = expand(name, params)
    done = compute(Request((Asked(bars, 10),), rules, Terms(), (bars.rows(10, len(bars)),)))
    assert done.run.trades[0].entered == bars.dates[11]


# The published MACD row (TradingAgents, Table 1): 12/26/9, EMAs seeded with the SMA of the first closes of the window,
# long or flat, next open, 90 % of the equity, no costs; Sharpe with 2 % / 252, population deviation, √252. Its window
# is 2 January to 28 March 2024; prices of that window do not ship, so the same rule and options are pinned on GOOG
# from 2 January to 28 March 2012, about as many trading days. The tool's arguments for both are strategy="macd",
# params={"fraction": 0.9}, warmup=False, risk_free_pct=2.
WINDOW = DAY("2012-01-02"), DAY("2012-03-28")


def ema_by_hand(values: Sequence[float], n: int) -> list[float]:
    """From the n-th value on."""
    out = [sum(values[:n]) / n]
    for value in values[n:]:
        out.append(value * 2 / (n + 1) + out[-1] * (n - 1) / (n + 1))
    return out


def published(bars: Bars, before: int) -> tuple[float, float, float]:
    """CR %, SR and MDD % of the rule, without the engine; `before` bars warm up and are not traded."""
    close, open_ = bars.close, bars.open
    slow = ema_by_hand(close, 26)
    fast = ema_by_hand(close, 12)[14:]
    macd = [a - b for a, b in zip(fast, slow, strict=True)]
    signal = ema_by_hand(macd, 9)
    over: dict[int, bool] = {33 + i: macd[8 + i] > s for i, s in enumerate(signal)}
    cash, shares, values = 1.0, 0.0, []
    for i in range(before, len(close)):
        crossed = i - 2 in over and i - 1 >= before and over[i - 1] != over[i - 2]
        if crossed and over[i - 1] and not shares:
            shares = 0.9 * cash / open_[i]
            cash -= shares * open_[i]
        elif crossed and not over[i - 1] and shares:
            cash, shares = cash + shares * open_[i], 0.0
        values.append(cash + shares * close[i])
    excess = [b / a - 1 - 0.02 / 252 for a, b in pairwise(values)]
    mean = sum(excess) / len(excess)
    deviation = math.sqrt(sum((r - mean) ** 2 for r in excess) / len(excess))
    fall = max(1 - value / max(values[: i + 1]) for i, value in enumerate(values))
    return (values[-1] - 1) * 100, mean / deviation * math.sqrt(252), fall * 100


@pytest.mark.parametrize(
    ("warm_up", "pinned"),
    [(False, (5.965, 4.407, 0.484)), (True, (6.169, 2.805, 2.528))],
    ids=["within the window alone", "with bars before it"],
)
async def test_the_published_macd_rule_on_bundled_prices(
    warm_up: bool, pinned: tuple[float, float, float]
) -> None:
    """CR, SR and MDD agree to 1e-9 with a second computation, and to a thousandth with what is pinned."""
    whole = await BundledSource().bars("GOOG", None, WINDOW[1])
    start = whole.index_until(WINDOW[0]) + 1
    assert len(whole) - start == 60
    rules, _ = expand("macd", {"fraction": 0.9})
    window = whole.rows(start, len(whole))
    done = compute(
        Request((Asked(whole, start),), rules, Terms(), (window,), warm_up, risk_free_pct=2.0)
    )
    found = done.figures.curve
    row = published_row(done.figures)
    assert (row.cr_pct, row.sr, row.mdd_pct) == pytest.approx(pinned, abs=0.001)
    assert row.arr_pct == pytest.approx((math.e ** (row.cr_pct / 100) - 1) * 100)
    assert found.annual_return_pct is None, "a quarter makes no year"
    got = found.total_return_pct, found.sharpe, found.drawdown.pct
    assert got == pytest.approx(pinned, abs=0.001)
    assert done.warm_up == (400 if warm_up else 0)
    history = whole.rows(start - done.warm_up, len(whole))
    assert got == pytest.approx(published(history, done.warm_up), rel=1e-9)


@pytest.mark.parametrize(
    ("cr", "arr"),
    [(-1.49, -1.48), (-5.23, -5.10), (7.78, 8.09), (0.0, 0.0)],
)
def test_the_published_tables_arr_is_the_exponential_of_its_cr(cr: float, arr: float) -> None:
    """Table 1 of TradingAgents: MACD and holding on AAPL, holding on GOOGL; two decimals."""
    bars = bars_of([100, 100, 100 + cr])
    done = run(leg(bars, entry=[0]), terms=Terms(1000.0))
    row = published_row(figures(done, hold([bars], done.dates, 1000), "day", 2.0))
    assert row.cr_pct == pytest.approx(cr, abs=0.005)
    assert row.arr_pct == pytest.approx(arr, abs=0.005)


def test_a_run_without_a_trade_has_no_row() -> None:
    """The table leaves it empty: MACD on AMZN."""
    bars = bars_of([100, 101, 102])
    done = run(leg(bars))
    found = published_row(figures(done, hold([bars], done.dates, 1000), "day", 2.0))
    assert found == PublishedRow()
