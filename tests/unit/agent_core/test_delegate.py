"""Delegations: child sessions, the result object, statuses, the policy enforced (SUB-1 … SUB-16, guide "presets" 4)."""

import asyncio
import json

import pytest

from agent_core.errors import ModelOverloaded
from agent_core.events import AgentFinished, AgentStarted, ToolStarted
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.team import Agent, Policy, Status, Team
from agent_core.types import RowKind, ToolResult, Usage
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, delegate, team

FALLBACK = Policy("fallback_to_direct_tools", fallback_tools=("echo",))
PAID = Usage(100, 20, 0, 0, 0.01)


def by_agent(**scripts: list[Answer | str]) -> ScriptedModel:
    """A model that answers each agent from a script of its own, told apart by the system text."""
    left = {name: list(script) for name, script in scripts.items()}

    async def answer(request: ModelRequest) -> Answer | str:
        name = request.system.split(".")[0].removeprefix("You are ")
        return left[name].pop(0)

    return ScriptedModel(answer)


def desk_team(**research: object) -> Team:
    more = {"tools": ("echo", "slow"), "description": "Looks things up."} | research
    return team(agent(tools=("echo", "order")), agent("research", **more), agent("analysis"))  # type: ignore[arg-type]


def reported(request: ModelRequest, index: int = 0) -> dict[str, object]:
    block = request.messages[-1].blocks[index]
    assert isinstance(block, ToolResult)
    return json.loads(block.content)  # type: ignore[no-any-return]


async def run(db: Database, model: ScriptedModel, the_team: Team) -> tuple[Desk, str]:
    desk = Desk(db, model)
    return desk, await desk.ask("go", the_team)


async def test_a_delegation_runs_in_a_child_session_and_returns_one_object(db: Database) -> None:
    model = by_agent(
        supervisor=[
            Answer(calls=(delegate("research", "find x", context="facts"),), usage=PAID),
            "x it is",
        ],
        research=[
            Answer(calls=(call("echo", "e1", words="x"),), usage=PAID),
            Answer("found x", usage=PAID),
        ],
    )
    desk, text = await run(db, model, desk_team())
    assert text == "x it is"
    result = reported(model.requests[-1])
    assert result["agent"] == "research"
    assert result["status"] == "completed"
    assert result["result"] == "found x"
    assert result["usage"] == {"input_tokens": 200, "output_tokens": 40, "usd": 0.02}
    assert result["rounds"] == 1
    assert result["tool_calls"] == ["echo"]
    assert result["preset"].startswith("test@sha256:")  # type: ignore[attr-defined]
    assert result["policy"]["next_action"] == "use_result"  # type: ignore[index]
    assert (await desk.kinds("d1"))[0] is RowKind.USER
    assert await desk.count("session", "parent is not null and agent = 'research'") == 1
    assert await desk.count("usage") == 4
    assert not model.violations


async def test_the_child_sees_its_task_and_nothing_of_the_conversation(db: Database) -> None:
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research", "find x"),)), "ok"], research=["found"]
    )
    await run(db, model, desk_team())
    child = model.requests[1]
    assert [m.text for m in child.messages] == ["find x"]
    assert [t.name for t in child.tools] == ["echo", "slow"]  # SUB-16: nothing to delegate with


async def test_two_delegations_run_side_by_side_with_events_under_their_names(db: Database) -> None:
    """SUB-8."""
    both = (delegate("research", "a", "d1"), delegate("analysis", "b", "d2"))
    model = by_agent(
        supervisor=[Answer(calls=both), "both"],
        research=[Answer("from research", delay=0.05)],
        analysis=[Answer("from analysis", delay=0.05)],
    )
    desk, _ = await run(db, model, desk_team())
    started = [e.agent for e in desk.events if isinstance(e, AgentStarted | AgentFinished)]
    assert started[:2] == ["research", "analysis"]
    assert reported(model.requests[-1], 0)["result"] == "from research"
    assert reported(model.requests[-1], 1)["result"] == "from analysis"


async def test_a_time_out_falls_back_and_binds_the_supervisor_to_its_fallback_tools(
    db: Database,
) -> None:
    model = by_agent(
        supervisor=[
            Answer(calls=(delegate("research"),)),
            Answer(
                calls=(call("order", "o1"), call("echo", "e1"), delegate("research", "again", "d2"))
            ),
            "done by hand",
        ],
        research=[Answer("late", delay=5)],
    )
    limited = desk_team(limits={"time": 0.05}, policy={Status.TIMEOUT: FALLBACK})
    desk, text = await run(db, model, limited)
    assert text == "done by hand\n\n_Not complete: Research ran out of time._"
    assert [name for name, _ in desk.tools.calls] == ["echo"]
    refusals = [b.content for b in model.requests[-1].messages[-1].blocks if b.is_error]  # type: ignore[union-attr]
    assert len(refusals) == 2
    assert "only these direct tools" in refusals[0]


async def test_an_error_is_retried_with_back_off_then_falls_back(db: Database) -> None:
    policy = Policy("use_partial", retryable=True, max_retries=1, backoff=2.0)
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "sorry"],
        research=[Answer(error=ModelOverloaded("p")), Answer(error=ModelOverloaded("p"))],
    )
    desk, _ = await run(db, model, desk_team(policy={Status.ERROR: policy}))
    result = reported(model.requests[-1])
    assert result["status"] == "error"
    assert result["error"] == "ModelOverloaded"
    assert desk.naps == [2.0]
    assert await desk.count("session", "parent is not null") == 2


async def test_a_retry_that_succeeds_is_a_completed_delegation(db: Database) -> None:
    policy = Policy("use_partial", retryable=True, max_retries=1)
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "good"],
        research=[Answer(error=ModelOverloaded("p")), "found"],
    )
    await run(db, model, desk_team(policy={Status.ERROR: policy}))
    assert reported(model.requests[-1])["status"] == "completed"


async def test_a_round_limit_is_an_error_and_keeps_what_was_said(db: Database) -> None:
    """SUB-14, defect 12."""
    looking = [Answer(calls=(call("echo", f"e{n}", words=str(n)),)) for n in range(3)]
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"], research=[*looking, "so far: 2"]
    )
    await run(db, model, desk_team(limits={"tool_rounds": 2}))
    result = reported(model.requests[-1])
    assert (result["status"], result["error"], result["partial"]) == (
        "error",
        "round_limit",
        "so far: 2",
    )


async def test_a_blank_answer_is_empty(db: Database) -> None:
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"], research=[Answer("  ")]
    )
    await run(db, model, desk_team())
    assert reported(model.requests[-1])["status"] == "empty"


async def test_money_spent_ends_a_delegation_as_over_budget(db: Database) -> None:
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "ok"],
        research=[Answer("part", calls=(call("echo", "e1"),), usage=PAID)],
    )
    await run(db, model, desk_team(limits={"usd": 0.005}))
    assert reported(model.requests[-1])["status"] == "over_budget"


async def test_a_long_result_and_a_long_context_are_cut_and_say_so(db: Database) -> None:
    """SUB-6: the most recent part of the context stays; the result's length includes the marker."""
    long = "old " * 5_000 + "newest fact"
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research", "sum up", context=long),)), "ok"],
        research=["y" * 5_000],
    )
    await run(db, model, desk_team(limits={"input_tokens": 200, "output_chars": 300}))
    result = reported(model.requests[-1])
    assert result["context_truncated"]
    assert result["result_truncated"]
    assert len(str(result["result"])) == 300
    seen = model.requests[1].messages[0].text
    assert seen.endswith("newest fact")
    assert len(seen) < 600


async def test_stop_and_report_leaves_the_supervisor_without_tools(db: Database) -> None:
    model = by_agent(
        supervisor=[
            Answer(calls=(delegate("research"),)),
            Answer(calls=(call("echo", "e1"),)),
            "it was stopped",
        ],
        research=[Answer(" ")],
    )
    desk, text = await run(db, model, desk_team(policy={Status.EMPTY: Policy("stop_and_report")}))
    assert text == "it was stopped\n\n_Not complete: Research brought no result._"
    assert desk.tools.calls == []


async def test_a_finished_childs_work_is_not_paid_again_after_a_restart(db: Database) -> None:
    """DESIGN.md 4: finished sub-agent calls are not paid again."""
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"), call("slow", "s1", seconds=30.0))), "done"],
        research=[Answer(calls=(call("echo", "e1"),)), "found"],
    )
    the_team = team(agent(tools=("slow",)), agent("research", tools=("echo",)))
    desk = Desk(db, model)
    asking = asyncio.create_task(desk.ask("go", the_team))
    while not any(isinstance(e, AgentFinished) for e in desk.events):
        await asyncio.sleep(0.005)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    paid = len(model.finished)
    again = Desk(db, model)
    again.tools._slow  # noqa: B018 - the same tools
    turn = await again.turn(team(agent(tools=()), agent("research", tools=("echo",))))
    await turn.run()
    assert again.reply == "done"
    assert len(model.finished) == paid + 1
    assert not any(isinstance(e, ToolStarted) and e.name == "echo" for e in again.events)


async def test_a_child_that_was_cut_off_goes_on_from_its_last_row(db: Database) -> None:
    model = by_agent(
        supervisor=[Answer(calls=(delegate("research"),)), "done"],
        research=[Answer(calls=(call("echo", "e1"),)), Answer("never", delay=30), "found"],
    )
    desk = Desk(db, model)
    asking = asyncio.create_task(desk.ask("go", desk_team()))
    while len(model.requests) < 3:
        await asyncio.sleep(0.005)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    again = Desk(db, model)
    await (await again.turn(desk_team())).run()
    assert again.reply == "done"
    assert again.tools.calls == []  # the tool had finished before
    assert reported(model.requests[-1])["rounds"] == 1


@pytest.mark.parametrize("limit", [1, 2])
async def test_the_number_of_delegations_in_a_turn_is_bounded(db: Database, limit: int) -> None:
    calls = tuple(delegate("research", f"t{n}", f"d{n}") for n in range(3))
    rounds = [Answer(calls=(c,)) for c in calls]
    model = by_agent(supervisor=[*rounds, "ok"], research=["r"] * 3)
    the_team = team(agent(), agent("research"), max_delegations=limit)
    desk, _ = await run(db, model, the_team)
    assert await desk.count("session", "parent is not null") == limit


def test_every_status_has_a_policy_to_fall_back_on() -> None:
    from agent_core.runtime.policy import policy_of

    lonely = Agent("x", "X", "p", ())
    assert {policy_of(lonely, status).next_action for status in Status} <= {
        "use_result",
        "use_partial",
        "fallback_to_direct_tools",
        "stop_and_report",
    }
