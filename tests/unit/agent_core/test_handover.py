"""What a sub-agent is given to read, tasks that are handed on, and the bounds of delegating (SUB-6, SUB-16)."""

import asyncio
import json
from typing import Any

import pytest

from agent_core.errors import ModelOverloaded
from agent_core.events import AgentFinished, AgentStarted, ToolFinished, ToolStarted
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.models.tokens import of_text
from agent_core.ports import ModelRequest
from agent_core.runtime.attempt import LAST_WORD
from agent_core.runtime.brief import CUT_CONTEXT, CUT_REST, fitted
from agent_core.runtime.team import OutputContract, Policy, Status
from agent_core.types import ToolResult, Usage
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, delegate, team
from tests.house import House, on_sqlite
from tests.unit.agent_core.test_accept import reported
from tests.unit.agent_core.test_delegate import by_agent

TO_ANALYSIS = Policy("delegate_to", delegate_to="analysis")
DOWN = Answer(error=ModelOverloaded("p"))


def first_words(model: ScriptedModel, name: str) -> str:
    return next(r.messages[0].text for r in model.requests if f"You are {name}" in r.system)


# What it reads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("overflow", ["keep_recent", "keep_first"])
def test_what_is_too_long_is_cut_where_the_preset_says(overflow: Any) -> None:
    """SUB-6: deterministic, with a marker, the task itself whole."""
    context = "oldest " + "middle " * 3_000 + "newest"
    made = fitted("the task", context, 300, overflow)
    assert made.truncated
    assert made.text.startswith("the task\n\nContext:\n")
    assert of_text(made.text) <= 300 + of_text(CUT_CONTEXT) + of_text(CUT_REST)
    assert ("newest" in made.text, "oldest" in made.text) == (
        overflow == "keep_recent",
        overflow == "keep_first",
    )
    assert (CUT_CONTEXT in made.text) == (overflow == "keep_recent")
    assert fitted("the task", context, 300, overflow) == made


def test_what_fits_is_whole_and_says_so() -> None:
    made = fitted("t", "facts", 300, "refuse")
    assert (made.text, made.truncated, made.refused) == ("t\n\nContext:\nfacts", False, False)


@on_sqlite
async def test_a_context_that_must_not_be_cut_ends_as_over_budget(db: Database) -> None:
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research", context="word " * 2_000),)), "too long"]
    )
    narrow = agent("research", on_overflow="refuse", limits={"input_tokens": 100})
    await Desk(db, model).ask("go", team(agent(), narrow))
    body = reported(model.requests[-1])
    assert (body["status"], body["context_truncated"]) == ("over_budget", True)
    assert body["error"] == "limits.input_tokens 100 exceeded by the context"
    assert len(model.requests) == 2  # no call was paid


@on_sqlite
@pytest.mark.parametrize(
    ("level", "shown", "hidden"),
    [
        ("task_only", [], ["facts", "hello", "again"]),
        ("brief", ["facts"], ["hello", "again"]),
        ("recent", ["facts", "Person: again", "Assistant: answer 7"], ["hello"]),
        ("full", ["facts", "Person: hello", "Assistant: answer 0", "Person: again"], []),
    ],
)
async def test_an_agent_sees_as_much_of_the_conversation_as_its_preset_lets_it(
    db: Database, level: Any, shown: list[str], hidden: list[str]
) -> None:
    chat: list[Answer | str] = [f"answer {n}" for n in range(8)]
    script = [*chat, Answer(calls=(delegate("research", "look", context="facts"),)), "ok"]
    model = by_agent(supervisor=script, research=["found"])
    desk = Desk(db, model)
    the_team = team(agent(), agent("research", context=level))
    for n in range(8):
        await desk.ask("hello" if n == 0 else f"word {n}", the_team, key=f"m:1:{n}")
    await desk.ask("again", the_team, key="m:1:9")
    seen = first_words(model, "research")
    assert [words for words in shown if words not in seen] == []
    assert [words for words in hidden if words in seen] == []


@on_sqlite
async def test_results_are_handed_over_by_contract_and_never_as_a_transcript(db: Database) -> None:
    rated = OutputContract("json", {"type": "object"}, "shown to people")
    model = by_agent(
        supervisor=[
            Answer(calls=(delegate("research", "a", "d1"), delegate("bear", "b", "d2"))),
            Answer(calls=(delegate("judge", "weigh", "d3"),)),
            "ok",
        ],
        research=[
            Answer("secret thoughts", calls=(call("echo", "e1", words="raw"),)),
            '{"rating": "buy"}',
        ],
        bear=[DOWN],
        judge=["buy"],
    )
    judge = agent("judge", from_agents=("research", "bear"), context="task_only")
    the_team = team(
        agent(),
        agent("research", ("echo",), output=rated),
        agent("bear", policy={Status.ERROR: Policy("use_partial")}),
        judge,
    )
    await Desk(db, model).ask("go", the_team)
    seen = first_words(model, "judge")
    assert '[research: completed]\n{"rating": "buy"}' in seen
    assert "[bear: error]\nno result" in seen
    assert "secret" not in seen
    assert "raw" not in seen
    assert "shown to people" not in seen


@on_sqlite
async def test_nothing_is_handed_over_from_agents_that_did_not_work(db: Database) -> None:
    model = by_agent(supervisor=[Answer(calls=(delegate("judge", "weigh"),)), "ok"], judge=["buy"])
    judge = agent("judge", from_agents=("research",))
    await Desk(db, model).ask("go", team(agent(), agent("research"), judge))
    assert first_words(model, "judge") == "weigh"


# Handing on ---------------------------------------------------------------------------------------


@on_sqlite
async def test_a_task_is_handed_on_without_asking_a_model(db: Database) -> None:
    """Guide "presets" 4, `delegate_to`: the runtime does it, each agent under its own name (SUB-8)."""
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research", "find x", context="facts"),)), "ok"],
        research=[DOWN],
        analysis=["analysis has it"],
    )
    desk = Desk(db, model)
    await desk.ask(
        "go",
        team(agent(), agent("research", policy={Status.ERROR: TO_ANALYSIS}), agent("analysis")),
    )
    body = reported(model.requests[-1])
    assert (body["agent"], body["result"]) == ("analysis", "analysis has it")
    assert body["handed_over_by"] == [
        {"agent": "research", "status": "error", "error": "ModelOverloaded"}
    ]
    assert first_words(model, "analysis") == first_words(model, "research")
    assert len([r for r in model.requests if "supervisor" in r.system]) == 2
    told = [
        (e.agent, type(e).__name__)
        for e in desk.events
        if isinstance(e, AgentStarted | AgentFinished)
    ]
    assert told == [
        (name, kind)
        for name in ("research", "analysis")
        for kind in ("AgentStarted", "AgentFinished")
    ]
    assert await desk.count("session", "parent is not null") == 2


@on_sqlite
async def test_a_task_never_goes_in_a_circle(db: Database) -> None:
    back = Policy("delegate_to", delegate_to="research")
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "neither"],
        research=[DOWN],
        analysis=[DOWN],
    )
    the_team = team(
        agent(),
        agent("research", policy={Status.ERROR: TO_ANALYSIS}),
        agent("analysis", policy={Status.ERROR: back}),
    )
    desk = Desk(db, model)
    text = await desk.ask("go", the_team)
    body = reported(model.requests[-1])
    assert (body["agent"], body["policy"]["next_action"]) == ("analysis", "use_partial")
    assert text == "neither\n\n_Not complete: Analysis failed._"


@on_sqlite
async def test_nobody_to_hand_it_on_to_leaves_what_there_is(db: Database) -> None:
    lost = Policy("delegate_to", delegate_to="nobody")
    model = by_agent(supervisor=[Answer(calls=(delegate("research"),)), "ok"], research=[DOWN])
    await Desk(db, model).ask("go", team(agent(), agent("research", policy={Status.ERROR: lost})))
    assert reported(model.requests[-1])["policy"]["next_action"] == "use_partial"


@on_sqlite
async def test_after_a_hand_over_that_falls_back_neither_agent_is_asked_again(db: Database) -> None:
    fall = Policy("fallback_to_direct_tools", fallback_tools=("echo",))
    again = (delegate("research", "x", "d2"), delegate("analysis", "y", "d3"), call("echo", "e1"))
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), Answer(calls=again), "by hand"],
        research=[DOWN],
        analysis=[DOWN],
    )
    the_team = team(
        agent(tools=("echo",)),
        agent("research", policy={Status.ERROR: TO_ANALYSIS}),
        agent("analysis", policy={Status.ERROR: fall}),
    )
    desk = Desk(db, model)
    await desk.ask("go", the_team)
    refused = [
        b.is_error for b in model.requests[-1].messages[-1].blocks if isinstance(b, ToolResult)
    ]
    assert refused == [True, True, False]


@on_sqlite
async def test_a_killed_hand_over_goes_on_with_the_second_agent(db: Database) -> None:
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[DOWN],
        analysis=[Answer("never", delay=30), "analysis has it"],
    )
    the_team = team(
        agent(), agent("research", policy={Status.ERROR: TO_ANALYSIS}), agent("analysis")
    )
    asking = asyncio.create_task(Desk(db, model).ask("go", the_team))
    while len(model.requests) < 3:
        await asyncio.sleep(0.005)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    again = Desk(db, model)
    await (await again.turn(the_team)).run()
    assert again.reply == "ok"
    assert sum("research" in r.system for r in model.requests) == 1
    assert reported(model.requests[-1])["result"] == "analysis has it"


# Bounds -------------------------------------------------------------------------------------------


class Crowd:
    """Holds every sub-agent's answer until `wanted` of them wait; counts how many are at work at once, by agent."""

    def __init__(self, calls: tuple[Any, ...], wanted: int) -> None:
        self.calls = calls
        self.wanted = wanted
        self.now: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.full = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> Answer | str:
        if "supervisor" in request.system:
            return "ok" if len(request.messages) > 1 else Answer(calls=self.calls)
        name = request.system.removeprefix("You are ").rstrip(".")
        self.now[name] = self.now.get(name, 0) + 1
        self.most[name] = max(self.most.get(name, 0), self.now[name])
        if sum(self.now.values()) >= self.wanted:
            self.full.set()
        await self.full.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        self.now[name] -= 1
        return "found"


@on_sqlite
async def test_copies_of_one_agent_wait_and_leave_room_for_others(db: Database) -> None:
    """Guide "presets" 3, `concurrency`: two that wait for their turn take no place of the whole."""
    calls = (
        *(delegate("research", f"x{n}", f"r{n}") for n in range(3)),
        delegate("analysis", "y", "a1"),
    )
    crowd = Crowd(calls, wanted=2)
    the_team = team(agent(), agent("research"), agent("analysis"), max_parallel=2)
    await Desk(db, ScriptedModel(crowd)).ask("go", the_team)
    assert crowd.most == {"research": 1, "analysis": 1}


@on_sqlite
async def test_as_many_run_side_by_side_as_the_agent_and_the_team_allow(db: Database) -> None:
    calls = tuple(delegate("research", f"x{n}", f"r{n}") for n in range(4))
    crowd = Crowd(calls, wanted=2)
    the_team = team(agent(), agent("research", concurrency=3), max_parallel=2)
    await Desk(db, ScriptedModel(crowd)).ask("go", the_team)
    assert crowd.most == {"research": 2}


@on_sqlite
async def test_the_tools_of_a_sub_agent_are_shown_under_its_name(db: Database) -> None:
    """SUB-8."""
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[Answer(calls=(call("echo", "e1"),)), "found"],
    )
    desk = Desk(db, model)
    await desk.ask("go", team(agent(), agent("research", ("echo",))))
    named = {
        e.agent
        for e in desk.events
        if isinstance(e, ToolStarted | ToolFinished) and e.name == "echo"
    }
    assert named == {"research"}


@on_sqlite
async def test_a_tool_that_takes_too_long_is_an_error_and_the_agent_goes_on(db: Database) -> None:
    """SUB-4, SUB-12: the tool's time ends the call alone."""
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[Answer(calls=(call("slow", "s1", seconds=60.0),)), "without it"],
    )
    the_team = team(agent(), agent("research", ("slow",), limits={"tool_timeout": 0.05}))
    await Desk(db, model).ask("go", the_team)
    body = reported(model.requests[-1])
    assert (body["status"], body["result"]) == ("completed", "without it")
    child = [r for r in model.requests if "research" in r.system][-1]
    assert "slow timed out after 0.05 s" in child.messages[-1].blocks[0].content  # type: ignore[union-attr]


@on_sqlite
async def test_a_stream_that_falls_silent_is_a_time_out(db: Database) -> None:
    """SUB-12: `idle_timeout` ends a silent model stream inside the deadline."""
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[Answer("some words and then nothing more", gap=60)],
    )
    the_team = team(agent(), agent("research", limits={"idle_timeout": 0.05, "time": 30.0}))
    await Desk(db, model).ask("go", the_team)
    body = reported(model.requests[-1])
    assert body["status"] == "timeout"
    assert "idle" in str(body["error"])
    assert body["partial"]


@on_sqlite
async def test_a_sub_agent_leaves_its_supervisor_time_to_answer(db: Database) -> None:
    """The run's deadline is a `timeout` of the delegation, not the end of the turn (guide "presets" 4)."""

    async def script(request: ModelRequest) -> Answer | str:
        if "research" in request.system:
            return Answer("late", delay=60)
        if len(request.messages) > 2:
            return "what I have"
        it.clock.seconds += 600 - LAST_WORD - 0.1  # a tenth of a second is left for research
        return Answer(calls=(delegate("research"),))

    the_team = team(agent(limits={"time": 600.0}), agent("research", limits={"time": 500.0}))
    async with House(db, ScriptedModel(script), the_team=the_team) as it:
        shown = (await it.ask("go"))[-1]
        body = reported(it.model.requests[-1])
    assert shown == "what I have\n\n_Not complete: Research ran out of time._"
    assert (body["status"], body["error"]) == ("timeout", "the time of the whole run ends")
    assert (
        "Most of the time" in it.model.requests[-1].messages[-1].text
    )  # SUB-16: told before the limit


@on_sqlite
async def test_an_agent_is_told_before_its_money_ends(db: Database) -> None:
    """SUB-16: a wrap-up round, so that there is an answer."""
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[Answer(calls=(call("echo", "e1"),), usage=Usage(1, 1, usd=0.085)), "so far"],
    )
    await Desk(db, model).ask(
        "go", team(agent(), agent("research", ("echo",), limits={"usd": 0.1}))
    )
    assert reported(model.requests[-1])["result"] == "so far"
    child = [r for r in model.requests if "research" in r.system][-1]
    assert "Most of the money" in child.messages[-1].text


@on_sqlite
async def test_calls_beyond_their_limit_are_refused_and_the_agent_may_still_answer(
    db: Database,
) -> None:
    """`limits.tool_calls`: a batch runs as far as the limit goes, and no further."""
    many = tuple(call("echo", f"e{n}", words=str(n)) for n in range(4))
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[Answer(calls=many), "from two"],
    )
    desk = Desk(db, model)
    await desk.ask("go", team(agent(), agent("research", ("echo",), limits={"tool_calls": 2})))
    assert sorted(words for _, words in desk.tools.calls) == ["0", "1"]
    child = [r for r in model.requests if "research" in r.system][-1]
    assert [b.is_error for b in child.messages[-1].blocks] == [False, False, True, True]  # type: ignore[union-attr]
    assert json.loads(json.dumps(reported(model.requests[-1])))["status"] == "completed"
