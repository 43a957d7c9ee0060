"""A step of a plan that succeeds in part: what its policies for `partial` make again (guide "presets", 4)."""

import json
from dataclasses import replace

import pytest

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import Model, ModelRequest
from agent_core.runtime.flow import Branch, Debate, Delegate, Input, Parallel, Step, Vote
from agent_core.runtime.team import Policy, Status, Team
from gateway.storage.db import Database
from tests.harness import Desk, agent, call
from tests.house import on_sqlite
from tests.unit.agent_core.flow_desk import (
    ANSWER,
    ARGUE,
    BOTH,
    BUSY,
    RATED,
    asked,
    by_agent,
    planned,
    words_of,
)

pytestmark = on_sqlite
SURE = json.dumps({"rating": "buy", "confidence": 0.9})
OWN = {Status.ERROR: Policy("use_partial")}


def desk_of(step: Step, half: Policy) -> Team:
    """Bull and bear, and a judge who reads both; bear has this policy for `partial`."""
    staff = (
        agent("bull", policy=OWN),
        agent("bear", policy=OWN | {Status.PARTIAL: half}),
        agent("second", policy=OWN),
        agent("judge", output=RATED, from_agents=("bear",)),
    )
    made = planned(step, ANSWER, agents=staff)
    return replace(made, supervisor=replace(made.supervisor, tools=("echo", "order")))


def script(**more: list[Answer | str]) -> ScriptedModel:
    base: dict[str, list[Answer | str]] = {
        "bull": ["up"],
        "bear": [BUSY],
        "second": ["down too"],
        "judge": [SURE],
        "supervisor": ["the answer"],
    }
    return by_agent(**base | more)


@pytest.mark.parametrize("step", [ARGUE, BOTH])
async def test_a_retry_that_succeeds_makes_the_step_whole(db: Database, step: Step) -> None:
    """The person reads of no failure, and who is handed the part reads the new one."""
    model = script(bear=[BUSY, BUSY, "down"])
    desk = Desk(db, model)
    half = Policy("stop_and_report", retryable=True, max_retries=2, backoff=4.0)
    assert await desk.ask("go", desk_of(step, half)) == "the answer"
    assert asked(model).count("bear") == 3
    assert asked(model).count("bull") == 1
    assert [nap for nap in desk.naps if nap >= 1.0] == [4.0, 8.0]
    assert f"{step.id}: completed" in words_of(model.requests[-1])
    if step is ARGUE:
        (judged,) = (r for r in model.requests if "You are judge" in r.system)
        assert "down" in words_of(judged)
        assert "no result" not in words_of(judged)


async def test_retries_end_and_the_next_action_follows(db: Database) -> None:
    model = script()
    half = Policy("stop_and_report", retryable=True, max_retries=2)
    text = await Desk(db, model).ask("go", desk_of(BOTH, half))
    assert text == "the answer\n\n_Not complete: Bear failed._"
    assert asked(model).count("bear") == 3
    assert "ended early" in words_of(model.requests[-1])


async def test_without_retryable_nothing_is_made_again(db: Database) -> None:
    model = script()
    await Desk(db, model).ask("go", desk_of(BOTH, Policy("use_partial", max_retries=2)))
    assert asked(model).count("bear") == 1


async def test_the_fallback_model_comes_once_after_the_retries(db: Database) -> None:
    used: list[tuple[str, str]] = []

    class Named(Desk):
        def models(self, name: str) -> Model:
            async def answer(request: ModelRequest) -> Answer | str:
                who = request.system.split(".")[0].removeprefix("You are ")
                used.append((who, name))
                return "down" if name == "other" else BUSY if who == "bear" else "up"

            return ScriptedModel(answer)

    half = Policy("use_partial", retryable=True, max_retries=1, fallback_model="other")
    assert await Named(db, script()).ask("go", desk_of(BOTH, half)) == "up"
    assert [name for who, name in used if who == "bear"] == ["auto", "auto", "other"]


async def test_the_task_goes_to_another_agent_with_the_same_words(db: Database) -> None:
    model = script()
    half = Policy("delegate_to", delegate_to="second", say="Mind this.")
    desk = Desk(db, model)
    assert await desk.ask("go", desk_of(ARGUE, half)) == "the answer"
    assert set(asked(model)[:2]) == {"bull", "bear"}, "at once, in no order"
    assert asked(model)[2:] == ["second", "judge", "supervisor"]
    bear, second = (r for r in model.requests if "bear" in r.system or "second" in r.system)
    assert words_of(bear) == words_of(second)
    judged = next(r for r in model.requests if "You are judge" in r.system)
    assert "[second: completed]\ndown too" in words_of(judged)


async def test_who_cannot_do_it_either_is_told_too(db: Database) -> None:
    model = script(second=[BUSY])
    half = Policy("delegate_to", delegate_to="second")
    text = await Desk(db, model).ask("go", desk_of(BOTH, half))
    assert text == "the answer\n\n_Not complete: Bear failed; Second failed._"


async def test_the_supervisor_that_answers_has_the_fallback_tools_alone(db: Database) -> None:
    both = Answer(calls=(call("order", "o1"), call("echo", "e1", words="x")))
    model = script(supervisor=[both, "instead: x"])
    half = Policy("fallback_to_direct_tools", fallback_tools=("echo",), say="Mind this.")
    desk = Desk(db, model)
    text = await desk.ask("go", desk_of(BOTH, half))
    assert text == "instead: x\n\n_Not complete: Bear failed._"
    assert desk.tools.calls == [("echo", "x")]
    told = words_of(model.requests[-2])
    assert "The part of `bear` is missing. Do this part yourself with `echo` only" in told
    assert "Mind this." in told


async def test_a_retry_that_succeeds_lifts_what_the_failure_before_it_left(db: Database) -> None:
    order = Answer(calls=(call("order", "o1"),))
    model = script(bear=[BUSY, "down"], supervisor=[order, "done"])
    team = desk_of(BOTH, Policy("use_partial", retryable=True, max_retries=1))
    fall = {Status.ERROR: Policy("fallback_to_direct_tools", fallback_tools=("echo",))}
    bear = team.agents["bear"]
    team = replace(
        team, agents=team.agents | {"bear": replace(bear, policy={**bear.policy, **fall})}
    )
    desk = Desk(db, model)
    assert await desk.ask("go", team) == "done"
    assert [name for name, _ in desk.tools.calls] == ["order"]


async def test_use_result_takes_the_step_as_it_is(db: Database) -> None:
    """The model is not told to speak of it; the person is, in any case."""
    model = script()
    text = await Desk(db, model).ask("go", desk_of(BOTH, Policy("use_result")))
    assert text == "the answer\n\n_Not complete: Bear failed._"
    assert "Say in one line what is missing" not in words_of(model.requests[-1])


async def test_what_a_person_refused_is_not_made_again(db: Database) -> None:
    model = script()
    half = Policy("use_partial", retryable=True, max_retries=2, fallback_model="other")
    team = desk_of(BOTH, half)
    stop = {Status.ERROR: Policy("stop_and_report"), Status.PARTIAL: half}
    team = replace(team, agents=team.agents | {"bear": replace(team.agents["bear"], policy=stop)})
    await Desk(db, model).ask("go", team)
    assert asked(model).count("bear") == 1


@pytest.mark.parametrize(
    "step",
    [
        Step("vote", Vote(("bull", "bear"), 2, "rating")),
        Step("two", Parallel((Branch("bull"), Branch("bear")), need=2)),
        Step("three", Debate(("bull", "bear"), 2, "second")),
    ],
)
async def test_every_kind_of_step_makes_its_lacking_part_again(db: Database, step: Step) -> None:
    model = script(bull=[SURE], bear=[BUSY, SURE], second=[SURE])
    half = Policy("use_partial", retryable=True, max_retries=1)
    team = desk_of(step, half)
    team = replace(team, agents={name: replace(a, output=RATED) for name, a in team.agents.items()})
    assert await Desk(db, model).ask("go", team) == "the answer"
    assert f"{step.id}: completed" in words_of(model.requests[-1])


async def test_only_the_items_that_failed_are_made_again(db: Database) -> None:
    model = script(bear=["one", BUSY, "two"])
    half = Policy("use_partial", retryable=True, max_retries=1)
    team = desk_of(Step("each", Delegate(Branch("bear", "{{ item }}"), "inputs.symbols")), half)
    team = replace(team, inputs=(Input("symbols", "symbols", required=True),))
    assert await Desk(db, model).ask("symbols = GOOG, AAPL", team) == "the answer"
    told = [words_of(r) for r in model.requests if "You are bear" in r.system]
    assert len(told) == 3
    assert told[2] == told[1] != told[0]


async def test_a_single_delegation_is_no_step_of_parts(db: Database) -> None:
    model = script()
    half = Policy("use_partial", retryable=True, max_retries=2)
    await Desk(db, model).ask("go", desk_of(Step("one", Delegate(Branch("bear"))), half))
    assert asked(model).count("bear") == 1
