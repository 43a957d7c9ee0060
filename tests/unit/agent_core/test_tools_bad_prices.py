"""Prices and names as they come: unclear, closed, with gaps, untraded, split, in several currencies, or none at all."""

import datetime as dt
from dataclasses import replace
from typing import Any, Literal

import pytest

from agent_core.finance.bars import Bars, Split
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.analysis import analysis_tools
from agent_core.tools.chart import chart_tools
from agent_core.tools.indicators import indicator_tools
from agent_core.tools.market import market_tools
from agent_core.tools.regime import regime_tools
from agent_core.tools.risk import risk_tools
from agent_core.tools.screen import screen_tools
from agent_core.tools.spec import ToolFailure, ToolSpec
from agent_core.tools.wyckoff import wyckoff_tools
from tests.unit.agent_core.made_bars import bars_of
from tests.unit.agent_core.made_prices import MadeSource, answer, run, weekdays

# Tools about one symbol, with an end or a window; a chart loads its prices as they do.
ONE = [
    "get_market_history",
    "analyze_stock",
    "indicators",
    "risk_metrics",
    "wyckoff_diagnose",
]
ALL_OF_ONE = pytest.mark.parametrize("name", ONE)


def tools(*series: Bars) -> list[ToolSpec]:
    sources = Sources([MadeSource(series)] if series else [BundledSource()])
    return [
        *market_tools(sources),
        *analysis_tools(sources),
        *indicator_tools(sources),
        *risk_tools(sources),
        *regime_tools(sources),
        *wyckoff_tools(sources),
        *screen_tools(sources),
        *chart_tools(sources),
    ]


BUNDLED = tools()


def wavy(symbol: str = "AAPL", count: int = 300, currency: str = "USD", step: int = 7) -> Bars:
    """Prices around 105 on the last weekdays."""
    close = [100.0 + (i * step) % 11 for i in range(count)]
    return replace(bars_of(close, symbol=symbol, dates=weekdays(count)), currency=currency)


@ALL_OF_ONE
@pytest.mark.parametrize(
    ("language", "written", "candidates"),
    [
        ("en", "Bank", ["did you mean", "BAC", "ask_user"]),
        ("zh", "平安", ["是否指", "601318.SH", "000001.SZ", "ask_user"]),
        ("en", "appl", ["AAPL", "ask_user"]),
        ("en", "zzzz", ["there are prices of AAPL"]),
    ],
)
async def test_an_unclear_name_brings_candidates_to_ask_with(
    name: str, language: Literal["en", "zh"], written: str, candidates: list[str]
) -> None:
    with pytest.raises(ToolFailure) as failure:
        await run(BUNDLED, name, language, symbol=written)
    for candidate in candidates:
        assert candidate in str(failure.value)


@pytest.mark.parametrize("name", sorted(set(ONE) - {"wyckoff_diagnose"}))
async def test_a_holiday_names_the_days_around_it(name: str) -> None:
    """Christmas 2012, and the Sunday before it as the start of a window, which just begins later."""
    with pytest.raises(ToolFailure, match="2012-12-24 and 2012-12-26"):
        await run(BUNDLED, name, symbol="GOOG", start="2012-12-25", end="2012-12-25")
    with pytest.raises(ToolFailure, match="最近的交易日是 2012-12-24"):
        await run(BUNDLED, name, "zh", symbol="GOOG", start="2012-12-25", end="2012-12-25")
    found = await answer(BUNDLED, name, symbol="GOOG", start="2012-12-23", end="2012-12-28")
    assert found["window"]["start"] == "2012-12-24"


@ALL_OF_ONE
async def test_a_day_before_the_listing_names_what_there_is(name: str) -> None:
    with pytest.raises(ToolFailure, match="2004-08-19 – 2013-03-01"):
        await run(BUNDLED, name, symbol="GOOG", end="2004-08-18")


@ALL_OF_ONE
async def test_a_gap_is_said_and_not_filled(name: str) -> None:
    whole = wavy()
    early, late = whole.rows(0, 250), whole.rows(270, 300)
    gappy = bars_of([*early.close, *late.close], symbol="AAPL", dates=early.dates + late.dates)
    found = await answer(tools(gappy), name, symbol="AAPL")
    assert f"there are no prices between {early.as_of} and {late.first}" in found["note"]


@ALL_OF_ONE
async def test_days_without_trade_are_said(name: str) -> None:
    whole = wavy()
    found = await answer(tools(replace(whole, volume=[0.0] * 300)), name, symbol="AAPL")
    days = len(whole.window(dt.date(2025, 1, 2), None))
    assert f"{days} of {days} days have no volume" in found["note"]


async def test_without_volume_no_figure_of_volume_is_made() -> None:
    made = tools(replace(wavy(), volume=[0.0] * 300))
    analysis = await answer(made, "analyze_stock", symbol="AAPL")
    assert analysis["volume"]["ratio"] is None
    assert "without them" in analysis["wyckoff"]["phase_caveat"]
    reading = await answer(made, "indicators", symbol="AAPL", names=["vwap", "obv"])
    assert reading["indicators"][0]["last"]["vwap"] is None


@ALL_OF_ONE
async def test_a_split_in_the_window_moves_no_figure_and_is_said(name: str) -> None:
    """The same prices, once as traded before and after a 2-for-1 split, once in today's shares."""
    plain = wavy()
    day = plain.dates[200]
    factors = [2.0] * 200 + [1.0] * 100
    traded = replace(
        plain.scaled(factors),
        volume=[v / f for v, f in zip(plain.volume, factors, strict=True)],
        splits=(Split(day, 2),),
    )
    there = await answer(tools(traded), name, symbol="AAPL")
    here = await answer(tools(plain), name, symbol="AAPL")
    assert f"a 2-for-1 split on {day}" in there["note"]
    differing = {key for key in here if here[key] != there[key]}
    assert differing == {"note", "adjustment"}


MIXED = (wavy(), wavy("600519.SH", currency="CNY", step=5))


@pytest.mark.parametrize(
    ("name", "args", "cure"),
    [
        ("correlation", {"symbols": ["AAPL", "茅台"]}, True),
        ("chart", {"symbol": "AAPL", "compare": ["茅台"]}, True),
        ("market_regime", {}, False),
        ("risk_metrics", {"symbol": "AAPL", "benchmark": "茅台"}, False),
    ],
)
async def test_currencies_that_differ_are_said(name: str, args: dict[str, Any], cure: bool) -> None:
    found = await answer(tools(*MIXED), name, **args)
    assert "currencies differ (" in found["note"]
    assert set(found["currency"].split(", ")) <= {"USD", "CNY"}
    assert ("give `currency`" in found["note"]) is cure


async def test_currencies_are_converted_where_asked() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("correlation", {"symbols": ["AAPL", "茅台"]}),
        ("chart", {"symbol": "茅台", "overlays": []}),
    ]
    for name, args in calls:
        found = await answer(tools(*MIXED), name, currency="eur", **args)
        assert found["currency"] == "EUR"
        assert "differ" not in found["note"]
    with pytest.raises(ToolFailure, match="no exchange rates for XYZ"):
        await run(tools(*MIXED), "correlation", symbols=["AAPL", "茅台"], currency="XYZ")


@pytest.mark.parametrize("name", ["screen_stocks", "market_regime", "get_market_overview"])
async def test_an_empty_universe_is_an_error_with_a_cure(name: str) -> None:
    sources = Sources([])
    made = [*screen_tools(sources), *regime_tools(sources), *market_tools(sources)]
    with pytest.raises(ToolFailure, match=r"no universe: .* enable a source .* data\.sources"):
        await run(made, name)
    with pytest.raises(ToolFailure, match=r"没有任何证券.*data\.sources"):
        await run(made, name, "zh")


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("indicators", {"symbol": "GOOG", "names": ["rsx"]}, "did you mean rsi"),
        ("indicators", {"symbol": "GOOG", "names": ["sma20"] * 13}, "at most 12"),
        ("correlation", {"symbols": ["GOOG"]}, "2 to 12 different"),
        ("correlation", {"symbols": ["GOOG", "谷歌"]}, "all names mean GOOG"),
        ("correlation", {"symbols": ["GOOG", "TSLA"]}, "no prices of TSLA"),
        ("market_regime", {"symbols": ["GOOG"] * 501}, "at most 500"),
        ("chart", {"symbol": "GOOG", "overlays": ["rsi"]}, "not drawn over prices"),
        ("chart", {"symbol": "GOOG", "overlays": ["sma5"] * 5}, "at most 4"),
        ("chart", {"symbol": "GOOG", "compare": ["IBM"], "kind": "rsi"}, "leave them out"),
        ("chart", {"symbol": "GOOG", "compare": ["a", "b", "c", "d", "e", "f"]}, "at most 6"),
        ("chart", {"symbol": "GOOG", "compare": ["谷歌"]}, "all names mean GOOG"),
        ("risk_metrics", {"symbol": "GOOG", "benchmark": "nothing"}, "no symbol is named"),
    ],
)
async def test_arguments_that_make_no_sense_name_their_bound(
    name: str, args: dict[str, Any], words: str
) -> None:
    with pytest.raises(ToolFailure, match=words) as failure:
        await run(BUNDLED, name, **args)
    assert "\n" not in str(failure.value)


async def test_an_overview_of_a_large_universe_shows_its_beginning_and_says_so() -> None:
    made = tools(*(wavy(f"S{i:02}", 30) for i in range(25)))
    found = await answer(made, "get_market_overview")
    assert [item["symbol"] for item in found["items"]] == [f"S{i:02}" for i in range(12)]
    assert "12 of 25 symbols with data" in found["note"]
    regime = await answer(made, "market_regime")
    assert regime["market"] == "equal weight of 25"


async def test_symbols_without_a_common_day_are_not_compared() -> None:
    early = replace(wavy("IBM", 10), dates=weekdays(10, dt.date(2025, 6, 2)))
    made = tools(wavy("AAPL", 10), early)
    with pytest.raises(ToolFailure, match="no two days in common"):
        await run(made, "chart", symbol="AAPL", compare=["IBM"])
    found = await answer(made, "correlation", symbols=["AAPL", "IBM"])
    assert found["matrix"][0][1] is None
    assert "fewer than 20 common returns" in found["note"]


async def test_an_answer_about_several_symbols_says_when_the_oldest_was_fetched() -> None:
    at = dt.datetime(2026, 1, 2, 9, tzinfo=dt.UTC)
    first = replace(wavy(), fetched_at=at)
    second = replace(wavy("MSFT", step=5), fetched_at=at + dt.timedelta(hours=3))
    found = await answer(tools(first, second), "correlation", symbols=["AAPL", "MSFT"])
    assert found["fetched_at"] == "2026-01-02 09:00 UTC"
    found = await answer(tools(wavy(), second), "get_market_overview")
    assert found["fetched_at"] == "2026-01-02 12:00 UTC", "the other is of no live source"
