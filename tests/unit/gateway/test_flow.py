"""What a person sees of a fixed plan: questions for inputs, progress, approvals, a stop; and a process that dies."""

import asyncio
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.flow import Branch, Input, Parallel, Step
from agent_core.runtime.planned import call_id
from agent_core.runtime.team import Policy, Status, Team
from gateway.storage.db import Database
from tests.harness import Desk, agent, begin_next, call, message, post
from tests.house import House, on_sqlite, until
from tests.outages import DyingDatabase, Killed
from tests.unit.agent_core.flow_desk import (
    ANSWER,
    ARGUE,
    BUSY,
    COLLECT,
    SYMBOL,
    asked,
    by_agent,
    delegate,
    planned,
    words_of,
)
from tests.unit.gateway.asking import PAY, question

HORIZON = Input("horizon", "choice", "How far ahead", required=True, choices=("1m", "3m"))
SURE = json.dumps({"rating": "buy", "confidence": 0.9})


def house(db: Database, model: ScriptedModel, team: Team) -> House:
    return House(db, model, the_team=team)


def answers(**more: Any) -> ScriptedModel:
    scripts: dict[str, Any] = {"facts": ["700"], "bull": ["up"], "bear": ["down"], "judge": [SURE]}
    return by_agent(**scripts | {"supervisor": ["the answer"]} | more)


async def never(_: float) -> None:
    """A sleep that does not end."""
    await asyncio.Event().wait()


def said(it: House) -> str:
    """All that the chat shows."""
    return "\n".join(it.channel.texts("1"))


async def test_a_missing_input_is_asked_for_before_anything_runs(db: Database) -> None:
    model = answers()
    async with house(db, model, planned(COLLECT, ANSWER, inputs=(SYMBOL, HORIZON))) as it:
        await it.say("what do you think?")
        await it.quiet()
        assert "symbol: one stock or coin" in said(it)
        assert not model.requests
        await it.say("banana split")
        await it.quiet()
        assert "`banana split` does not fit." in said(it)
        await it.say("GOOG")
        await it.quiet()
        asks = question(it)
        assert "How far ahead" in asks.text
        assert [b.label for b in asks.buttons] == ["1. 1m", "2. 3m"]
        await it.press(asks.buttons[1].data)
        await it.quiet()
        assert "the answer" in it.channel.texts("1")
        assert asked(model) == ["facts", "supervisor"]
        assert words_of(model.requests[0]).endswith("Facts on GOOG")
        assert "symbol = GOOG; horizon = 3m" in words_of(model.requests[-1])
        assert not model.violations


async def test_an_input_that_nobody_gives_starts_nothing_and_says_how(db: Database) -> None:
    model = answers()
    async with house(db, model, planned(COLLECT, ANSWER, inputs=(SYMBOL,))) as it:
        await it.say("go")
        await it.quiet()
        for words in ("nonsense", "more nonsense", "still nonsense"):
            await it.say(words)
            await it.quiet()
        assert "Nothing was started: symbol is missing. Write it as `symbol = …`." in said(it)
        assert not model.requests


async def test_inputs_work_without_a_plan_and_fill_every_prompt(db: Database) -> None:
    team = planned(inputs=(SYMBOL,))
    lead = replace(team.supervisor, prompt="You are supervisor. About {{ inputs.symbol }}.")
    staff = {"facts": agent("facts", prompt="You are facts. On {{ inputs.symbol }}.")}
    order = Answer(calls=(call("delegate_to_facts", "d1", task="look"),))
    model = answers(supervisor=[order, "the answer"])
    async with house(db, model, replace(team, supervisor=lead, agents=staff)) as it:
        assert (await it.ask("apple please"))[-1] == "the answer"
    assert "About AAPL." in model.requests[0].system
    assert "On AAPL." in model.requests[1].system


async def test_the_agents_of_a_plan_are_shown_by_their_names(db: Database) -> None:
    bull = agent("bull", title={"en": "The optimist", "zh": "多方"})
    model = answers(bull=[Answer("up", delay=1e9)])
    model.sleep = never
    async with house(db, model, planned(delegate("s", "bull"), ANSWER, agents=(bull,))) as it:
        await it.say("go")
        await until(lambda: model.requests)
        await until(
            lambda: any(
                "The optimist" in str(step)
                for stream in it.channel.streams
                for preview in stream.previews
                for step in preview.steps
            )
        )
        await it.say("/stop")
        await it.quiet()


async def test_a_failure_in_the_middle_is_told_with_the_agents_name(db: Database) -> None:
    model = answers(bear=[BUSY])
    async with house(db, model, planned(ARGUE, ANSWER)) as it:
        shown = await it.ask("go")
        assert shown[-1] == "the answer\n\n_Not complete: Bear failed._"
        shown = await it.ask("再来一次")
        assert shown[-1] == "the answer\n\n_未得到完整结果：Bear出错。_"


async def test_a_policy_may_ask_the_person_whether_the_plan_goes_on(db: Database) -> None:
    staff = (agent("facts", policy={Status.ERROR: Policy("ask_user")}), agent("bull"))
    team = planned(delegate("collect", "facts"), delegate("more", "bull"), ANSWER, agents=staff)
    for ran in (1, 0):
        model = answers(facts=[BUSY])
        async with house(db, model, team) as it:
            chat = str(ran + 1)
            await it.say("go", chat=chat)
            await it.quiet()
            asks = question(it, chat)
            assert "Facts: no full result. Go on?" in asks.text
            assert [b.label for b in asks.buttons] == ["1. Go on without it", "2. Stop"]
            await it.press(asks.buttons[1 - ran].data, chat=chat)
            await it.quiet()
            assert asked(model).count("bull") == ran
            assert any("the answer" in text for text in it.channel.texts(chat))


@on_sqlite
async def test_a_policy_may_ask_the_person_about_a_step_that_brought_a_part(db: Database) -> None:
    """Guide "presets" 4, `partial`: the side that failed has an action of its own, and the step as a whole another."""
    half = {Status.PARTIAL: Policy("ask_user"), Status.ERROR: Policy("use_partial")}
    sides = [agent(name, policy=half) for name in ("bull", "bear")]
    both = Step("both", Parallel((Branch("bull", "up?"), Branch("bear", "down?"))))
    team = planned(both, delegate("more", "facts"), ANSWER, agents=(*sides, agent("facts")))
    model = answers(bear=[BUSY])
    async with house(db, model, team) as it:
        await it.say("go")
        await it.quiet()
        asks = question(it, "1")
        assert "Bear: no full result. Go on?" in asks.text
        await it.press(asks.buttons[1].data)
        await it.quiet()
        assert "facts" not in asked(model)
        assert any("the answer" in text for text in it.channel.texts("1"))


async def test_an_approval_inside_a_plan_waits_for_the_person_and_runs_once(db: Database) -> None:
    model = answers(facts=[PAY, "paid"])
    staff = (agent("facts", tools=("pay",)),)
    async with house(db, model, planned(delegate("s", "facts"), ANSWER, agents=staff)) as it:
        await it.say("go")
        await it.quiet()
        assert "asked by Facts" in question(it).text
        assert it.tools.calls == []
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert "the answer" in it.channel.texts("1")
        assert asked(model) == ["facts", "facts", "supervisor"]


async def test_a_stop_ends_a_plan_where_it_is(db: Database) -> None:
    model = answers(facts=[Answer("slow", delay=1e9)])
    model.sleep = never
    async with house(db, model, planned(COLLECT, ARGUE, ANSWER, inputs=(SYMBOL,))) as it:
        await it.say("GOOG")
        await until(lambda: model.requests)
        await it.say("/stop")
        await it.quiet()
        assert asked(model) == ["facts"]
        assert "stopped" in it.channel.texts("1")[-1].lower()


# Kills --------------------------------------------------------------------------------------------

PLAN = planned(
    delegate("collect", "facts"),
    Step("both", Parallel((Branch("bull", "x"), Branch("bear", "y")))),
    ANSWER,
)


def script(request: ModelRequest) -> Answer | str:
    name = request.system.split(".")[0].removeprefix("You are ")
    return "the answer" if name == "supervisor" else f"{name} said"


@on_sqlite
@pytest.mark.parametrize("after", [False, True])
async def test_a_plan_that_died_at_any_commit_goes_on_and_pays_nothing_twice(
    db: Database, after: bool
) -> None:
    for at in itertools.count():
        chat = at + 1
        desk = Desk(DyingDatabase(db, at, after=after), ScriptedModel(script), chat=chat)
        await post(db, message("go", key=f"k{chat}", chat=chat))
        died = False
        try:
            await (await desk.turn(PLAN)).run()
        except* Killed:
            died = True
        if not died:
            break
        again = Desk(db, ScriptedModel(script), chat=chat)
        begun = await begin_next(db, chat)
        if begun is None:  # it died behind its last commit
            continue
        await (await again.turn(PLAN)).run()
        assert again.reply == "the answer"
        rows = await again.rows()
        calls = [c.id for r in rows for c in r.message.calls if r.ref == "plan"]
        assert len(calls) == len(set(calls)) == 3
        # Each delegation has one child session, and each child one outcome.
        for key in ("collect", "both.1", "both.2"):
            child = await again.rows(call_id(rows[0].turn_id, key))
            assert sum("outcome" in row.meta for row in child) == 1
    assert at > 8
