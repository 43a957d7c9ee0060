"""What dividends and splits are due, counted by hand: each share once, whatever is booked late or looked at again."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from agent_core.book import Holding
from agent_core.finance.bars import Dividend, Split
from agent_core.finance.corporate_actions import Action, actions_of, due
from agent_core.trading import Trade
from tests.unit.agent_core.made_bars import bars_of, days

AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def day(n: int) -> dt.date:
    return dt.date(2026, 1, n)


def line(kind: Any, on: int, quantity: float, price: float = 10.0, **more: Any) -> Trade:
    return Trade(
        kind, "paper", "USD", AT, day(on), symbol="X", quantity=quantity, price=price, **more
    )


def held(quantity: float, entered: int = 1) -> Holding:
    at = dt.datetime.combine(day(entered), dt.time(), dt.UTC)
    return Holding("X", quantity, 10.0, at, "USD", account="paper")


def paid(on: int, amount: float) -> Action:
    return Action("dividend", day(on), amount)


def split(on: int, ratio: float) -> Action:
    return Action("split", day(on), ratio)


def said(lines: list[Trade]) -> list[tuple[str, int, float, float, float]]:
    return [(t.kind, t.day.day, t.quantity, t.price, t.amount) for t in lines]


def test_a_dividend_is_for_who_held_the_share_before_its_day() -> None:
    history = [line("buy", 5, 10), line("buy", 8, 5), line("sell", 9, 3)]
    assert said(due(held(12), history, [paid(5, 1)])) == [], "bought on the day itself"
    assert said(due(held(12), history, [paid(6, 1)])) == [("dividend", 6, 10, 1, 10)]
    assert said(due(held(12), history, [paid(8, 0.5)])) == [("dividend", 8, 10, 0.5, 5)]
    assert said(due(held(12), history, [paid(9, 0.333)])) == [("dividend", 9, 15, 0.333, 5.0)]
    assert said(due(held(12), history, [paid(10, 1)])) == [("dividend", 10, 12, 1, 12)]


def test_who_has_sold_everything_meanwhile_is_paid_all_the_same() -> None:
    history = [line("buy", 5, 10), line("sell", 9, 10)]
    assert said(due(None, history, [paid(8, 1)])) == [("dividend", 8, 10, 1, 10)]
    assert due(None, history, [paid(10, 1)]) == []
    assert due(None, [], [paid(10, 1)]) == []


def test_a_split_is_for_the_shares_of_before_and_those_bought_since_stay() -> None:
    history = [line("buy", 5, 10), line("buy", 8, 4)]
    assert said(due(held(14), history, [split(8, 2)])) == [("split", 8, 10, 2, 0)]
    assert said(due(held(14), history, [split(9, 0.5)])) == [("split", 9, -7, 0.5, 0)]
    assert due(held(4), [line("buy", 8, 4)], [split(8, 2)]) == []


def test_what_follows_a_split_is_for_the_shares_that_it_made() -> None:
    """10 shares; 2 for 1; a dividend of the same day and one later, each for 20; then 3 for 1."""
    actions = [split(6, 2), paid(6, 1), paid(12, 1), split(20, 3), paid(25, 0.1)]
    assert said(due(held(10), [line("buy", 5, 10)], actions)) == [
        ("split", 6, 10, 2, 0),
        ("dividend", 6, 20, 1, 20),
        ("dividend", 12, 20, 1, 20),
        ("split", 20, 40, 3, 0),
        ("dividend", 25, 60, 0.1, 6),
    ]


def test_nothing_is_due_twice() -> None:
    history = [line("buy", 5, 10), line("buy", 15, 3)]
    actions = [split(6, 2), paid(10, 1), split(12, 1.5), paid(20, 1)]
    first = due(held(13), history, actions)
    assert [t.quantity for t in first] == [10, 20, 10, 33]
    assert due(held(33), [*history, *first], actions) == []
    assert due(held(33), [*history, *first], [split(7, 2), paid(12, 1)]) == [], (
        "another source dates them a day or two later"
    )


def test_a_fill_of_an_earlier_day_that_is_booked_late_is_made_up_for() -> None:
    """Ten were paid; five more, bought before that day, become known afterwards."""
    history = [line("buy", 5, 10), line("dividend", 9, 10, 1.0, amount=10.0)]
    late = line("buy", 8, 5)
    assert said(due(held(15), [*history, late], [paid(9, 1)])) == [("dividend", 9, 5, 1, 5)]


def test_imported_shares_count_from_the_day_after_they_were_entered() -> None:
    assert due(held(10, entered=8), [], [paid(8, 1), split(8, 2)]) == []
    found = due(held(10, entered=8), [], [paid(9, 1), split(20, 2)])
    assert said(found) == [("dividend", 9, 10, 1, 10), ("split", 20, 10, 2, 0)]
    again = due(held(20, entered=21), found, [paid(9, 1), split(20, 2)])
    assert again == [], "what there is counts as done, since nothing tells when the shares came"


def test_what_a_person_entered_by_hand_is_not_done_again() -> None:
    history = [line("buy", 5, 10)]
    entered = line("correction", 10, 10)
    assert due(held(20), [*history, entered], [split(9, 2)]) == []
    by_hand = line("dividend", 10, 0, amount=9.5)
    assert due(held(10), [*history, by_hand], [paid(9, 1)]) == []


def test_actions_are_those_of_the_bars_so_far_with_amounts_for_a_share_of_their_day() -> None:
    dates = days(5)
    bars = bars_of(
        [40, 40, 20, 20, 5],
        dates=dates,
        dividends=(Dividend(dates[1], 2.0), Dividend(dates[3], 1.0)),
    )
    splits = (Split(dates[2], 2), Split(dates[4], 4))
    as_traded = replace(bars, splits=splits)
    wanted = [
        Action("dividend", dates[1], 2.0),
        Action("split", dates[2], 2),
        Action("dividend", dates[3], 1.0),
        Action("split", dates[4], 4),
    ]
    assert actions_of(as_traded) == wanted
    assert actions_of(as_traded.adjusted()) == wanted, "also where they are in shares of today"
    ahead = replace(bars, splits=(Split(dates[-1] + dt.timedelta(days=1), 2),), dividends=())
    assert actions_of(ahead) == [], "announced, and not yet so"


@pytest.mark.parametrize("quantity", [0.1 + 0.2, 1 / 3, 1e6 / 7])
def test_roundings_make_no_lines(quantity: float) -> None:
    history = [line("buy", 5, quantity)]
    first = due(held(quantity), history, [split(9, 3), paid(12, 0.07)])
    after = quantity + first[0].quantity
    assert due(held(after), [*history, *first], [split(9, 3), paid(12, 0.07)]) == []
