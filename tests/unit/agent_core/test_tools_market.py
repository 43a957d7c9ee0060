"""The market tools on the bundled prices: known answers, what every answer states, failures that tell the cure."""

import csv
import datetime as dt
import gzip
import io
import json
import re
from importlib.resources import files
from typing import Any, Literal

import pytest

from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.analysis import analysis_tools
from agent_core.tools.chart import chart_tools
from agent_core.tools.market import market_tools
from agent_core.tools.registry import Registry
from agent_core.tools.series import dump, percent, price
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput

NAMES = {
    "search_stock_by_name",
    "get_market_history",
    "get_market_overview",
    "analyze_stock",
    "chart",
}
SOURCES = Sources([BundledSource()])
TOOLS = Registry([*market_tools(SOURCES), *analysis_tools(SOURCES), *chart_tools(SOURCES)])


class Still:
    """A clock that stands."""

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 5, tzinfo=dt.UTC)

    def monotonic(self) -> float:
        return 0.0


async def run(
    name: str,
    language: Literal["en", "zh"] = "en",
    as_of: str | None = None,
    max_age: float | None = None,
    **args: Any,
) -> ToolOutput:
    spec = TOOLS.get(name)
    assert spec is not None
    day = dt.date.fromisoformat(as_of) if as_of else None
    ctx = ToolContext("telegram:1", "s", 1, "c1", language, Still(), day, max_age=max_age)
    return await spec.call(ctx, args)


async def answer(name: str, **args: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((await run(name, **args)).content)
    return fields


def rows(symbol: str, year: str) -> list[dict[str, str]]:
    data = files("agent_core.finance").joinpath("data", f"{symbol}.csv.gz").read_bytes()
    table = csv.DictReader(io.StringIO(gzip.decompress(data).decode()))
    return [row for row in table if row["date"].startswith(year)]


def numbers(text: str) -> set[float]:
    return {abs(float(n)) for n in re.findall(r"\d+\.\d+", text)}


def test_the_tools_have_the_names_and_properties_of_the_source_design() -> None:
    """TGV-1, TGV-3: all of them read only, so they may run side by side and again after a crash."""
    assert TOOLS.names == NAMES
    for spec in TOOLS:
        assert spec.concurrency_safe
        assert spec.idempotent
        assert spec.effect == "none"
        assert not spec.requires_approval
        assert set(spec.title) == {"en", "zh"}
        assert "ctx" not in json.dumps(spec.parameters)


async def test_history_of_goog_in_2012_equals_the_file() -> None:
    year = rows("GOOG", "2012")
    first, last = float(year[0]["close"]), float(year[-1]["close"])
    top = max(year, key=lambda row: float(row["high"]))
    found = await answer("get_market_history", symbol="GOOG", start="2012")
    assert found["first_close"] == first
    assert found["last_close"] == last
    assert found["change_pct"] == round((last / first - 1) * 100, 2) == 6.31
    assert found["high"] == {"value": float(top["high"]), "date": top["date"]}
    assert found["trading_days"] == len(year)
    before = float(rows("GOOG", "2011")[-1]["close"])
    assert found["change_from_previous_close_pct"] == round((last / before - 1) * 100, 2)
    assert found["interval"] == "week"
    assert found["bars"][-1]["close"] == last
    assert sum(bar["volume"] for bar in found["bars"]) == sum(int(r["volume"]) for r in year)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("get_market_history", {"symbol": "谷歌", "start": "2012"}),
        ("get_market_overview", {}),
        ("analyze_stock", {"symbol": "Apple"}),
        ("chart", {"symbol": "IBM", "start": "2012-03"}),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_answer_states_where_it_comes_from(
    name: str, args: dict[str, Any], language: Literal["en", "zh"]
) -> None:
    output = await run(name, language, **args)
    found = json.loads(output.content)
    assert found["source"] == "bundled"
    assert found["as_of"] == found["window"]["end"] <= "2013-03-01"
    assert found["currency"] == "USD"
    assert found["credibility"] in {"objective fact", "logic tool"}
    assert len(output.content) <= 8000  # EVT-6
    assert output.summary
    assert "\n" not in output.summary
    assert numbers(output.summary) <= numbers(output.content)


@pytest.mark.parametrize("interval", [None, "day", "week", "month"])
async def test_the_longest_history_fits_into_an_answer(interval: str | None) -> None:
    """EVT-6: at most 8,000 characters; rows joined into one are counted."""
    output = await run(
        "get_market_history", symbol="AAPL", start="2000", end="2013", interval=interval
    )
    found = json.loads(output.content)
    assert len(output.content) <= 8000
    assert len(found["bars"]) <= 60
    assert found["intervals_per_row"] > 1


async def test_prices_convert_by_each_days_reference_rate() -> None:
    dollars = await answer("get_market_history", symbol="GOOG", start="2012")
    euros = await answer("get_market_history", symbol="GOOG", start="2012", currency="eur")
    assert euros["currency"] == "EUR"
    assert euros["converted_from"] == "USD"
    assert euros["first_close"] == pytest.approx(dollars["first_close"] / 1.3014, abs=0.01)
    with pytest.raises(ToolFailure, match="no exchange rates for XYZ"):
        await run("get_market_history", symbol="GOOG", start="2012", currency="XYZ")


async def test_overview_shows_all_bundled_symbols_side_by_side() -> None:
    found = await answer("get_market_overview")
    assert [item["symbol"] for item in found["items"]] == ["AAPL", "GOOG", "IBM", "MSFT"]
    goog = found["items"][1]
    close = {row["date"]: float(row["close"]) for y in ("2012", "2013") for row in rows("GOOG", y)}
    assert goog["last_close"] == close["2013-03-01"]
    assert goog["day_change_pct"] == percent((close["2013-03-01"] / close["2013-02-28"] - 1) * 100)
    assert goog["return_1m_pct"] == percent((close["2013-03-01"] / close["2013-02-01"] - 1) * 100)
    assert goog["return_1y_pct"] == percent((close["2013-03-01"] / close["2012-03-01"] - 1) * 100)
    assert "2013-03-01" in found["note"]  # not of today


async def test_overview_names_what_is_missing_and_fails_when_nothing_is_left() -> None:
    found = await answer("get_market_overview", symbols=["IBM", "特斯拉"])
    assert [item["symbol"] for item in found["items"]] == ["IBM"]
    assert "TSLA" in found["missing"][0]
    with pytest.raises(ToolFailure, match="TSLA"):
        await run("get_market_overview", symbols=["TSLA"])


async def test_analysis_of_goog_in_2012() -> None:
    close = [float(row["close"]) for y in ("2011", "2012") for row in rows("GOOG", y)]
    found = await answer("analyze_stock", symbol="GOOG", start="2012")
    assert found["last_close"] == 707.38
    assert found["indicators"]["sma20"] == round(sum(close[-20:]) / 20, 2)
    assert found["indicators"]["sma200"] == round(sum(close[-200:]) / 200, 2)
    assert found["drawdown"] == {
        "max_pct": 16.34,
        "peak_date": "2012-01-04",
        "trough_date": "2012-06-14",
    }
    assert found["trend"]["direction"] in {"up", "down", "sideways"}
    assert 0 <= found["trend"]["strength"] <= 1
    assert all(level < 707.38 for level in found["support"])
    assert all(level > 707.38 for level in found["resistance"])


async def test_analysis_speaks_the_persons_language() -> None:
    found = await answer("analyze_stock", language="zh", symbol="苹果")
    assert found["symbol"] == "AAPL"
    assert "收盘价" in found["trend"]["reason"]
    assert "RSI" in found["phase_note"]
    assert "趋势" in (await run("analyze_stock", "zh", symbol="苹果")).summary


async def test_a_window_too_short_for_an_indicator_gives_null() -> None:
    found = await answer("analyze_stock", symbol="GOOG", start="2004-08-19", end="2004-08-20")
    assert found["indicators"]["sma20"] is None
    assert found["volatility_pct_annual"] is None
    assert found["risk"]["cagr_pct"] is None


@pytest.mark.parametrize("name", sorted(NAMES - {"search_stock_by_name"}))
async def test_nothing_later_than_as_of_reaches_an_answer(name: str) -> None:
    """An answer as of a day equals the answer of a world whose data ends there."""
    args = {"symbols": ["AAPL"]} if name == "get_market_overview" else {"symbol": "AAPL"}
    output = await run(name, as_of="2004-12-31", **args)
    found = json.loads(output.content)
    assert found["as_of"] == "2004-12-31"
    assert not re.search(r"20(0[5-9]|1\d)-", output.content)
    last = found["items"][0]["last_close"] if "items" in found else found["last_close"]
    assert last == 64.4  # as traded: the split of 2005 is not known yet


async def test_a_window_after_as_of_has_no_prices() -> None:
    with pytest.raises(ToolFailure, match="2004-08-19 – 2009-12-31"):
        await run("analyze_stock", as_of="2010-01-01", symbol="GOOG", start="2012")
    with pytest.raises(ToolFailure, match="none before 2001-01-01"):
        await run("analyze_stock", as_of="2001-01-01", symbol="GOOG")


@pytest.mark.parametrize(
    ("language", "args", "words"),
    [
        ("en", {"symbol": "gogle"}, "did you mean GOOG.*AAPL, GOOG, IBM, MSFT"),
        ("zh", {"symbol": "不存在"}, "没有名为.*有数据的是：AAPL"),
        ("en", {"symbol": "TSLA"}, "no prices of TSLA.*bundled.*AAPL, GOOG, IBM, MSFT"),
        ("zh", {"symbol": "宁德时代"}, "没有 300750.SZ.*AAPL"),
        ("en", {"symbol": "GOOG", "start": "2020"}, "2004-08-19 – 2013-03-01"),
        ("zh", {"symbol": "GOOG", "start": "1999"}, "现有数据：2004-08-19 – 2013-03-01"),
        ("en", {"symbol": "GOOG", "start": "soon"}, "not a date; use YYYY-MM-DD"),
        ("en", {"symbol": "GOOG", "start": "2012", "end": "2011"}, "before the start"),
        ("en", {"symbol": "GOOG", "day": "2012"}, "day: Extra inputs"),
    ],
)
@pytest.mark.parametrize("name", ["get_market_history", "analyze_stock", "chart"])
async def test_failures_say_what_and_how_to_mend_it(
    name: str, language: Literal["en", "zh"], args: dict[str, Any], words: str
) -> None:
    with pytest.raises(ToolFailure, match=words) as failure:
        await run(name, language, **args)
    assert "\n" not in str(failure.value)


async def test_a_window_that_is_cut_says_so() -> None:
    found = await answer("get_market_history", symbol="GOOG", start="2004", end="2004-12-31")
    assert found["window"]["start"] == "2004-08-19"
    assert "begins only on 2004-08-19" in found["note"]
    assert "previous_close" not in found


@pytest.mark.parametrize(
    ("query", "first"), [("Google", "GOOG"), ("国际商业机器", "IBM"), ("茅台", "600519.SH")]
)
async def test_search_finds_names_and_says_whether_there_is_data(query: str, first: str) -> None:
    match = (await answer("search_stock_by_name", query=query))["matches"][0]
    assert match["symbol"] == first
    assert match["has_data"] is (first in SOURCES.symbols)


async def test_search_for_a_theme_explains_itself() -> None:
    found = await answer("search_stock_by_name", query="白酒", language="zh")
    assert found["matches"] == []
    assert "主题" in found["note"]


async def test_a_chart_is_an_artifact_with_a_caption() -> None:
    output = await run("chart", symbol="GOOG", start="2012")
    (picture,) = output.artifacts
    assert picture.name == "GOOG-2012.png"
    assert picture.media_type == "image/png"
    assert picture.data.startswith(b"\x89PNG")
    assert picture.caption == "GOOG 2012-01-03 … 2012-12-31, daily, USD, source: bundled"
    found = json.loads(output.content)
    assert found["kind"] == "price"
    assert "GOOG-2012.png" in found["note"]
    window = await run("chart", symbol="IBM", start="2012-03-05", end="2012-04-10", kind="rsi")
    assert window.artifacts[0].name == "IBM-2012-03-05_2012-04-10-rsi.png"


def test_what_json_cannot_say_becomes_null() -> None:
    """EVT-6."""
    assert dump({"a": float("nan"), "b": [float("inf"), 1.5]}) == '{"a":null,"b":[null,1.5]}'
    assert price(0.0123456) == 0.01235
    assert price(float("nan")) is None
    assert str(percent(-0.001)) == "0.0"


@pytest.mark.parametrize(("days", "stale"), [(3_000, True), (20_000, False)])
async def test_a_preset_says_from_which_age_prices_are_stale(days: float, stale: bool) -> None:
    """`data.max_age`: the bundled prices end in 2013."""
    found = await answer("get_market_overview", symbols=["GOOG"], max_age=days * 86_400)
    assert ("not of today" in found["note"]) is stale
