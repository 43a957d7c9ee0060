"""A book as CSV: read back as written; errors by line with their cure. A change as a plan: by hand and by bounds."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.book import Holding
from agent_core.finance.orders import OrderRefused
from agent_core.finance.portfolio_change import Item, Plan, plan
from agent_core.finance.portfolio_csv import KINDS, RELATIONS, Book, parse, render
from agent_core.trading import Cash, Trade

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
AMOUNTS = st.floats(-1e9, 1e9, allow_nan=False)
WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0", categories=("L", "N", "P", "S", "Zs")),
    max_size=12,
).map(str.strip)
CODES = st.sampled_from(["GOOG", "600519.SH", "0700.HK", "XYZZ"])
HOLDINGS = st.builds(
    Holding, symbol=CODES, quantity=AMOUNTS, cost=AMOUNTS.map(abs), updated_at=st.just(NOW),
    currency=st.sampled_from(["USD", "CNY", ""]), name=WORDS, relation=st.sampled_from(RELATIONS), note=WORDS,
    account=st.sampled_from(["default", "paper"]),
)  # fmt: skip
TRADES = st.builds(
    Trade, kind=st.sampled_from(KINDS), account=st.just("default"), currency=st.just("USD"), at=st.just(NOW),
    day=st.dates(dt.date(1990, 1, 1), dt.date(2030, 1, 1)), amount=AMOUNTS, symbol=CODES, quantity=AMOUNTS,
    price=AMOUNTS, fee=AMOUNTS, realised=AMOUNTS, source=WORDS,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(HOLDINGS, max_size=4), st.lists(TRADES, max_size=3), AMOUNTS)
def test_what_is_written_is_read_back_as_it_was(
    holdings: list[Holding], trades: list[Trade], amount: float
) -> None:
    book = Book(tuple(holdings), (Cash("default", "USD", amount),), tuple(trades))
    assert parse(render(book), NOW) == (book, [])


def test_the_shortest_file_is_a_code_a_quantity_and_a_price() -> None:
    book, faults = parse(
        "\ufeffSymbol,quantity,price,currency\nGOOG,10,500,usd\n茅台,1,1500,\n\n", NOW
    )
    assert faults == []
    assert [(h.symbol, h.quantity, h.cost, h.currency, h.account) for h in book.holdings] == [
        ("GOOG", 10, 500, "USD", "default"),
        ("600519.SH", 1, 1500, "", "default"),
    ]


HEAD = "record,symbol,quantity,price,currency,amount,kind,relation,day,at\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "the file is empty; begin it with a header"),
        ("symbol,colour\n", 1, "there is no column 'colour'; the columns are record"),
        ("symbol,symbol\n", 1, "the column 'symbol' is there twice"),
        (
            HEAD + ",GOOG,1,500\n,GOOG,x,500\n",
            3,
            "quantity 'x' is no number; write it with a point",
        ),
        (HEAD + ',GOOG,"1,000",500\n', 2, "quantity '1,000' is no number"),
        (HEAD + ",GOOG,1e999,500\n", 2, "quantity 1e999 is out of range"),
        (HEAD + ",GOOG,nan,500\n", 2, "quantity nan is out of range"),
        (HEAD + ",GOOG,1,-5\n", 2, "price -5 is out of range; at least 0"),
        (HEAD + ",,1,5\n", 2, "symbol is empty"),
        (HEAD + ",a b,1,5\n", 2, "'a b' is no known symbol"),
        (HEAD + "stock,GOOG,1,5\n", 2, "record 'stock' is unknown; use position, cash or trade"),
        (HEAD + "cash,,,,,5\n", 2, "currency '' is none"),
        (
            HEAD + "trade,GOOG,1,5,USD,-5,gift,,2020-01-02\n",
            2,
            "kind 'gift' is unknown; use one of: buy",
        ),
        (HEAD + "trade,GOOG,1,5,USD,-5,buy,,2.1.2020\n", 2, "day '2.1.2020' is no date"),
        (HEAD + ",GOOG,1,5,,,,,,yesterday\n", 2, "at 'yesterday' is no time"),
        (HEAD + ",GOOG,1,5,,,,,,2020-01-01T00:00:00\n", 2, "has no zone"),
        (HEAD + ",GOOG,1,5,,,,mine\n", 2, "relation 'mine' is unknown"),
        (HEAD + ",GOOG,1,5,,,,,,,more\n", 2, "more cells than the header names"),
    ],
)
def test_an_error_names_its_line_and_its_cure(text: str, line: int, said: str) -> None:
    _, faults = parse(text, NOW)
    assert len(faults) == 1
    assert faults[0].line == line
    assert said in str(faults[0])


# Plans ------------------------------------------------------------------------------------------------------------


def planned(
    *items: Item, book: tuple[Holding, ...] = (), cash: tuple[Cash, ...] = (), net: float = 10_000
) -> Plan:
    return plan(
        items,
        book,
        cash,
        net_usd=net,
        usd={"USD": 1.0, "CNY": 0.1},
        prices={"A": 10.0},
        now=NOW,
        source="t",
    )


def held(quantity: float, cost: float = 10.0) -> Holding:
    return Holding("A", quantity, cost, NOW, currency="USD")


def item(action: Any, quantity: float = 0, price: float = 0, **more: Any) -> Item:
    return Item(action, "A", quantity, price, currency="USD", **more)


def test_items_build_upon_each_other() -> None:
    made = planned(
        item("buy", 10, 10),
        item("buy", 10, 20),
        item("sell", 5, 30),
        cash=(Cash("default", "USD", 1_000),),
    )
    after = made.steps[-1].after
    assert after is not None
    assert (after.quantity, after.cost) == (15, 15)
    assert [step.cash_after for step in made.steps] == [900, 700, 850]
    assert [trade.realised for trade in made.trades] == [0, 0, 75]


def test_a_sale_of_everything_takes_the_position_away_and_counts_as_destructive() -> None:
    made = planned(item("sell", 1, 10), book=(held(1),), net=1e9)
    assert made.steps[0].after is None
    assert made.heavy


@pytest.mark.parametrize(("quantity", "heavy"), [(50, False), (51, True)])
def test_five_percent_of_the_net_value_is_the_bound(quantity: float, heavy: bool) -> None:
    """TGV-8: of 10,000 dollars, 500 pass and 510 do not; priced at the market, not at what the item says."""
    assert planned(item("buy", quantity, 0.01), book=(held(1),)).heavy is heavy
    halves = (item("buy", quantity / 2, 0.01), item("buy", quantity / 2, 0.01))
    assert planned(*halves, book=(held(1),)).heavy is heavy


def test_a_new_average_cost_weighs_too() -> None:
    assert planned(item("set", 100, 90), book=(held(100, 10),)).heavy


def test_nothing_can_be_sold_that_is_not_there() -> None:
    with pytest.raises(OrderRefused, match="item 2: there are 1 A to sell, not 2"):
        planned(item("buy", 1, 1), item("sell", 2, 1))


def test_the_digest_changes_with_the_items_and_with_what_they_touch_alone() -> None:
    base = planned(item("buy", 1, 1), book=(held(5),)).bound
    other = Holding("B", 7, 1, NOW, currency="USD")
    assert planned(item("buy", 1, 1), book=(held(5), other)).bound == base
    assert planned(item("buy", 1, 1), book=(held(6),)).bound != base
    assert planned(item("buy", 2, 1), book=(held(5),)).bound != base
