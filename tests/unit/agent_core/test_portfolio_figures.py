"""What a book is worth and how it is spread: hand-computed figures; play money apart; what is missing is named."""

import datetime as dt
import json
import math
from itertools import pairwise
from typing import Any

import pytest

from agent_core.book import Holding
from agent_core.finance.fx import Rates
from agent_core.finance.portfolio import net_usd, worth
from agent_core.finance.portfolio_books import Contents
from agent_core.finance.portfolio_chart import Allocation, Part, draw_allocation
from agent_core.finance.portfolio_risk import diagnose, remarks
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.portfolio import portfolio_tools
from agent_core.tools.spec import Consent, ToolContext, ToolFailure, ToolOutput
from agent_core.trading import Cash, Quote, Trade
from tests.unit.agent_core.test_broker_paper import Still

NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
DAY = dt.date(2013, 3, 1)
SOURCES = Sources([BundledSource()])
RATES = Rates()


def held(
    symbol: str, quantity: float, cost: float, currency: str = "USD", account: str = "default"
) -> Holding:
    return Holding(symbol, quantity, cost, NOW, currency=currency, account=account)


class Shelf:
    """One person's book; `place` is whether the turn is private."""

    def __init__(
        self, *holdings: Holding, cash: tuple[Cash, ...] = (), trades: tuple[Trade, ...] = ()
    ) -> None:
        self.it = Contents(holdings, cash, trades)
        self.place = True

    async def private(self, turn_id: int) -> bool:
        return self.place

    async def contents(self, owner: str) -> Contents:
        return self.it if owner == "alice" else Contents()

    async def plan(self, owner: str, items: Any, as_of: Any) -> Any:
        raise NotImplementedError

    async def carry_out(
        self, owner: str, items: Any, source: str, *, bound: str, twice: bool
    ) -> Any:
        raise NotImplementedError


async def ask(
    shelf: Shelf, *, language: Any = "en", as_of: str | None = None, **args: Any
) -> ToolOutput:
    [spec] = portfolio_tools(shelf, None, SOURCES, RATES)
    day = dt.date.fromisoformat(as_of) if as_of else None
    consent = Consent(1) if args.get("share_here") else None
    ctx = ToolContext("alice", "s", 1, "c", language, Still(), day, consent=consent)
    return await spec.call(ctx, args)


async def fields(shelf: Shelf, **args: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await ask(shelf, **args)).content)
    return found


async def test_the_view_agrees_with_a_calculation_by_hand() -> None:
    """The closes of 2013-03-01: GOOG 806.19, IBM 202.91; one euro was 1.3 dollars or so, by the ECB's own rate."""
    sold = Trade("sell", "default", "USD", NOW, DAY, 100.0, "IBM", 1, 200, realised=12.5)
    paid = Trade("dividend", "default", "USD", NOW, DAY, 3.5, "IBM")
    shelf = Shelf(
        held("GOOG", 10, 500),
        held("IBM", 5, 210),
        cash=(Cash("default", "EUR", 100.0),),
        trades=(sold, paid),
    )
    found = await fields(shelf)
    rate = (await RATES.rate("EUR", "USD", DAY)).value
    total = 10 * 806.19 + 5 * 202.91 + 100 * rate
    own = found["own"]
    assert own["total"] == round(total, 2)
    goog, ibm = own["positions"]
    assert (goog["value"], goog["unrealised"], goog["unrealised_pct"]) == (8061.9, 3061.9, 61.24)
    assert goog["weight_pct"] == round(8061.9 / total * 100, 2)
    assert (ibm["unrealised"], ibm["price_date"], ibm["price_source"]) == (
        -35.45,
        "2013-03-01",
        "bundled",
    )
    assert own["by_currency"]["USD"] == {
        "positions": 9076.45, "cash": 0.0, "unrealised": 3026.45, "realised": 12.5, "dividends": 3.5,
    }  # fmt: skip
    assert found["source"] == "portfolio store; prices: bundled"
    assert (found["as_of"], found["credibility"]) == ("2013-03-01", "objective fact")
    assert "GOOG, IBM are of 2013-03-01, not of today" in found["note"]


async def test_play_money_is_never_added_to_own_money() -> None:
    shelf = Shelf(
        held("GOOG", 1, 500),
        held("GOOG", 3, 700, account="paper"),
        cash=(Cash("paper", "USD", 50.0),),
    )
    found = await fields(shelf)
    assert (found["own"]["total"], found["paper"]["total"]) == (806.19, round(3 * 806.19 + 50, 2))
    only = await fields(shelf, account="paper")
    assert "own" not in only


async def test_what_has_no_price_or_rate_is_named_and_in_no_total() -> None:
    shelf = Shelf(held("TSLA", 1, 100), held("GOOG", 1, 500), cash=(Cash("default", "XYZ", 5.0),))
    found = await fields(shelf)
    assert found["own"]["total"] == 806.19
    assert "without a price and in no total: TSLA" in found["note"]
    assert "no rate to USD, so in no total: XYZ" in found["note"]
    tsla = next(p for p in found["own"]["positions"] if p["symbol"] == "TSLA")
    assert "value" not in tsla
    assert "no prices of TSLA" in tsla["note"]


async def test_a_cost_in_another_currency_gives_no_gain() -> None:
    found = await fields(Shelf(held("GOOG", 1, 500, "EUR")))
    [position] = found["own"]["positions"]
    assert "unrealised" not in position
    assert position["note"] == "cost in EUR, price in USD: no gain"


async def test_nothing_later_than_the_day_is_read() -> None:
    found = await fields(Shelf(held("GOOG", 1, 500)), as_of="2012-06-29")
    [position] = found["own"]["positions"]
    assert (position["price"], position["price_date"]) == (580.07, "2012-06-29")
    assert "positions are those of now, prices those of 2012-06-29" in found["note"]


async def test_memory_is_no_source_of_a_holding_and_an_empty_book_says_so() -> None:
    """MSC-5: what is not in the store is not held."""
    output = await ask(Shelf(), language="zh")
    assert output.summary.startswith("组合为空")


async def test_a_group_is_refused_in_the_tool_itself_unless_a_yes_was_given() -> None:
    shelf = Shelf(held("GOOG", 1, 500))
    shelf.place = False
    with pytest.raises(ToolFailure, match="this is a group"):
        await ask(shelf)
    assert (await fields(shelf, share_here=True))["own"]["total"] == 806.19


async def test_a_diagnosis_agrees_with_independent_figures() -> None:
    shelf = Shelf(
        held("GOOG", 10, 500), held("IBM", 20, 210), cash=(Cash("default", "USD", 1_000.0),)
    )
    found = await fields(shelf, mode="diagnose", benchmark="MSFT")
    g = await SOURCES.bars("GOOG", None, None)
    i = await SOURCES.bars("IBM", None, None)
    values = [10 * a + 20 * b + 1_000 for a, b in zip(g.close[-253:], i.close[-253:], strict=True)]
    returns = [math.log(b / a) for a, b in pairwise(values)]
    mean = sum(returns) / len(returns)
    deviation = math.sqrt(sum((r - mean) ** 2 for r in returns) / (len(returns) - 1))
    assert found["volatility_pct_annual"] == pytest.approx(
        deviation * math.sqrt(252) * 100, abs=0.01
    )
    total = 10 * 806.19 + 20 * 202.91 + 1_000
    assert found["largest"] == {"symbol": "GOOG", "weight_pct": round(8061.9 / total * 100, 2)}
    assert found["cash_pct"] == round(1_000 / total * 100, 2)
    share = 8061.9 / (total - 1_000)
    assert found["hhi"] == pytest.approx(share**2 + (1 - share) ** 2, abs=1e-4)
    assert found["benchmark"] == "MSFT"
    assert 0 < found["beta"] < 2
    assert found["common_days"] == 253
    assert found["credibility"] == "logic tool"
    assert "rules of thumb (heuristic)" in found["note"]
    assert any("GOOG is 61.4 % of the book" in line for line in found["remarks"])


async def test_a_diagnosis_without_a_benchmark_or_prices_says_so() -> None:
    found = await fields(Shelf(held("GOOG", 10, 500), held("TSLA", 1, 1)), mode="diagnose")
    assert found["beta"] is None
    assert "no beta: name a benchmark" in found["note"]
    assert found["without_price"] == ["TSLA"]
    assert any("without a price, left out: TSLA" in line for line in found["remarks"])
    with pytest.raises(ToolFailure, match="no position has a price"):
        await ask(Shelf(held("TSLA", 1, 1)), mode="diagnose")


def test_a_book_of_few_days_has_weights_and_no_risk() -> None:
    found = diagnose({"A": 100.0}, 0.0, {}, None)
    assert (found.largest, found.volatility_pct, found.days) == (("A", 100.0), None, 0)
    assert remarks(found, [], "zh") == [
        "A 占 100.0%，单一持仓偏重（高于 25%）",
        "前三大持仓占 100.0%，较集中",
    ]


def test_the_net_value_takes_costs_where_there_is_no_price() -> None:
    quote = Quote("A", 2.0, DAY, "EUR", "s", 1.5, live=False)
    book = [held("A", 10, 1), held("B", 10, 3, "CNY")]
    assert (
        net_usd(book, [Cash("x", "USD", 4.0)], {"A": quote}, {"CNY": 0.1, "USD": 1.0}) == 30 + 3 + 4
    )


def test_a_worthless_or_short_book_has_no_shares() -> None:
    found = worth(
        [held("A", -1, 1)],
        [],
        [],
        {"A": Quote("A", 2.0, DAY, "USD", "s", 1.0, live=False)},
        {"USD": 1.0},
        "USD",
        {},
    )
    assert (found.total, found.lines[0].share) == (-2.0, None)


@pytest.mark.parametrize("count", [1, 14])
def test_the_allocation_is_drawn_as_wide_as_a_chart(count: int) -> None:
    parts = [Part(f"S{n}", "", 100 / count, None if n % 2 else -3.0) for n in range(count)]
    png = draw_allocation(Allocation(parts, "1.00 USD", "below", "下方", "zh", "dark"))
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 1280
