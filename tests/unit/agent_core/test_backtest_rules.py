"""Rules as data: what is understood, what is refused and how, and which bars they pick."""

import datetime as dt
import json
import pickle
import re
from typing import Any

import pytest

from agent_core.finance import indicators
from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_job import Asked, Request, compute
from agent_core.finance.rules import Rules, RulesError, read_rules
from agent_core.finance.rules_operand import INDICATORS, Operand, read_operand
from agent_core.finance.rules_signals import lines
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.strategies import expand
from agent_core.finance.strategy_names import NAMES
from tests.unit.agent_core.made_bars import bars_of, judged

UP = {"gt": ["close", "sma(2)"]}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("close", Operand("close")),
        ("sma(5)", Operand("sma", (5,))),
        ("SMA", Operand("sma", (20,))),
        ("macd.signal", Operand("macd", (12, 26, 9), "signal")),
        ("macd(5, 10).histogram [2]", Operand("macd", (5, 10, 9), "histogram", 2)),
        ("boll(20, 2.5).upper", Operand("boll", (20, 2.5), "upper")),
        ("donchian.lower[1]", Operand("donchian", (20,), "lower", 1)),
        ("stoch.d", Operand("stoch", (14, 3), "d")),
        (70, 70.0),
    ],
)
def test_operands_are_read_as_they_are_written(written: object, read: object) -> None:
    assert read_operand(written) == read
    if isinstance(read, Operand):
        assert read_operand(str(read)) == read, "what is shown can be read again"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("smaa(20)", "did you mean sma"),
        ("sma(0)", "whole number of 1 to 400"),
        ("sma(2.5)", "whole number"),
        ("sma(401)", "1 to 400"),
        ("sma(1,2)", "takes period, not 2"),
        ("sma(x)", "are numbers"),
        ("rsi.upper", "rsi has no line 'upper'"),
        ("close(3)", "is a price"),
        ("macd(26,12)", "must be smaller than slow"),
        ("boll(20,0).upper", "width must be above 0"),
        ("__import__('os')", "is not understood"),
        ("sma(20)[-1]", "is not understood"),  # tomorrow cannot be asked for
        (True, "write a number"),
        (None, "write a number"),
        (float("inf"), "no number to compare with"),
    ],
)
def test_an_operand_that_is_none_says_what_would_be(written: object, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_operand(written)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, "rules: say when to buy"),
        ({"exit": UP}, "rules: say when to buy"),
        ({"short_entry": UP, "exit": UP}, "exit is for long positions"),
        ({"entry": UP, "short_exit": UP}, "short_exit is for short positions"),
        ({"entry": {}}, "rules.entry: a condition has one key"),
        (
            {"entry": {"gt": ["close", 1], "lt": ["close", 9]}},
            "rules.entry: a condition has one key",
        ),
        ({"entry": {"gt": ["close"]}}, "rules.entry.gt.1: two operands are compared"),
        ({"entry": {"above": ["close", 1]}}, "rules.entry.above: there is no such field"),
        ({"entry": {"all": []}}, "rules.entry.all: give at least one condition"),
        ({"entry": {"all": [{"gt": ["close", "smaa"]}]}}, "rules.entry.all.0.gt.1: there is no"),
        (
            {"entry": UP, "stop_los_pct": 5},
            "rules.stop_los_pct: there is no such field; did you mean",
        ),
        ({"entry": UP, "stop_loss_pct": 100}, "rules.stop_loss_pct: input should be less than 100"),
        ({"entry": UP, "fraction": 1.5}, "rules.fraction: input should be less than or equal to 1"),
        ({"entry": UP, "fraction": 0}, "rules.fraction: input should be greater than 0"),
        ({"entry": {"any": [UP] * 70}}, "rules: at most 64 conditions"),
    ],
)
def test_rules_that_are_none_name_the_field_and_the_cure(rules: dict[str, Any], said: str) -> None:
    with pytest.raises(RulesError) as caught:
        read_rules(rules)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rules_nested_too_deeply_are_refused() -> None:
    rules: dict[str, Any] = UP
    for _ in range(9):
        rules = {"not": rules}
    with pytest.raises(RulesError, match="8 deep"):
        read_rules({"entry": rules})


def test_rules_can_be_shown_and_read_again() -> None:
    rules = read_rules({
        "entry": {"all": [{"crosses_above": ["macd.line", "macd.signal"]}, {"not": UP}]},
        "exit": {"any": [{"lt": ["close", "donchian(10).lower[1]"]}, {"gt": ["rsi", 80]}]},
        "trailing_stop_pct": 5,
    })  # fmt: skip
    shown = json.loads(json.dumps(rules.model_dump(mode="json", by_alias=True, exclude_none=True)))
    assert shown["entry"]["all"][0] == {
        "crosses_above": ["macd(12,26,9).line", "macd(12,26,9).signal"]
    }
    assert read_rules(shown) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules


def at(verdicts: list[bool]) -> list[int]:
    return [i for i, verdict in enumerate(verdicts) if verdict]


def test_comparisons_pick_the_bars_where_they_hold() -> None:
    bars = bars_of([1, 3, 2, 5, 4, 4])
    assert at(judged(bars, entry={"gt": ["close", 3]}).entry) == [3, 4, 5]
    assert at(judged(bars, entry={"lt": ["close", "close[1]"]}).entry) == [2, 4]
    assert at(judged(bars, entry={"crosses_above": ["close", 3]}).entry) == [3]
    assert at(judged(bars, entry={"crosses_below": ["close", 3]}).entry) == [2], (
        "from 3, which is not below"
    )
    assert at(judged(bars, entry={"crosses_above": ["close", 2]}).entry) == [1, 3]


def test_what_is_unknown_moves_nothing_and_neither_does_its_opposite() -> None:
    bars = bars_of([1, 2, 3, 4, 5])
    over = {"gt": ["close", "sma(3)"]}
    assert at(judged(bars, entry=over).entry) == [2, 3, 4]
    assert at(judged(bars, entry={"not": over}).entry) == []
    assert at(judged(bars, entry={"any": [over, {"gt": ["close", 0]}]}).entry) == [0, 1, 2, 3, 4]
    assert at(judged(bars, entry={"all": [over, {"lt": ["close", 5]}]}).entry) == [2, 3]
    crossing = {"crosses_above": ["close", "sma(3)"]}
    assert at(judged(bars, entry=crossing).entry) == [], "the bar before is not known"


def test_bars_before_the_window_warm_the_indicators_up() -> None:
    bars = bars_of([1, 2, 3, 4, 5])
    warm = judged(bars, start=2, entry={"gt": ["close", "sma(3)"]})
    assert (warm.entry, warm.undefined) == ([True, True, True], ())
    cold = judged(bars.rows(2, 5), entry={"gt": ["close", "sma(4)"]})
    assert cold.entry == [False, False, False]
    assert [str(operand) for operand in cold.undefined] == ["sma(4)"]


async def test_every_line_of_every_indicator_has_a_value_a_bar() -> None:
    bars = (await BundledSource().bars("GOOG", None, None)).rows(0, 300)
    for name, kind in INDICATORS.items():
        found = lines(bars, Operand(name, kind.usual))
        assert set(found) == set(kind.lines)
        for values in found.values():
            assert len(values) == len(bars)
            assert values[0] is None or name == "stoch"
            assert values[-1] is not None


async def test_lines_are_those_of_their_definitions() -> None:
    bars = (await BundledSource().bars("GOOG", None, None)).rows(0, 100)
    boll = lines(bars, Operand("boll", (20, 2)))
    assert boll["middle"] == indicators.sma(bars.close, 20)
    assert boll["upper"][-1] == indicators.bollinger(bars.close).upper[-1]
    donchian = lines(bars, Operand("donchian", (10,)))
    assert donchian["upper"][-1] == max(bars.high[-10:])
    assert donchian["lower"][-1] == min(bars.low[-10:])
    assert donchian["middle"][-1] == (max(bars.high[-10:]) + min(bars.low[-10:])) / 2
    roc = lines(bars, Operand("roc", (10,)))[""][-1]
    assert roc == pytest.approx((bars.close[-1] / bars.close[-11] - 1) * 100)
    k = lines(bars, Operand("stoch", (14, 3)))["k"][-1]
    low, high = min(bars.low[-14:]), max(bars.high[-14:])
    assert k == pytest.approx((bars.close[-1] - low) / (high - low) * 100)


@pytest.mark.parametrize("name", NAMES)
async def test_each_named_strategy_trades(name: str) -> None:
    """Long alone and long/short; with stops: each expands into rules that the engine takes."""
    bars = await BundledSource().bars("GOOG", dt.date(2008, 1, 1), None)
    for params in ({}, {"fraction": 0.5, "stop_loss_pct": 8}, {"short": True}):
        if name == "buy_and_hold" and "short" in params:
            continue
        rules, label = expand(name, params)  # type: ignore[arg-type]
        done = compute(Request((Asked(bars, 0),), rules, Terms(), (bars,))).run
        sides = {trade.side for trade in done.trades}
        assert sides == ({"long", "short"} if "short" in params else {"long"})
        assert label.startswith(name)


def test_a_strategy_expands_into_rules_that_can_be_read() -> None:
    rules, label = expand("sma_cross", {"fast": 5, "slow": 10, "short": True})
    pair = ["sma(5)", "sma(10)"]
    assert label == "sma_cross(5,10) long/short"
    assert rules == Rules.model_validate({
        "entry": {"gt": pair}, "exit": {"lt": pair},
        "short_entry": {"lt": pair}, "short_exit": {"gt": pair},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("macd", {"fst": 5}, "params.fst: there is no such field; did you mean fast?"),
        ("macd", {"fast": 30}, "params.fast: 30 must be smaller than slow (26)"),
        ("sma_cross", {"fast": "a"}, "params.fast: input should be a valid integer"),
        ("sma_cross", {"slow": 500}, "params.slow: input should be less than or equal to 400"),
        ("rsi_reversion", {"lower": 80}, "params.lower: 80 must be below upper (70)"),
        ("buy_and_hold", {"short": True}, "params.short: there is no such field"),
        ("momentum", {"stop_loss_pct": -1}, "params.stop_loss_pct: input should be greater than 0"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named_with_its_cure(
    name: str, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(RulesError) as caught:
        expand(name, params)  # type: ignore[arg-type]
    assert said in str(caught.value)
