"""Strategy decisions: the rules on scenes made by hand, and the tool on the bundled prices."""

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import pytest

from agent_core.book import Event, Holding, Profile
from agent_core.finance.backtest_figures import Curve, Deals, Figures
from agent_core.finance.decision import Scene, decide
from agent_core.finance.horizons import Style
from agent_core.finance.levels import Levels
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import Drawdown
from agent_core.runtime.grounding import sources, ungrounded
from agent_core.tools import notices
from agent_core.tools.decision import Answer, decision_tools
from agent_core.tools.spec import ToolFailure, ToolOutput
from tests.unit.agent_core.made_bars import bars_of
from tests.unit.agent_core.made_prices import MadeSource, weekdays
from tests.unit.agent_core.report_desk import Book, Books, context, one_worker

__all__ = ["one_worker"]
BUNDLED = Sources([BundledSource()])
NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


def result_of(excess: float, bars: int = 1000, trades: int = 10) -> Figures:
    """The figures of a test that beat holding by `excess` points."""
    curve = Curve(excess, None, None, None, None, Drawdown(0.0, None, None), None)
    deals = Deals(trades, 0, None, None, None, None, None, None)
    day = dt.date(2020, 1, 1)
    return Figures(day, day, bars, curve, replace(curve, total_return_pct=0.0), deals, 0.0, None)


# Up by trend, momentum, phase and backtest; the resistance lies 4 ATRs above, the support 1.5 below.
RISING = Scene(
    bars=500, close=100.0, atr=2.0, direction="up", sma200=90.0, change_pct=10.0, rsi=55.0, channel=(80.0, 99.0),
    levels=Levels((97.0, 90.0), (108.0,)), mood="calm", phase="markup", tested=result_of(5), after_split=result_of(5),
    long_at_end=True,
)  # fmt: skip
FALLING = replace(
    RISING, direction="down", sma200=110.0, change_pct=-10.0, channel=(101.0, 120.0), mood="rough", phase="markdown",
    levels=Levels((95.0,), (101.0, 103.0)), long_at_end=False,
)  # fmt: skip
MUTE = replace(
    RISING, direction="sideways", change_pct=0.0, phase="unclear", after_split=result_of(-1), levels=Levels((), ()),
)  # fmt: skip


def verdict(scene: Scene, style: Style = "trend", *, held: bool = False) -> str:
    return decide(scene, "medium", style, held=held).verdict


def test_what_speaks_for_it_on_all_sides_is_bought_by_a_plan() -> None:
    found = decide(RISING, "medium", "trend", held=False)
    assert found.votes == {
        "trend": 1,
        "momentum": 1,
        "levels": 1,
        "volatility": 0,
        "phase": 1,
        "backtest": 1,
    }
    assert (found.verdict, found.confidence, found.agree, found.told) == ("buy", "high", 5, 6)
    assert found.plan is not None
    # half an ATR below the support is 96, within 1.5 and 3 ATRs below the close: 97 to 94
    assert (found.plan.stop, found.plan.target, found.plan.measured) == (96.0, 108.0, True)
    assert found.plan.reward_to_risk == pytest.approx(2.0)
    assert (found.plan.entry_low, found.plan.entry_high) == (99.0, 100.5)


def test_what_speaks_against_it_is_reduced_by_who_holds_it_and_avoided_by_others() -> None:
    assert verdict(FALLING, held=True) == "reduce"
    assert verdict(FALLING) == "avoid"
    assert decide(FALLING, "medium", "trend", held=False).agree == 6


def test_phase_and_backtest_alone_decide_nothing() -> None:
    """CRD-1: a logic tool is an aid, never the sole ground."""
    assert verdict(MUTE) == "no decision"
    for phase, long in (("markup", True), ("markdown", False)):
        swayed = replace(MUTE, phase=phase, after_split=result_of(9), long_at_end=long)  # type: ignore[arg-type]
        found = decide(swayed, "medium", "trend", held=True)
        assert abs((found.votes["phase"] or 0) + (found.votes["backtest"] or 0)) == 2
        assert (found.verdict, found.confidence) == ("no decision", "none")


def test_a_rise_whose_target_is_too_near_is_held_and_not_bought() -> None:
    near = replace(RISING, levels=Levels((97.0,), (102.5,)))
    found = decide(near, "medium", "trend", held=False)
    assert found.plan is not None
    assert found.plan.reward_to_risk < 1
    assert (found.votes["levels"], found.verdict) == (-1, "hold")


def test_a_target_that_is_made_by_the_rule_is_no_ground() -> None:
    found = decide(replace(RISING, levels=Levels((97.0,), ())), "medium", "trend", held=False)
    assert found.plan is not None
    assert (found.plan.target, found.plan.measured, found.votes["levels"]) == (108.0, False, 0)


@pytest.mark.parametrize(
    ("support", "stop"), [((), 94.0), ((99.5,), 97.0), ((80.0,), 94.0), ((96.0,), 95.0)]
)
def test_the_stop_keeps_within_its_horizon_s_range(support: tuple[float, ...], stop: float) -> None:
    found = decide(replace(RISING, levels=Levels(support, ())), "medium", "trend", held=False)
    assert found.plan is not None
    assert found.plan.stop == stop


def test_each_style_has_a_momentum_of_its_own() -> None:
    def momentum(style: Style, **change: Any) -> int | None:
        return decide(replace(MUTE, **change), "medium", style, held=False).votes["momentum"]

    assert [momentum("trend", change_pct=v) for v in (3.9, 4.0, -4.0, None)] == [0, 1, -1, None]
    assert [momentum("reversion", rsi=v) for v in (30.0, 31.0, 70.0, None)] == [1, 0, -1, None]
    assert [momentum("breakout", channel=v) for v in ((90, 99), (90, 100), (101, 110), None)] == [
        1,
        0,
        -1,
        None,
    ]


@pytest.mark.parametrize(
    ("change", "vote"),
    [
        ({"after_split": result_of(-5)}, 0),
        ({"tested": result_of(5, bars=249)}, None),
        ({"tested": result_of(5, trades=2)}, None),
        ({"tested": None}, None),
        ({"long_at_end": False}, -1),
    ],
)
def test_a_backtest_counts_only_where_it_beat_holding_after_the_split(
    change: dict[str, Any], vote: int | None
) -> None:
    found = decide(replace(RISING, **change), "medium", "trend", held=False)
    assert found.votes["backtest"] == vote
    assert found.confidence == "medium", "high needs a backtest that agrees"


def test_too_few_bars_give_no_decision() -> None:
    assert verdict(replace(RISING, bars=119)) == "no decision"
    assert verdict(replace(RISING, bars=120)) == "buy"


def test_what_cannot_be_told_does_not_vote() -> None:
    blind = replace(RISING, atr=None, mood="unknown", sma200=None)
    found = decide(blind, "long", "trend", held=False)
    assert [name for name, vote in found.votes.items() if vote is None] == [
        "trend",
        "levels",
        "volatility",
    ]
    assert (found.plan, found.told, found.verdict) == (None, 3, "hold")


# The tool ---------------------------------------------------------------------------------------------------------


async def run(
    args: dict[str, Any] | None = None,
    book: Any = None,
    books: Any = None,
    prices: Sources = BUNDLED,
    **how: Any,
) -> ToolOutput:
    (tool,) = decision_tools(prices, book, books)
    return await tool.call(context(**how), {"symbol": "GOOG"} | (args or {}))


def test_it_runs_in_the_background() -> None:
    """TGV-3."""
    (tool,) = decision_tools(BUNDLED)
    assert tool.background
    assert tool.read_only
    assert (tool.credibility, tool.title["zh"]) == ("logic tool", "策略决定")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_decision_is_dated_labelled_and_made_of_the_numbers_that_it_returns(
    language: Any,
) -> None:
    """CRD-1, CRD-2."""
    made = await run(language=language)
    answer = Answer.model_validate_json(made.content)
    assert (answer.decision, answer.as_of, answer.review_by) == ("buy", "2013-03-01", "2013-04-15")
    assert answer.notice == notices.past(language)
    assert {ground["credibility"] for ground in answer.grounds} == {
        "logic tool",
        "logic tool, heuristic",
    }
    assert [g["credibility"] for g in answer.grounds].index("logic tool, heuristic") == 4
    assert "2013-03-01" in made.summary
    known = sources([made.content])
    assert [f.text for f in ungrounded(made.summary, known, 0.0001)] == []
    assert answer.plan is not None
    assert str(answer.plan["stop"]) in answer.invalidation
    assert answer.backtest["trades"] >= 3


async def test_it_is_kept_with_its_date_for_its_owner_and_renews_the_profile() -> None:
    """RMB-2: a strategy decision is kept with its date."""
    book = Book()
    made = await run(book=book)
    assert made == await run(book=Book()), "equal calls at one time say the same"
    (event,) = book.of(Event)
    assert (event.kind, event.codes, event.at, event.credibility) == (
        "decision",
        ("GOOG",),
        NOW,
        "logic tool",
    )
    assert event.text.startswith(made.summary)
    assert "wrong with a close below" in event.text
    (profile,) = book.of(Profile)
    assert (profile.signal, profile.source) == ("2013-03-01: buy", "generate_strategy_decision")
    assert {owner for owner, _ in book.kept} == {"telegram:1"}
    assert json.loads(made.content)["kept"]


async def test_who_holds_it_is_told_to_reduce_and_a_group_is_not_told_who_holds() -> None:
    """DESIGN.md 3.4: a book is read in a private chat alone."""
    args = {"end": "2008-11"}
    own = Holding("GOOG", 10, 500.0, NOW, currency="USD")

    async def told(books: Any) -> tuple[str, bool | None]:
        found = json.loads((await run(args, books=books)).content)
        return found["decision"], found["held"]

    assert await told(Books(own)) == ("reduce", True)
    assert await told(Books(replace(own, symbol="IBM"))) == ("avoid", False)
    assert await told(Books(own, place=False)) == ("avoid", None)


async def test_nothing_later_than_as_of_reaches_a_decision() -> None:
    days = weekdays(400)
    close = [100 + i / 10 + i % 5 for i in range(399)] + [1.0]
    whole, day = bars_of(close, dates=days, symbol="GOOG"), days[-2]
    told = await run(prices=Sources([MadeSource((whole,))]), as_of=str(day))
    known = await run(prices=Sources([MadeSource((whole.until(day),))]), as_of=str(day))
    assert told == known
    assert json.loads(told.content)["as_of"] == str(day)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"symbol": "NOSUCHNAME"}, "no symbol is named"),
        ({"symbol": "GOOG", "end": "1999"}, "no prices of GOOG"),
        ({"symbol": "GOOG", "end": "2004-08-31"}, "20 at least are needed"),
        ({"symbol": "GOOG", "horizon": "forever"}, "horizon"),
    ],
)
async def test_what_cannot_be_decided_is_refused_in_one_line(
    args: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolFailure, match=why) as caught:
        await run(args)
    assert "\n" not in str(caught.value)
