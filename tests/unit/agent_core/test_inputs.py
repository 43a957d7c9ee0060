"""Inputs of a preset: read from words, checked before anything runs, asked for where they are missing."""

import pytest

from agent_core.runtime.flow import Input, Value, filled
from agent_core.runtime.inputs import parse, resolve, written

SYMBOL = Input("symbol", "symbol", required=True)
HORIZON = Input("horizon", "choice", choices=("1m", "3m", "12m"), default="3m")
RISK = Input(
    "risk_pct", "number", default=1.0, low=0.1, high=5, description="Account share at risk"
)
DAY = Input("day", "date")
MANY = Input("symbols", "symbols", required=True, max_items=2)
LIVE = Input("live", "boolean", default=False)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("GOOG", {"symbol": "GOOG", "horizon": "3m"}),
        ("is apple a buy over 12m?", {"symbol": "AAPL", "horizon": "12m"}),
        ("is apple a buy over 3m?", {"symbol": "AAPL", "horizon": "3m"}),
        ("symbol = MSFT; horizon: 1M", {"symbol": "MSFT", "horizon": "1m"}),
        ("谷歌，horizon：12m", {"symbol": "GOOG", "horizon": "12m"}),
        ("symbol=GOOG horizon=1m", {"symbol": "GOOG", "horizon": "1m"}),
    ],
)
def test_what_the_words_name_is_taken(words: str, wanted: dict[str, Value]) -> None:
    values, missing = resolve([SYMBOL, HORIZON], words, {})
    assert missing is None
    assert values == wanted


def test_two_symbols_are_no_answer_to_which_one() -> None:
    _, missing = resolve([SYMBOL], "GOOG or AAPL?", {})
    assert missing is not None
    assert missing.input is SYMBOL
    assert not missing.problem


def test_a_wrong_value_is_told_and_never_replaced_by_the_default() -> None:
    _, missing = resolve([HORIZON], "horizon = 5m", {})
    assert missing is not None
    assert missing.problem == "`5m` does not fit: 1m, 3m, 12m."
    assert missing.options("en") == ["1m", "3m", "12m"]
    _, outside = resolve([RISK], "risk_pct = 9", {})
    assert outside is not None
    assert "(0.1 – 5)" in outside.question("en")


def test_numbers_are_never_guessed() -> None:
    assert resolve([RISK], "I have 3 shares and 2 houses", {})[0] == {"risk_pct": 1.0}
    assert resolve([RISK], "risk_pct: 2.5%", {})[0] == {"risk_pct": 2.5}


def test_the_last_answer_counts() -> None:
    values, missing = resolve([SYMBOL], "hello", {"symbol": ["banana split", "AAPL"]})
    assert (values, missing) == ({"symbol": "AAPL"}, None)
    _, again = resolve([SYMBOL], "hello", {"symbol": ["banana split"]})
    assert again is not None
    assert "banana split" in again.problem
    assert (
        "“banana split”不合适"
        in (resolve([SYMBOL], "", {"symbol": ["banana split"]}, "zh")[1] or again).problem
    )


@pytest.mark.parametrize(
    ("one", "text", "value"),
    [
        (DAY, "2013-02-30", None),
        (DAY, "2013-02-28", "2013-02-28"),
        (MANY, "GOOG, AAPL", ["GOOG", "AAPL"]),
        (MANY, "GOOG, AAPL, MSFT", None),
        (MANY, "GOOG, nonsense", None),
        (LIVE, "Yes", True),
        (LIVE, "否", False),
        (LIVE, "maybe", None),
        (Input("n", "integer"), "1.5", None),
        (Input("n", "integer"), "1,500", 1500),
        (Input("n", "number"), "inf", None),
        (Input("n", "number"), "nan", None),
        (Input("t", "text"), "  ", None),
    ],
)
def test_values_are_held_to_their_type(one: Input, text: str, value: Value) -> None:
    found, problem = parse(one, text)
    assert found == value
    assert bool(problem) == (value is None)


def test_a_run_that_nobody_types_writes_its_inputs_as_a_person_would() -> None:
    values: dict[str, Value] = {"symbols": ["GOOG", "AAPL"], "risk_pct": 2.0, "live": True}
    declared = [MANY, RISK, LIVE]
    assert resolve(declared, written(values), {}) == (values, None)


def test_only_inputs_and_items_are_filled_in() -> None:
    text = "{{ inputs.symbol }} {{inputs.horizon}} {{ item }} {{ other }}"
    assert filled(text, {"symbol": "GOOG"}, "x") == "GOOG (not given) x {{ other }}"
    assert filled(text, None) == text
