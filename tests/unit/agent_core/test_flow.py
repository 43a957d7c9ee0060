"""A fixed plan in a turn: what is delegated, what the person reads, what a failure leaves (guide "presets", 2)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_core.events import AgentFinished, AgentStarted
from agent_core.models.scripted import Answer
from agent_core.runtime.flow import (
    PLAN,
    Branch,
    Condition,
    Debate,
    Delegate,
    Input,
    Parallel,
    Step,
    Vote,
)
from agent_core.runtime.planned import call_id
from agent_core.runtime.team import Policy, Status
from agent_core.types import RowKind, Usage
from gateway.storage.db import Database
from tests.harness import Desk, agent, call
from tests.house import on_sqlite
from tests.unit.agent_core.flow_desk import (
    ANSWER,
    ARGUE,
    BOTH,
    BUSY,
    COLLECT,
    RATED,
    SYMBOL,
    asked,
    by_agent,
    delegate,
    planned,
    words_of,
)

SURE = json.dumps({"rating": "buy", "confidence": 0.9})
UNSURE = json.dumps({"rating": "buy", "confidence": 0.5})
STOP = {s: Policy("stop_and_report") for s in Status if s is not Status.COMPLETED}


async def test_a_plan_is_carried_out_in_its_order_and_the_supervisor_only_answers(
    db: Database,
) -> None:
    model = by_agent(
        facts=["GOOG closed at 700"],
        bull=["up"],
        bear=["down"],
        judge=[SURE],
        supervisor=["buy it"],
    )
    desk = Desk(db, model)
    text = await desk.ask("what about GOOG?", planned(COLLECT, ARGUE, ANSWER, inputs=(SYMBOL,)))
    assert text == "buy it"
    order = asked(model)
    assert (order[0], set(order[1:3]), order[3:]) == (
        "facts",
        {"bull", "bear"},
        ["judge", "supervisor"],
    )
    assert words_of(model.requests[0]).endswith("Facts on GOOG")
    assert "GOOG closed at 700" in words_of(model.requests[1])
    assert "[bull]\nup" in words_of(model.requests[3])
    assert not [t for t in model.requests[-1].tools if t.name.startswith("delegate_to_")]
    started = [e.agent for e in desk.events if isinstance(e, AgentStarted)]
    assert sorted(started) == ["bear", "bull", "facts", "judge"]
    assert not model.violations


async def test_the_rows_hold_how_the_plan_went(db: Database) -> None:
    model = by_agent(facts=["x"], supervisor=["done"])
    desk = Desk(db, model)
    await desk.ask("go", planned(delegate("collect", "facts"), ANSWER))
    rows = await desk.rows()
    [note] = [r for r in rows if r.kind is RowKind.NOTE]
    assert note.meta[PLAN]["status"] == "completed"
    assert note.meta[PLAN]["steps"]["collect"]["status"] == "completed"
    calls = [c for r in rows for c in r.message.calls]
    assert {c.id for c in calls} == {call_id(rows[0].turn_id, "collect")}


async def test_one_failed_side_of_two_gives_a_partial_answer_that_says_so(db: Database) -> None:
    model = by_agent(bull=["up"], bear=[BUSY], judge=[SURE], supervisor=["on the whole: buy"])
    desk = Desk(db, model)
    text = await desk.ask("go", planned(ARGUE, ANSWER))
    assert text.startswith("on the whole: buy")
    assert "Bear failed" in text
    assert "argue: partial; missing: bear (error)" in words_of(model.requests[-1])
    assert "Say in one line what is missing" in words_of(model.requests[-1])
    assert asked(model).count("judge") == 1


@on_sqlite
@pytest.mark.parametrize("step", [ARGUE, BOTH])
@pytest.mark.parametrize("action", ["use_partial", "stop_and_report"])
async def test_the_policy_for_partial_holds_for_a_step_that_lacks_a_part(
    db: Database, step: Step, action: Any
) -> None:
    """Guide "presets" 4: what it says is told once; `stop_and_report` ends the plan with what there is."""
    half = {Status.PARTIAL: Policy(action, say="Name it."), Status.ERROR: Policy("use_partial")}
    staff = [agent(name, policy=half) for name in ("facts", "bull", "bear")]
    model = by_agent(facts=["so"], bull=["up"], bear=[BUSY], judge=[SURE], supervisor=["half"])
    steps = (step, delegate("after", "facts"), ANSWER)
    the_team = planned(*steps, agents=(*staff, agent("judge", output=RATED)))
    assert (await Desk(db, model).ask("go", the_team)).startswith("half")
    told = words_of(model.requests[-1])
    assert told.count("Name it.") == 1
    assert ("facts" in asked(model)) == (action == "use_partial")
    assert ("ended early" in told) == (action == "stop_and_report")


async def test_a_debate_without_a_single_side_asks_no_judge(db: Database) -> None:
    model = by_agent(bull=[BUSY], bear=[BUSY], judge=[SURE], supervisor=["no"])
    desk = Desk(db, model)
    await desk.ask("go", planned(ARGUE, ANSWER))
    assert "judge" not in asked(model)
    assert "argue: error" in words_of(model.requests[-1])


async def test_each_round_of_a_debate_hears_the_last_words_of_the_others(db: Database) -> None:
    model = by_agent(bull=["up 1", "up 2"], bear=["down 1", "down 2"], judge=[SURE])
    desk = Desk(db, model)
    await desk.ask("go", planned(Step("argue", Debate(("bull", "bear"), 2, "judge"))))
    second = [r for r in model.requests[2:4] if r.system.startswith("You are bull")]
    assert "[bear]\ndown 1" in words_of(second[0])
    assert "up 1" not in words_of(second[0])
    assert "[bull]\nup 2\n\n[bear]\ndown 2" in words_of(model.requests[-1])


async def test_a_condition_on_an_earlier_output_decides_whether_a_step_is_made(
    db: Database,
) -> None:
    doubt = (Condition("argue.confidence", lt=0.6),)
    steps = (ARGUE, delegate("again", "facts", when=doubt), ANSWER)
    for said, extra in ((SURE, 0), (UNSURE, 1)):
        model = by_agent(bull=["u"], bear=["d"], judge=[said], facts=["f"], supervisor=["ok"])
        desk = Desk(db, model, chat=extra + 1)
        await desk.ask("go", planned(*steps), key=f"m:{extra}:1")
        assert asked(model).count("facts") == extra
        skipped = "again: skipped; its condition does not hold"
        assert (skipped in words_of(model.requests[-1])) == (not extra)


async def test_for_each_delegates_once_for_every_item_and_fills_prompts_with_it(
    db: Database,
) -> None:
    each = Step("signals", Delegate(Branch("facts", "Signal for {{ item }}"), "inputs.symbols"))
    staff = (agent("facts", prompt="You are facts. Look at {{ item }} only."),)
    model = by_agent(facts=["fine"])
    desk = Desk(db, model)
    team = planned(each, inputs=(Input("symbols", "symbols", required=True),), agents=staff)
    text = await desk.ask("GOOG and AAPL please", team)
    assert {words_of(r).splitlines()[-1] for r in model.requests} == {
        "Signal for GOOG",
        "Signal for AAPL",
    }
    assert {r.system.split("Look at ")[1].split()[0] for r in model.requests} == {"GOOG", "AAPL"}
    assert text == "**GOOG**\n\nfine\n\n**AAPL**\n\nfine"


async def test_parallel_branches_that_are_not_needed_may_fail(db: Database) -> None:
    two = (Branch("bull"), Branch("bear", required=False))
    for need, status in ((0, "completed"), (2, "partial")):
        model = by_agent(bull=["up"], bear=[BUSY], supervisor=["ok"])
        desk = Desk(db, model, chat=need + 1)
        await desk.ask("go", planned(Step("both", Parallel(two, need)), ANSWER), key=f"m:{need}:1")
        assert f"both: {status}" in words_of(model.requests[-1])


async def test_votes_are_counted_by_the_runtime(db: Database) -> None:
    vote = Step("settle", Vote(("judge",), 3, "rating"))
    answers = [json.dumps({"rating": r, "confidence": 1}) for r in ("buy", "hold", "buy")]
    model = by_agent(judge=[*answers])
    desk = Desk(db, model)
    text = await desk.ask("go", planned(vote))
    assert text == "rating: buy (rating: buy 2, hold 1)"


async def test_stop_and_report_ends_the_plan_and_leaves_the_report_to_the_supervisor(
    db: Database,
) -> None:
    staff = (agent("facts", policy=STOP), agent("bull"))
    model = by_agent(facts=[BUSY], bull=["up"], supervisor=["facts failed"])
    desk = Desk(db, model)
    steps = (delegate("collect", "facts"), delegate("more", "bull"), ANSWER)
    assert "facts failed" in await desk.ask("go", planned(*steps, agents=staff))
    assert asked(model).count("bull") == 0
    assert "ended early" in words_of(model.requests[-1])


async def test_a_fallback_bounds_the_supervisor_that_answers(db: Database) -> None:
    policy = {Status.ERROR: Policy("fallback_to_direct_tools", fallback_tools=("echo",))}
    model = by_agent(
        facts=[BUSY],
        supervisor=[
            Answer(calls=(call("order", "o1"), call("echo", "e1", words="x"))),
            "instead: x",
        ],
    )
    desk = Desk(db, model)
    team = planned(delegate("collect", "facts"), ANSWER, agents=(agent("facts", policy=policy),))
    team = replace(team, supervisor=replace(team.supervisor, tools=("echo", "order")))
    await desk.ask("go", team)
    assert desk.tools.calls == [("echo", "x")]


async def test_the_model_delegates_nothing_beside_the_plan(db: Database) -> None:
    model = by_agent(
        facts=["x"],
        supervisor=[Answer(calls=(call("delegate_to_facts", "d9", task="more"),)), "ok"],
    )
    desk = Desk(db, model)
    team = planned(delegate("collect", "facts"), ANSWER)
    team = replace(team, supervisor=replace(team.supervisor, tools=()))  # then they are shown
    await desk.ask("go", team)
    assert asked(model).count("facts") == 1
    assert "fixed plan" in words_of(model.requests[-1])


async def test_many_equal_delegations_of_a_plan_are_no_loop_and_no_tool_rounds(
    db: Database,
) -> None:
    steps = [delegate(f"s{n}", "facts", "the same") for n in range(8)]
    model = by_agent(facts=["x"], supervisor=[Answer(calls=(call("echo", "e1"),)), "done"])
    desk = Desk(db, model)
    team = planned(*steps, ANSWER)
    team = replace(team, supervisor=agent(tools=("echo",), limits={"tool_rounds": 2}))
    assert await desk.ask("go", team) == "done"
    assert asked(model).count("facts") == 8


async def test_more_delegations_than_the_preset_allows_are_not_made(db: Database) -> None:
    from agent_core.runtime.team import Delegation

    model = by_agent(facts=["x"], supervisor=["ok"])
    desk = Desk(db, model)
    symbols = Input("symbols", "symbols", required=True)
    each = Step("all", Delegate(Branch("facts", "{{ item }}"), "inputs.symbols"))
    team = replace(
        planned(each, ANSWER, inputs=(symbols,)), delegation=Delegation(max_delegations=2)
    )
    await desk.ask("GOOG, AAPL, MSFT", team)
    assert asked(model).count("facts") == 2
    assert "all: partial; missing: facts (MSFT) (error)" in words_of(model.requests[-1])


async def test_a_plan_without_an_answer_needs_no_model_of_the_supervisor(db: Database) -> None:
    model = by_agent(bull=["up"], bear=[BUSY])
    desk = Desk(db, model)
    text = await desk.ask("go", planned(BOTH))
    assert text == "**Bull**\n\nup\n\n_Not complete: Bear failed._"
    assert "supervisor" not in asked(model)
    assert await desk.count("usage") == len(model.requests) - asked(model).count("bear")


async def test_what_an_agent_may_spend_holds_inside_a_plan_and_the_rest_goes_on(
    db: Database,
) -> None:
    """The money of one delegation bounds it, never the plan: what there is comes through (guide "presets", 4)."""
    paid = Usage(100, 20, 0, 0, 0.02)
    again = Answer(calls=(call("echo", "e1", words="x"),), usage=paid)
    staff = (agent("facts", tools=("echo",), limits={"usd": 0.01}), agent("bull"))
    model = by_agent(facts=[again], bull=["up"], supervisor=["in part"])
    desk = Desk(db, model)
    steps = (delegate("collect", "facts"), delegate("more", "bull"), ANSWER)
    text = await desk.ask("go", planned(*steps, agents=staff))
    assert text == "in part\n\n_Not complete: Facts ran out of budget._"
    assert "collect: over_budget; missing: facts (over_budget)" in words_of(model.requests[-1])
    assert asked(model) == ["facts", "bull", "supervisor"]


async def test_a_second_turn_runs_the_plan_again_under_new_ids(db: Database) -> None:
    model = by_agent(facts=["x"], supervisor=["ok"])
    desk = Desk(db, model)
    team = planned(delegate("collect", "facts"), ANSWER)
    await desk.ask("one", team)
    desk.fresh = True
    await desk.ask("two", team, key="m:1:2")
    assert asked(model).count("facts") == 2
    finished = [e for e in desk.events if isinstance(e, AgentFinished)]
    assert len({e.call_id for e in finished}) == 2
    assert not model.violations


async def test_data_of_an_agent_are_conditions_of_numbers_only(db: Database) -> None:
    assert not Condition("x", lt=1).holds("0.5")
    assert not Condition("x", lt=1).holds(None)
    assert Condition("x", among=("live",)).holds("live")
    assert not Condition("x", among=(1,)).holds(True)
    assert RATED.format == "json"


def test_ids_of_calls_fit_what_providers_take_back() -> None:
    long = call_id(7, "a" * 40 + ".1." + "b" * 40)
    assert len(long) == 40
    assert long != call_id(7, "a" * 40 + ".2." + "b" * 40)
    assert call_id(7, "collect") == "p7.collect"
