"""What a person is shown of an order is what they say yes to: no quantity and no price is rounded."""

import datetime as dt
from typing import Any

import pytest

from agent_core.finance.orders import Checked
from agent_core.finance.portfolio import exact
from agent_core.tools.orders_words import line_of, preview_text
from agent_core.trading import NewOrder, Order, Quote

DAY = dt.date(2026, 1, 5)


def checked(**more: Any) -> Checked:
    order = NewOrder("EUR/USD", "buy", 1_234_567.0, "limit", 1.08345, protect=1.0712, **more)
    quote = Quote("EUR/USD", 1.09, DAY, "USD", "ecb", 1.0, live=True)
    return Checked(order, quote, "paper", 1e6, 1e6, 2e6, 7_654_321.5, private=True)


def test_a_preview_rounds_neither_quantity_nor_level() -> None:
    told = preview_text(checked(), "en")
    assert "**Buy 1,234,567 EUR/USD**, limit 1.08345" in told
    assert "protecting stop order to sell at 1.0712" in told
    assert "EUR/USD 7,654,321.50 → 8,888,888.50" in told


def test_a_fill_tells_the_price_that_was_paid() -> None:
    order = Order(
        "k", "EUR/USD", "buy", 1_234_567.0, "limit", "paper", "paper", "paper", "USD", 1.09, DAY, 1e6,
        dt.datetime(2026, 1, 5, tzinfo=dt.UTC), status="filled", fill_price=1.08345, filled_on=DAY,
    )  # fmt: skip
    assert "1,234,567 EUR/USD filled at 1.08345 USD" in line_of(order, "en")
    assert "EUR/USD 1,234,567，2026-01-05 以 1.08345 USD" in line_of(order, "zh")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2.0, "2"),
        (0.5, "0.50"),
        (1_234_567.0, "1,234,567"),
        (805.955, "805.955"),
        (1e-6, "0.000001"),
        (0.0, "0"),
        (-3.5, "-3.50"),
    ],
)
def test_an_amount_is_shown_as_it_is(value: float, shown: str) -> None:
    assert exact(value) == shown
