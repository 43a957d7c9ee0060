"""The backtest engine against accounts kept by hand: fills, costs, sides, stops, gaps, several symbols."""

import datetime as dt
import random

import pytest

from agent_core.finance.backtest import decide, simulate
from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_job import Asked, Request, compute
from agent_core.finance.bars import Bars, Dividend
from agent_core.finance.rules_signals import Signals
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.strategies import expand
from tests.unit.agent_core.made_bars import bars_of, days, leg, run

CASH = Terms(cash=1000.0)


def test_a_signal_at_the_close_is_filled_at_the_next_open() -> None:
    bars = bars_of([10, 20, 30, 50], [11, 22, 33, 55])
    done = run(leg(bars, entry=[0], exit_=[2]))
    (trade,) = done.trades
    assert (trade.entered, trade.entry_price) == (bars.dates[1], 20)
    assert (trade.left, trade.exit_price) == (bars.dates[3], 50)
    assert trade.quantity == 50  # all of 1000 at 20
    assert (trade.profit, trade.profit_pct, trade.bars) == (1500, 150, 2)
    assert done.equity == [1000, 50 * 22, 50 * 33, 2500]
    assert done.invested == [False, True, True, False]


def test_a_signal_at_the_last_close_is_never_filled_and_an_open_position_is_valued_there() -> None:
    bars = bars_of([10, 20, 30], [11, 22, 33])
    assert run(leg(bars, entry=[2])).trades == []
    (trade,) = run(leg(bars, entry=[0])).trades
    assert (trade.reason, trade.exit_price, trade.profit) == ("open", 33, 50 * 13)


def test_costs_are_taken_at_both_fills() -> None:
    """10 bp of each fill, 2 an order, 50 bp of slippage; the order is as large as the cash allows."""
    bars = bars_of([10, 20, 20, 40])
    terms = Terms(1000.0, commission_bps=10, commission_per_order=2, slippage_bps=50)
    done = run(leg(bars, entry=[0], exit_=[2]), terms=terms)
    bought, sold = 20 * 1.005, 40 * 0.995
    quantity = (1000 - 2) / 1.001 / bought
    fees = quantity * (bought + sold) * 0.001 + 4
    (trade,) = done.trades
    assert (trade.entry_price, trade.exit_price) == pytest.approx((bought, sold))
    assert trade.quantity == pytest.approx(quantity)
    assert trade.profit == pytest.approx(quantity * (sold - bought) - fees)
    assert done.equity[-1] == pytest.approx(1000 + trade.profit)
    assert done.fees == pytest.approx(fees)
    assert done.fills == 2


def test_a_fraction_of_the_equity_is_used_and_the_rest_stays_cash() -> None:
    bars = bars_of([10, 20, 40, 40])
    done = run(leg(bars, entry=[0]), fraction=0.9)
    assert done.equity == pytest.approx([1000, 1000, 100 + 45 * 40, 100 + 45 * 40])


def test_whole_shares_are_rounded_down() -> None:
    bars = bars_of([10, 30, 30])
    done = run(leg(bars, entry=[0]), terms=Terms(1000.0, whole_shares=True))
    assert done.trades[0].quantity == 33
    done = run(leg(bars, entry=[0]), terms=Terms(20.0, whole_shares=True))
    assert (done.trades, done.unfilled) == ([], 1)


def test_a_short_gains_what_the_price_loses_and_turns_long_at_the_opposite_entry() -> None:
    bars = bars_of([10, 20, 10, 10, 15])
    done = run(leg(bars, short_entry=[0], entry=[2]))
    short, long = done.trades
    assert (short.side, short.entry_price, short.exit_price, short.profit) == ("short", 20, 10, 500)
    assert (long.side, long.entered, long.quantity) == ("long", bars.dates[3], 150)
    assert done.equity == pytest.approx([1000, 1000, 1500, 1500, 2250])


def test_what_is_decided_depends_on_the_side_that_is_held() -> None:
    on, off = [True], [False]

    def at(held: int, entry: bool, exit_: bool, short: bool, cover: bool) -> int:
        flags = [on if flag else off for flag in (entry, exit_, short, cover)]
        return decide(held, Signals(*flags), 0)

    assert at(0, True, False, False, False) == 1
    assert at(0, True, True, False, False) == 0, "an entry does not count where its exit holds"
    assert at(1, True, True, False, False) == 0
    assert at(1, False, False, False, True) == 1, "a short's exit is none of a long's"
    assert at(1, False, False, True, False) == -1
    assert at(-1, False, False, False, True) == 0
    assert at(-1, False, True, False, False) == -1
    assert at(0, True, False, True, False) == 0, "long and short at once cancel each other"
    assert at(1, False, True, True, False) == -1


@pytest.mark.parametrize(
    ("low", "open_", "price"),
    [(19, 21, None), (17, 21, 18.0), (15, 16, 16.0)],
    ids=["not touched", "touched", "opened below"],
)
def test_a_stop_is_filled_at_its_price_or_at_an_open_beyond_it(
    low: float, open_: float, price: float | None
) -> None:
    bars = bars_of([20, 20, open_, 21], [20, 20, 21, 21], low=[20, 20, low, 21])
    (trade,) = run(leg(bars, entry=[0]), stop_loss_pct=10).trades
    assert (trade.exit_price if trade.reason == "stop loss" else None) == price
    if price:
        assert trade.left == bars.dates[2]


def test_a_stop_works_within_the_bar_of_the_entry() -> None:
    bars = bars_of([20, 20, 21], low=[20, 17, 21])
    (trade,) = run(leg(bars, entry=[0]), stop_loss_pct=10).trades
    assert (trade.reason, trade.exit_price, trade.bars) == ("stop loss", 18, 0)


def test_a_short_is_stopped_above_and_takes_its_profit_below() -> None:
    bars = bars_of([20, 20, 20, 20], high=[20, 20, 23, 20])
    (trade,) = run(leg(bars, short_entry=[0]), stop_loss_pct=10).trades
    assert (trade.reason, trade.exit_price) == ("stop loss", pytest.approx(22))
    bars = bars_of([20, 20, 20, 20], low=[20, 20, 15, 20])
    (trade,) = run(leg(bars, short_entry=[0]), take_profit_pct=10).trades
    assert (trade.reason, trade.exit_price) == ("take profit", 18)


def test_after_a_stop_the_same_entry_counts_only_once_it_has_not_held() -> None:
    """An entry that is a level would otherwise buy back at the next open what the stop has just sold."""
    opens = [20.0] * 8
    bars = bars_of(opens, low=[20, 20, 17, 20, 20, 20, 20, 20])
    stopped, again = run(leg(bars, entry=[0, 1, 2, 3, 5, 6, 7]), stop_loss_pct=10).trades
    assert (stopped.reason, stopped.left) == ("stop loss", bars.dates[2])
    assert (again.reason, again.entered) == ("open", bars.dates[6])
    taken = bars_of(opens, high=[20, 20, 23, 20, 20, 20, 20, 20])
    (short,) = run(leg(taken, short_entry=range(8)), stop_loss_pct=10).trades
    assert (short.reason, short.left) == ("stop loss", bars.dates[2])
    long, turned = run(leg(bars, entry=range(4), short_entry=[4]), stop_loss_pct=10).trades
    assert (long.reason, turned.side, turned.entered) == ("stop loss", "short", bars.dates[5])


def test_a_take_profit_is_a_limit_without_slippage() -> None:
    terms = Terms(1000.0, slippage_bps=100)
    bars = bars_of([20, 20, 20, 20], high=[20, 20, 25, 20])
    (trade,) = run(leg(bars, entry=[0]), terms=terms, take_profit_pct=10).trades
    assert trade.exit_price == pytest.approx(20 * 1.01 * 1.1)
    bars = bars_of([20, 20, 30, 20], high=[20, 20, 31, 20])
    (trade,) = run(leg(bars, entry=[0]), terms=terms, take_profit_pct=10).trades
    assert trade.exit_price == 30, "an open above the limit is the better price"


def test_where_a_bar_touches_both_the_stop_counts() -> None:
    bars = bars_of([20, 20, 20, 20], high=[20, 20, 25, 20], low=[20, 20, 15, 20])
    (trade,) = run(leg(bars, entry=[0]), stop_loss_pct=10, take_profit_pct=10).trades
    assert trade.reason == "stop loss"


def test_a_trailing_stop_follows_the_best_price_of_the_bars_before() -> None:
    """The high of 40 counts from the next bar on: 40 less 10 % is 36."""
    bars = bars_of(
        [20, 20, 30, 38, 20],
        [20, 20, 39, 38, 20],
        high=[20, 20, 40, 39, 20],
        low=[20, 20, 30, 35, 20],
    )
    (trade,) = run(leg(bars, entry=[0]), trailing_stop_pct=10).trades
    assert (trade.reason, trade.left, trade.exit_price) == ("trailing stop", bars.dates[3], 36)


def test_a_bar_without_volume_fills_nothing_and_the_order_waits() -> None:
    bars = bars_of([10, 20, 25, 30], volume=[100, 0, 0, 100])
    done = run(leg(bars, entry=[0]))
    assert (done.trades[0].entry_price, done.waited) == (30, 2)
    stopped = bars_of([20, 20, 20, 15], low=[20, 20, 10, 15], volume=[100, 100, 0, 100])
    (trade,) = run(leg(stopped, entry=[0]), stop_loss_pct=10).trades
    assert (trade.left, trade.exit_price) == (stopped.dates[3], 15)


def test_an_exit_while_the_entry_waits_takes_the_order_back() -> None:
    bars = bars_of([10, 20, 25, 30], volume=[100, 0, 100, 100])
    assert run(leg(bars, entry=[0], exit_=[1])).trades == []


def test_a_series_that_has_no_volumes_at_all_is_traded() -> None:
    """Indices and exchange rates have none."""
    bars = bars_of([10, 20, 25], volume=[0.0, 0.0, 0.0])
    assert run(leg(bars, entry=[0])).trades[0].entry_price == 20


def test_equal_weights_give_each_symbol_its_part_of_the_equity() -> None:
    a = leg(bars_of([10, 10, 20, 20, 20], symbol="A"), entry=[0], exit_=[1])
    b = leg(bars_of([10, 10, 10, 10, 10], symbol="B"), entry=[2])
    done = run(a, b)
    assert [trade.quantity for trade in done.trades] == [
        50,
        75,
    ]  # half of 1000 at 10, of 1500 at 10
    assert done.stance == {"A": 0, "B": 1}


def test_nothing_is_borrowed_where_others_have_gained() -> None:
    a = leg(bars_of([10, 10, 20, 20], symbol="A"), entry=[0])
    b = leg(bars_of([10, 10, 10, 10], symbol="B"), entry=[1])
    assert [trade.quantity for trade in run(a, b).trades] == [50, 50]  # 500 of cash are left


def test_fixed_weights_take_their_fraction_while_there_is_cash() -> None:
    legs = [leg(bars_of([10, 10, 10], symbol=name), entry=[0]) for name in "ABC"]
    done = run(*legs, terms=Terms(1000.0, weighting="fixed"), fraction=0.5)
    assert [trade.quantity for trade in done.trades] == [50, 50]
    assert (done.stance["C"], done.unfilled) == (0, 1)


def test_what_is_sold_pays_for_what_is_bought_at_the_same_open() -> None:
    a = leg(bars_of([10, 10, 10, 20], symbol="A"), entry=[0], exit_=[2])
    b = leg(bars_of([10, 10, 10, 10], symbol="B"), entry=[2])
    done = run(b, a, terms=Terms(1000.0, weighting="fixed"))
    assert [(t.symbol, t.quantity) for t in done.trades] == [("A", 100), ("B", 200)]


def test_symbols_with_other_days_are_valued_at_their_last_close() -> None:
    """A gap in one series, and a later listing of another: neither is filled in nor read ahead."""
    dates = days(4)
    a = leg(bars_of([10, 10, 12], symbol="A", dates=(dates[0], dates[1], dates[3])), entry=[0])
    b = leg(bars_of([10, 10], [10, 20], symbol="B", dates=dates[2:]), entry=[0])
    done = run(a, b)
    assert done.dates == dates
    assert done.equity == [1000, 1000, 1000, 50 * 12 + 50 * 20]


def test_dividends_go_to_who_held_the_share_before_and_are_owed_by_a_short() -> None:
    paid = tuple(Dividend(days(4)[i], amount) for i, amount in ((1, 5.0), (2, 1.0)))
    bars = bars_of([10, 10, 10, 10], dividends=paid)
    long, short = run(leg(bars, entry=[0])), run(leg(bars, short_entry=[0]))
    assert (long.dividends, long.equity[-1], long.trades[0].profit) == (100, 1100, 100)
    assert (short.dividends, short.equity[-1], short.trades[0].profit) == (-100, 900, -100)


def test_a_dividend_between_two_bars_is_paid_at_the_next() -> None:
    gap = (days(9)[0], days(9)[1], days(9)[8])
    bars = bars_of([10, 10, 10], dates=gap, dividends=(Dividend(days(9)[4], 1.0),))
    assert run(leg(bars, entry=[0])).equity == [1000, 1000, 1100]


def test_an_account_that_loses_everything_ends_there() -> None:
    bars = bars_of([10, 10, 25, 5, 5])
    done = run(leg(bars, short_entry=[0], entry=[3]))
    assert done.ruined == bars.dates[2]
    assert done.equity == [1000, 1000, 0, 0, 0]
    assert [trade.reason for trade in done.trades] == ["ruin"]


async def test_a_split_within_the_window_is_no_loss() -> None:
    """AAPL split 2:1 on 2005-02-28: prices are in shares of the end."""
    whole = await Sources([BundledSource()]).bars("AAPL", dt.date(2005, 2, 1), dt.date(2005, 3, 31))
    rules, _ = expand("buy_and_hold", {})
    done = compute(Request((Asked(whole, 0),), rules, CASH, (whole,)))
    assert done.run.equity[-1] == pytest.approx(1000 * whole.close[-1] / whole.open[1])
    assert abs(whole.close[-1] / whole.open[1] - 1) < 0.3
    assert (
        max(abs(b / a - 1) for a, b in zip(done.run.equity, done.run.equity[1:], strict=False))
        < 0.1
    )


def noise(count: int, symbol: str, seed: int) -> Bars:
    dice = random.Random(seed)
    close = [100.0]
    for _ in range(count - 1):
        close.append(close[-1] * (1 + dice.uniform(-0.04, 0.041)))
    open_ = [c * (1 + dice.uniform(-0.01, 0.01)) for c in close]
    high = [max(pair) * 1.01 for pair in zip(open_, close, strict=True)]
    low = [min(pair) * 0.99 for pair in zip(open_, close, strict=True)]
    volume = [0.0 if dice.random() < 0.05 else 100.0 for _ in close]
    return bars_of(open_, close, high=high, low=low, volume=volume, symbol=symbol)


@pytest.mark.parametrize("name", ["macd", "rsi_reversion", "donchian_breakout", "bollinger"])
def test_what_comes_later_changes_nothing_that_was_done_before(name: str) -> None:
    """`as_of`: a run that knows the first k bars ends as a longer run stood there, whatever came afterwards."""
    rules, _ = expand(name, {"short": True, "stop_loss_pct": 6, "trailing_stop_pct": 9})  # type: ignore[arg-type]
    whole = [noise(180, "A", 1), noise(180, "B", 2)]
    terms = Terms(1000.0, commission_bps=5, slippage_bps=5)

    def equity(count: int) -> list[float]:
        assets = tuple(Asked(bars.rows(0, count), 0) for bars in whole)
        return compute(Request(assets, rules, terms, (whole[0],))).run.equity

    long = equity(180)
    assert len(set(long)) > 50
    for k in (60, 117, 179):
        assert equity(k) == long[:k]


def test_the_account_is_what_its_trades_have_made_of_it() -> None:
    """Money is neither made nor lost between trades: cash + profits = equity, with costs, shorts, stops, gaps."""
    rules, _ = expand("macd", {"short": True, "stop_loss_pct": 4, "take_profit_pct": 9})
    bars = [noise(250, "A", 3), noise(250, "B", 4), noise(250, "C", 5)]
    terms = Terms(1000.0, commission_bps=8, commission_per_order=1, slippage_bps=5)
    done = compute(Request(tuple(Asked(b, 0) for b in bars), rules, terms, tuple(bars))).run
    assert len(done.trades) > 30
    assert {trade.reason for trade in done.trades} >= {"signal", "stop loss", "take profit"}
    assert done.equity[-1] == pytest.approx(1000 + sum(trade.profit for trade in done.trades))


def test_simulating_takes_one_look_at_each_bar() -> None:
    """The work grows with the number of bars alone: columns are read by index, a bounded number of times."""
    reads = {"close": 0}

    class Counted(list[float]):
        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            reads["close"] += 1
            return super().__getitem__(index)

    bars = noise(400, "A", 6)
    object.__setattr__(bars, "close", Counted(bars.close))
    simulate(
        [leg(bars, entry=range(0, 400, 20), exit_=range(10, 400, 20))], expand("macd", {})[0], CASH
    )
    assert reads["close"] <= 2 * len(bars)
