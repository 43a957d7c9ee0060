"""position_size: lots of each market, currencies, what makes no sense, what is said beside the number."""

from typing import Any, Literal

import pytest

from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.sizing import sizing_tools
from agent_core.tools.spec import ToolFailure
from tests.unit.agent_core.made_prices import answer, run

TOOLS = sizing_tools(Sources([BundledSource()]))


async def sized(language: Literal["en", "zh"] = "en", **args: Any) -> dict[str, Any]:
    given = {"account": 100_000, "entry": 50, "stop": 45} | args
    return await answer(TOOLS, "position_size", language=language, **given)


async def test_without_a_symbol_the_given_figures_are_enough() -> None:
    found = await sized()
    assert (found["units"], found["position_value"], found["loss_at_stop"]) == (200, 10_000, 1_000)
    assert (found["side"], found["source"], found["currency"]) == ("long", "figures given", None)
    assert found["targets"] == {"1R": 55.0, "2R": 60.0, "3R": 65.0}
    assert found["limited_by"] == "risk_pct"


async def test_a_known_symbol_is_entered_at_its_last_close_which_is_said() -> None:
    """Last close of GOOG 806.19: 1,000 / 26.19 = 38.2."""
    found = await sized(symbol="谷歌", entry=None, stop=780)
    assert (found["entry"], found["units"], found["as_of"]) == (806.19, 38, "2013-03-01")
    assert "entry at the close of 2013-03-01" in found["note"]
    early = await answer(
        TOOLS, "position_size", as_of="2012-12-31", account=100_000, symbol="GOOG", stop=700
    )
    assert early["entry"] == 707.38


@pytest.mark.parametrize(
    ("symbol", "lot", "units", "said"),
    [
        ("600519.SH", {"least": 100, "step": 100}, 200, "lots of 100"),
        ("000001.SZ", {"least": 100, "step": 100}, 200, "lots of 100"),
        ("688981.SH", {"least": 200, "step": 1}, 250, "STAR market"),
        ("0700.HK", {"least": 1, "step": 1}, 250, "give `lot`"),
        ("AAPL", {"least": 1, "step": 1}, 250, ""),
        ("BTC-USD", {"least": 1e-6, "step": 1e-6}, 250, ""),
    ],
)
async def test_each_market_has_its_lots(
    symbol: str, lot: dict[str, float], units: float, said: str
) -> None:
    found = await sized(symbol=symbol, risk_pct=1.25)
    assert (found["lot"], found["units"]) == (lot, units)
    assert said in found["note"]


async def test_a_lot_of_ones_own_wins() -> None:
    found = await sized(symbol="0700.HK", lot=100)
    assert found["units"] == 200
    assert "give `lot`" not in found["note"]


async def test_an_account_in_another_currency_is_converted_at_a_stated_rate() -> None:
    """ECB, 2012-12-31: 1 EUR = 1.3194 USD."""
    found = await answer(
        TOOLS, "position_size", as_of="2012-12-31",
        account=10_000, account_currency="eur", symbol="GOOG", stop=700,
    )  # fmt: skip
    assert found["account"] == 13_194.0
    assert found["account_converted"] == {
        "from": "EUR", "rate": 1.3194, "date": "2012-12-31", "source": "ECB reference rates",
    }  # fmt: skip
    assert found["currency"] == "USD"
    with pytest.raises(ToolFailure, match="no exchange rates for XYZ"):
        await run(
            TOOLS, "position_size", account=1, account_currency="XYZ", symbol="GOOG", stop=700
        )


async def test_an_account_too_small_for_one_lot_says_what_one_would_cost() -> None:
    found = await sized(account=10_000, symbol="600519.SH")
    assert (found["units"], found["loss_at_stop"], found["fees"]) == (0, 0.0, 0.0)
    assert "not one lot fits: the smallest would lose 500.0 at the stop" in found["note"]
    chinese = await sized("zh", account=10_000, symbol="600519.SH")
    assert "一手都不合适" in chinese["note"]


async def test_a_high_risk_is_computed_and_called_high() -> None:
    found = await sized(risk_pct=5)
    assert found["units"] == 1_000
    assert "is high" in found["note"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"account": 0}, "account 0 makes no sense"),
        ({"account": -5}, "above 0"),
        ({"account": float("inf")}, "account inf makes no sense"),
        ({"risk_pct": 0}, "risk_pct 0 makes no sense"),
        ({"risk_pct": 50}, "at most 20"),
        ({"stop": 50}, "equals the entry"),
        ({"stop": -1}, "a price must be above 0"),
        ({"entry": float("nan")}, "a price must be above 0"),
        ({"side": "short"}, "the stop of a short position lies above its entry: 45 against 50"),
        ({"side": "long", "stop": 55}, "lies below its entry"),
        ({"fee_pct": -1}, "fee_pct -1"),
        ({"fee_pct": 10}, "below 10"),
        ({"fee_per_order": -1}, "fee_per_order -1"),
        ({"lot": 0}, "lot 0 makes no sense"),
        ({"max_position_pct": 150}, "at most 100"),
        ({"entry": None}, "give `entry`"),
        ({"entry": None, "symbol": "茅台"}, "give `entry`"),
        ({"symbol": "no such thing"}, "no symbol is named"),
        ({"leverage": 3}, "leverage: Extra inputs"),
    ],
)
async def test_nonsense_is_refused_with_its_bound(args: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolFailure, match=words) as failure:
        await sized(**args)
    assert "\n" not in str(failure.value)


async def test_the_line_for_the_person_names_side_units_and_loss() -> None:
    args: dict[str, Any] = {"account": 100_000, "entry": 45, "stop": 50, "symbol": "AAPL"}
    english = await run(TOOLS, "position_size", **args)
    assert english.summary == "AAPL: short 200, 1000.0 USD at risk"
    chinese = await run(TOOLS, "position_size", "zh", **args)
    assert chinese.summary == "AAPL: 做空 200，止损时损失 1000.0 USD"
