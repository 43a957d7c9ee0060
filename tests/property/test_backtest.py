"""Whatever prices and signals meet, a backtest's account adds up, borrows nothing and knows nothing of tomorrow."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.finance.backtest import Leg, Run, simulate
from agent_core.finance.backtest_account import Terms
from agent_core.finance.rules import Rules, read_rules
from agent_core.finance.rules_signals import Signals
from tests.unit.agent_core.made_bars import bars_of, days

CASH = 1000.0
prices = st.floats(1, 1000)
flags = st.booleans()
percents = st.none() | st.floats(0.5, 60)


@st.composite
def a_leg(draw: Any, symbol: str, count: int) -> Leg:
    """Bars of some of the days, some without volume, with any signals."""
    dates = [day for day in days(count) if draw(st.integers(0, 9))]
    rows = [sorted(draw(st.tuples(prices, prices, prices, prices))) for _ in dates]
    order = [draw(st.booleans()) for _ in dates]
    bars = bars_of(
        [row[1] if up else row[2] for row, up in zip(rows, order, strict=True)],
        [row[2] if up else row[1] for row, up in zip(rows, order, strict=True)],
        low=[row[0] for row in rows],
        high=[row[3] for row in rows],
        volume=[float(draw(st.integers(0, 5))) for _ in dates],
        symbol=symbol,
        dates=dates,
    )  # fmt: skip
    signals = [[draw(flags) for _ in dates] for _ in range(4)]
    return Leg(bars, Signals(*signals))


@st.composite
def cases(draw: Any) -> tuple[list[Leg], Rules, Terms]:
    """One to three symbols over some days, with any sizing, stops and costs."""
    count = draw(st.integers(1, 25))
    legs = [draw(a_leg(symbol, count)) for symbol in "ABC"[: draw(st.integers(1, 3))]]
    rules = read_rules({
        "entry": {"gt": ["close", 0]}, "fraction": draw(st.floats(0.05, 1)),
        "stop_loss_pct": draw(percents), "take_profit_pct": draw(percents),
        "trailing_stop_pct": draw(percents),
    })  # fmt: skip
    terms = Terms(
        CASH, draw(st.floats(0, 100)), draw(st.floats(0, 10)), draw(st.floats(0, 100)),
        draw(st.sampled_from(["equal", "fixed"])), draw(flags),
    )  # fmt: skip
    return legs, rules, terms


def known(legs: list[Leg], count: int) -> list[Leg]:
    """The legs as they were known at the end of that many days."""
    last = days(count)[-1]
    return [Leg(leg.bars.window(None, last), leg.signals) for leg in legs]


@settings(max_examples=40, deadline=None)
@given(cases())
def test_the_account_adds_up(test: tuple[list[Leg], Rules, Terms]) -> None:
    """The equity is the cash of the beginning and every trade's profit, in which fees are; it is never below 0."""
    legs, rules, terms = test
    if not any(len(leg.bars) for leg in legs):
        return
    done: Run = simulate(legs, rules, terms)
    made = CASH + sum(trade.profit for trade in done.trades)
    assert done.equity[-1] == pytest.approx(max(made, 0.0), abs=1e-6)
    assert min(done.equity) >= 0
    assert done.equity[0] == CASH
    for trade in done.trades:
        assert trade.entered <= trade.left
        assert trade.quantity > 0
        if terms.whole_shares:
            assert trade.quantity == int(trade.quantity)
    assert done.fills == sum(1 if trade.reason == "open" else 2 for trade in done.trades)


@settings(max_examples=25, deadline=None)
@given(cases(), st.integers(1, 25))
def test_days_that_come_later_change_nothing_before_them(
    test: tuple[list[Leg], Rules, Terms], count: int
) -> None:
    """`as_of`: the account of the first days is the same whatever follows, whether or not there is volume later."""
    legs, rules, terms = test
    before = known(legs, count)
    if not any(len(leg.bars) for leg in before):
        return
    if any(
        any(leg.bars.volume) != any(cut.bars.volume) for leg, cut in zip(legs, before, strict=True)
    ):
        return  # whether a series has volumes at all is asked of the whole window
    short, long = simulate(before, rules, terms), simulate(legs, rules, terms)
    assert long.dates[: len(short.dates)] == short.dates
    assert long.equity[: len(short.equity)] == short.equity
