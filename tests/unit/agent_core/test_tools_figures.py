"""Tools that compute figures, on the bundled prices: what every answer states, known values, both languages."""

import datetime as dt
import json
import re
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from agent_core.finance import work
from agent_core.finance.bars import Bars
from agent_core.finance.sources.bundled import SYMBOLS, BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.analysis import analysis_tools
from agent_core.tools.indicators import indicator_tools
from agent_core.tools.profiles import profile_tools
from agent_core.tools.regime import regime_tools
from agent_core.tools.risk import risk_tools
from agent_core.tools.screen import screen_tools
from agent_core.tools.sizing import sizing_tools
from agent_core.tools.spec import ToolSpec
from agent_core.tools.wyckoff import wyckoff_tools
from tests.unit.agent_core.made_prices import MadeSource, answer, run

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("indicators", {"symbol": "谷歌", "names": ["sma200", "rsi", "macd", "boll", "obv", "vwap", "adx"]}),
    ("risk_metrics", {"symbol": "GOOG", "benchmark": "universe"}),
    ("correlation", {"symbols": ["GOOG", "苹果", "IBM"]}),
    ("market_regime", {}),
    ("wyckoff_diagnose", {"symbol": "MSFT"}),
    ("analyze_stock", {"symbol": "AAPL"}),
    ("get_stock_profiles", {"symbols": ["GOOG", "MSFT"]}),
    ("position_size", {"symbol": "IBM", "account": 100_000, "stop": 1, "risk_pct": 2}),
    ("screen_stocks", {"rules": [{"measure": "rsi", "max": 80}]}),
]  # fmt: skip
CALLS_NAMED = pytest.mark.parametrize(("name", "args"), CALLS, ids=[name for name, _ in CALLS])


def tools(sources: Sources) -> list[ToolSpec]:
    return [
        *analysis_tools(sources),
        *indicator_tools(sources),
        *risk_tools(sources),
        *regime_tools(sources),
        *wyckoff_tools(sources),
        *profile_tools(sources, None),
        *sizing_tools(sources),
        *screen_tools(sources),
    ]


DAY = dt.date.fromisoformat
BUNDLED = Sources([BundledSource()])
TOOLS = tools(BUNDLED)


def numbers(text: str) -> set[float]:
    return {abs(float(n)) for n in re.findall(r"\d+\.\d+", text)}


def test_they_only_read_and_screening_runs_in_the_background() -> None:
    """TGV-1, TGV-3."""
    assert {spec.name for spec in TOOLS} == {name for name, _ in CALLS}
    assert [spec.name for spec in TOOLS if spec.background] == ["screen_stocks"]
    for spec in TOOLS:
        assert spec.concurrency_safe
        assert spec.idempotent
        assert spec.read_only
        assert not spec.requires_approval
        assert set(spec.title) == {"en", "zh"}


@CALLS_NAMED
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_answer_states_source_day_window_currency_and_level(
    name: str, args: dict[str, Any], language: Literal["en", "zh"]
) -> None:
    """CRD-2, EVT-6."""
    output = await run(TOOLS, name, language, **args)
    found = json.loads(output.content)
    assert "bundled" in found["source"]
    assert found["as_of"] == "2013-03-01"
    assert "window" in found
    assert found["currency"] == "USD"
    level = "objective fact" if name == "get_stock_profiles" else "logic tool"
    assert found["credibility"] == level
    assert len(output.content) <= 8000
    assert output.summary
    assert "\n" not in output.summary
    assert numbers(output.summary) <= numbers(output.content)


@CALLS_NAMED
async def test_an_answer_as_of_a_day_is_that_of_a_world_that_ends_there(
    name: str, args: dict[str, Any]
) -> None:
    """Prices after the day, and splits after it, change nothing but the remark that data is old."""
    day = "2004-12-31"
    everything = [await BundledSource().bars(symbol, None, None) for symbol in SYMBOLS]
    known = [bars.until(bars.dates[bars.index_until(DAY(day))]) for bars in everything]
    world = tools(Sources([MadeSource(tuple(known), "bundled")]))
    there = await answer(world, name, as_of=day, **args)
    here = await answer(TOOLS, name, as_of=day, **args)
    assert here == there
    assert not re.search(r"20(0[5-9]|1\d)-", json.dumps(here))


@CALLS_NAMED
async def test_all_but_bare_facts_carry_the_notice(name: str, args: dict[str, Any]) -> None:
    english = await answer(TOOLS, name, language="en", **args)
    chinese = await answer(TOOLS, name, language="zh", **args)
    if english["credibility"] == "logic tool":
        assert "not investment advice" in english["notice"]
        assert "不构成投资建议" in chinese["notice"]


async def closes(symbol: str, year: int = 2012) -> Bars:
    bars = await BundledSource().bars(symbol, DAY(f"{year}-01-01"), DAY(f"{year}-12-31"))
    return bars.adjusted()


async def test_indicators_of_goog_in_2012_are_those_of_its_closes() -> None:
    whole = await BundledSource().bars("GOOG", None, DAY("2012-12-31"))
    found = await answer(
        TOOLS, "indicators", symbol="GOOG", names=["sma20", "sma50", "boll"], start="2012"
    )
    by_name = {one["name"]: one for one in found["indicators"]}
    mean = sum(whole.close[-20:]) / 20
    assert by_name["sma20"]["last"]["sma20"] == round(mean, 2)
    assert by_name["boll20"]["last"]["upper"] == round(mean + 2 * np.std(whole.close[-20:]), 2)
    assert by_name["sma20"]["last_values"]["sma20"][-2] == round(sum(whole.close[-21:-1]) / 20, 2)
    assert found["last_dates"][-1] == "2012-12-31"
    golden = [c for c in by_name["sma50"]["crossings"] if c["what"] == "sma20/sma50"]
    assert golden[-1] == {"date": "2012-12-20", "what": "sma20/sma50", "direction": "above"}
    assert found["bars_before_window"] == 400


async def test_too_short_a_series_names_what_has_no_value() -> None:
    found = await answer(
        TOOLS, "indicators", symbol="GOOG", names=["sma200", "rsi"], end="2004-09-30"
    )
    assert found["indicators"][0]["last"]["sma200"] is None
    assert not found["indicators"][1]["warm_up"]["settled"]
    assert "too few for sma200 (200)" in found["note"]


async def test_risk_of_goog_in_2012() -> None:
    bars = await closes("GOOG")
    returns = np.diff(bars.close) / np.array(bars.close[:-1])
    found = await answer(TOOLS, "risk_metrics", symbol="GOOG", benchmark="IBM", start="2012")
    losses = found["one_day_loss_pct"]
    assert losses["95"]["historical_var"] == round(-np.quantile(returns, 0.05) * 100, 2)
    assert losses["99"]["parametric_var"] == round(
        (2.326348 * returns.std(ddof=1) - returns.mean()) * 100, 2
    )
    assert found["returns"] == len(bars) - 1
    assert found["drawdown"] == {
        "max_pct": 16.34, "peak_date": "2012-01-04", "trough_date": "2012-06-14",
    }  # fmt: skip
    other = np.diff((await closes("IBM")).close) / np.array((await closes("IBM")).close[:-1])
    assert found["beta"] == round(
        float(np.cov([returns, other])[0][1]) / float(other.var(ddof=1)), 3
    )
    assert found["benchmark"] == "IBM"


async def test_a_short_window_says_which_risk_figures_it_cannot_give() -> None:
    found = await answer(TOOLS, "risk_metrics", symbol="GOOG", start="2012-12")
    assert found["one_day_loss_pct"]["95"]["historical_var"] is None
    assert "95 % needs 20 daily returns, the window has 19" in found["note"]
    assert "no benchmark was given" in found["note"]


async def test_the_matrix_is_symmetric_and_names_its_extremes() -> None:
    ids = ["AAPL", "GOOG", "IBM", "MSFT"]
    found = await answer(TOOLS, "correlation", symbols=ids, start="2012")
    logs = [np.diff(b.close) / np.array(b.close[:-1]) for b in [await closes(i) for i in ids]]
    expected = np.asarray(np.corrcoef(logs))
    assert np.allclose(found["matrix"], expected, atol=0.0005)
    off = expected[~np.eye(4, dtype=bool)]
    assert found["most_correlated"]["value"] == round(off.max(), 3)
    assert found["least_correlated"]["value"] == round(off.min(), 3)
    assert found["common_returns"] == {"fewest": 249, "most": 249}


async def test_the_crash_of_2008_is_a_rough_falling_market() -> None:
    found = await answer(TOOLS, "market_regime", end="2008-10-10")
    assert found["trend"]["direction"] == "down"
    assert found["volatility"]["regime"] == "rough"
    assert found["breadth_pct"] == {"above_sma50": 0.0, "above_sma200": 0.0}


async def test_a_large_market_is_judged_outside_of_the_event_loop() -> None:
    """Up to 500 members with all their bars would hold up other chats; a few are not worth a process."""
    bars = await closes("GOOG")
    await work.close()
    for count, outside in ((3, False), (30, True)):
        members = tuple(replace(bars, symbol=f"M{n}") for n in range(count))
        found = await answer(tools(Sources([MadeSource(members)])), "market_regime")
        assert found["market"] == f"equal weight of {count}"
        assert (work._shared.pid is not None) is outside
    await work.close()


async def test_a_phase_is_labelled_a_heuristic_with_its_rule() -> None:
    for name in ("wyckoff_diagnose", "analyze_stock"):
        found = await answer(TOOLS, name, symbol="AAPL", end="2012-09-21")
        phase = found.get("wyckoff", found)
        assert phase["method"] == "Wyckoff, heuristic"
        assert phase["phase"] == "markup"
        assert phase["rule"].startswith("P1: ")
    english = await run(TOOLS, "wyckoff_diagnose", symbol="AAPL")
    chinese = await run(TOOLS, "wyckoff_diagnose", "zh", symbol="AAPL")
    assert "heuristic" in english.summary
    assert "启发式" in chinese.summary


async def test_volume_of_an_analysis_is_compared_with_its_average() -> None:
    bars = await closes("GOOG")
    found = await answer(TOOLS, "analyze_stock", symbol="GOOG", start="2012")
    mean = sum(bars.volume[-51:-1]) / 50
    assert found["volume"] == {
        "last": round(bars.volume[-1]), "average_50": round(mean), "ratio": round(bars.volume[-1] / mean, 2),
    }  # fmt: skip


async def test_profiles_join_names_and_prices_and_say_what_is_missing() -> None:
    found = await answer(TOOLS, "get_stock_profiles", symbols=["谷歌", "茅台", "no such thing"])
    goog, moutai = found["items"]
    assert goog["prices"]["last_close"] == 806.19
    assert goog["own_profile"] is None
    assert (moutai["market"], moutai["currency"], moutai["prices"]) == ("SH", "CNY", None)
    assert "600519.SH" in moutai["no_prices"]
    assert "no such thing" in found["missing"][0]


async def test_the_mean_of_the_universe_is_a_benchmark_too() -> None:
    """Two identical series: the beta of each against their mean is one."""
    bars = await closes("GOOG")
    same = tuple(replace(bars, symbol=symbol) for symbol in ("AAPL", "IBM"))
    made = tools(Sources([MadeSource(same)]))
    found = await answer(made, "risk_metrics", symbol="IBM", benchmark="universe")
    assert (found["benchmark"], found["beta"]) == ("universe", 1.0)
