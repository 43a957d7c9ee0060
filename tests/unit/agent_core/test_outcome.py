"""Each status of a delegation by each next action, as the person sees it, and the result object (guide "presets", 4).

A PARTIAL status comes of fixed plans alone (parallel, debate, for_each): no single delegation ends so.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent_core.errors import ModelOverloaded
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.outcome import Outcome, cancelled_result, outcome_of
from agent_core.runtime.output import Verdict
from agent_core.runtime.remarks import doubts
from agent_core.runtime.run import Ended
from agent_core.runtime.team import NextAction, OutputContract, Policy, Status
from agent_core.types import ToolResult, Usage, assistant
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import TOOLS, House, on_sqlite, until

FALLBACK: NextAction = "fallback_to_direct_tools"
ACTIONS: tuple[NextAction, ...] = (
    "use_result", "use_partial", FALLBACK, "stop_and_report", "delegate_to", "ask_user",
)  # fmt: skip
PAID = Usage(100, 20, 0, 0, 0.01)
PAY = Answer(calls=(call("pay", "p1", to="bob", amount=3),))

HOW = {
    Status.COMPLETED: ["found it"],
    Status.EMPTY: [Answer("  ")],
    Status.INVALID_OUTPUT: ["no JSON at all"],
    Status.TIMEOUT: [Answer("late", delay=30)],
    Status.ERROR: [Answer(error=ModelOverloaded("p"))],
    Status.OVER_BUDGET: [
        Answer("half of it", calls=(call("echo", "e9", words="its own"),), usage=PAID)
    ],
    Status.DENIED: [PAY, "could not pay"],
}
SEEN = {
    Status.COMPLETED: "",
    Status.EMPTY: "_Not complete: Market researcher brought no result._",
    Status.INVALID_OUTPUT: "_Not complete: Market researcher gave an answer that does not hold up._",
    Status.TIMEOUT: "_Not complete: Market researcher ran out of time._",
    Status.ERROR: "_Not complete: Market researcher failed._",
    Status.OVER_BUDGET: "_Not complete: Market researcher ran out of budget._",
    Status.DENIED: "_Not complete: Market researcher was refused._",
}
LIMITS = {Status.TIMEOUT: {"time": 0.3}, Status.OVER_BUDGET: {"usd": 0.005}}


def reported(request: ModelRequest) -> dict[str, object]:
    for message in reversed(request.messages):
        for block in message.blocks:
            if isinstance(block, ToolResult) and block.name == "delegate_to_research":
                return json.loads(block.content)  # type: ignore[no-any-return]
    raise AssertionError("no delegation was reported")


def follows(action: str) -> list[Answer | str]:
    """What a supervisor does that first tries more than it may, then obeys."""
    tries = Answer(calls=(call("order", "o1"), call("echo", "e1")))
    asks = Answer(calls=(call("ask_user", "q1", question="How shall I go on?"),))
    return {
        "use_result": ["the answer"],
        "use_partial": ["the answer"],
        FALLBACK: [tries, "by hand"],
        "stop_and_report": [tries, "stopped here"],
        "delegate_to": ["the answer"],
        "ask_user": [tries, asks, "as you say"],
    }[action]


class Script:
    """Answers each agent from its own list."""

    def __init__(self, status: Status, action: str) -> None:
        self.left: dict[str, list[Answer | str]] = {
            "supervisor": [Answer(calls=(delegate("research", "look it up"),)), *follows(action)],
            "research": list(HOW[status]),
            "analysis": ["analysis found it"],
        }

    async def __call__(self, request: ModelRequest) -> Answer | str:
        name = request.system.split(".")[0].removeprefix("You are ")
        return self.left[name].pop(0)


@asynccontextmanager
async def opened(db: Database, status: Status, action: NextAction) -> AsyncIterator[House]:
    policy = Policy(action, fallback_tools=("echo",), delegate_to="analysis", say="Mind this.")
    research = agent(
        "research",
        ("echo", "pay"),
        role="Market researcher",
        policy={status: policy},
        limits=LIMITS.get(status, {}),
        output=OutputContract(
            "json" if status is Status.INVALID_OUTPUT else "markdown", max_repairs=0
        ),
    )
    lead = agent(tools=(*TOOLS, "ask_user"))
    the_team = team(lead, research, agent("analysis"))
    async with House(db, ScriptedModel(Script(status, action)), the_team=the_team) as it:
        await it.say("go")
        await it.quiet()
        if status is Status.DENIED:
            await it.press("no:1")
            await it.quiet()
        yield it


@on_sqlite
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", HOW)
async def test_each_status_leads_where_its_policy_says(
    db: Database, status: Status, action: NextAction
) -> None:
    """SUB-9, SUB-10; what is refused is refused at execution, whatever the model tries."""
    async with opened(db, status, action) as it:
        done = [name for name, words in it.tools.calls if words != "its own"]
        if action == "ask_user":
            assert done == []
            assert "How shall I go on?" in it.channel.texts("1")[-1]
            await it.say("skip it")
            await it.quiet()
        body = reported(it.model.requests[-1])
        shown = it.channel.texts("1")
        if action == "delegate_to":
            assert "the answer" in shown
            assert (body["agent"], body["status"]) == ("analysis", "completed")
            assert body["result"] == "analysis found it"
            [before] = body["handed_over_by"]  # type: ignore[misc]
            assert (before["agent"], before["status"]) == ("research", status)
            return
        words = follows(action)[-1]
        assert f"{words}\n\n{SEEN[status]}".strip() in shown
        assert (body["agent"], body["status"]) == ("research", status)
        assert body["policy"]["next_action"] == action  # type: ignore[index]
        assert body["policy"]["instruction"].endswith("Mind this.")  # type: ignore[index]
        assert done == (["echo"] if action == FALLBACK else [])


@on_sqlite
@pytest.mark.parametrize(
    ("status", "result", "partial", "error"),
    [
        (Status.COMPLETED, "found it", None, None),
        (Status.EMPTY, "", None, None),
        (Status.INVALID_OUTPUT, "", "no JSON at all", "no valid JSON"),
        (Status.TIMEOUT, "", None, "limits.time 0.3s reached"),
        (Status.ERROR, "", None, "ModelOverloaded"),
        (Status.OVER_BUDGET, "", "half of it", "limits.usd reached"),
        (Status.DENIED, "", "could not pay", "pay was denied"),
    ],
)
async def test_what_there_is_goes_with_each_status(
    db: Database, status: Status, result: str, partial: str | None, error: str | None
) -> None:
    """SUB-9, SUB-14: words that are no result are kept apart from one."""
    async with opened(db, status, "use_partial") as it:
        body = reported(it.model.requests[-1])
    assert body["result"] == result
    assert body.get("partial") == partial
    assert error is None or error in str(body["error"])
    assert body["data"] is None


@on_sqlite
async def test_a_person_who_stops_reaches_the_sub_agents_running_tool(db: Database) -> None:
    """SUB-7: the tool itself is cancelled; the next turn finds the status `cancelled`, never a retry."""
    retry = Policy("use_partial", retryable=True, max_retries=3)
    research = agent("research", ("slow",), policy={Status.CANCELLED: retry})
    script = [
        Answer(calls=(delegate("research", "look"),)),
        Answer(calls=(call("slow", "s1", seconds=60.0),)),
        "next turn",
    ]
    async with House(db, script, the_team=team(agent(), research)) as it:
        await it.say("go")
        await until(lambda: it.tools.running == 1)
        await it.say("/stop")
        await it.quiet()
        assert it.tools.calls == []
        assert "Stopped." in it.channel.texts("1")[-1]
        assert len(it.model.requests) == 2
        await it.ask("what now?")
        body = reported(it.model.requests[-1])
    assert body["status"] == "cancelled"
    assert body["policy"] == {
        "next_action": "stop_and_report", "reason": "cancelled", "retryable": False,
    }  # fmt: skip


@on_sqlite
@pytest.mark.parametrize(("language", "line"), [
    ("en", "_Not complete: Analyst failed._"),
    ("zh", "_未得到完整结果：分析师出错。_"),
])  # fmt: skip
async def test_one_failed_analyst_of_two_gives_a_partial_answer_that_says_so(
    db: Database, language: str, line: str
) -> None:
    both = (delegate("research", "a", "d1"), delegate("analysis", "b", "d2"))

    async def script(request: ModelRequest) -> Answer | str:
        if "research" in request.system:
            return "research found it"
        if "analysis" in request.system:
            return Answer(error=ModelOverloaded("p"))
        return "只有一半" if len(request.messages) > 2 else Answer(calls=both)

    title = {"en": "Analyst", "zh": "分析师"}
    use = {Status.ERROR: Policy("use_partial")}
    the_team = team(agent(), agent("research"), agent("analysis", title=title, policy=use))
    async with House(db, script, the_team=the_team) as it:
        shown = (await it.ask("go" if language == "en" else "开始分析吧"))[-1]
    assert shown == f"只有一半\n\n{line}"


@on_sqlite
@pytest.mark.parametrize(
    "said",
    [
        "The market researcher did not answer.",
        "> research ran out",
        "`research` failed",
        "**research**: none",
    ],
)
async def test_an_answer_that_names_the_failed_agent_is_not_told_twice(
    db: Database, said: str
) -> None:
    script = [Answer(calls=(delegate("research"),)), Answer(" "), said]
    lone = agent("research", role="Market researcher", policy={Status.EMPTY: Policy("use_partial")})
    async with House(db, script, the_team=team(agent(), lone)) as it:
        assert (await it.ask("go"))[-1] == said


@on_sqlite
async def test_an_agent_that_did_its_work_when_asked_again_lacks_nothing(db: Database) -> None:
    script = [
        Answer(calls=(delegate("research", "a", "d1"),)),
        Answer(" "),
        Answer(calls=(delegate("research", "again", "d2"),)),
        "found it",
        "all of it",
    ]
    lone = agent("research", policy={Status.EMPTY: Policy("use_partial")})
    async with House(db, script, the_team=team(agent(), lone)) as it:
        assert (await it.ask("go"))[-1] == "all of it"


@on_sqlite
async def test_an_approval_that_expires_is_a_denied_delegation(db: Database) -> None:
    """Guide "presets" 4: an approval expired."""
    script = [Answer(calls=(delegate("research"),)), PAY, "nobody answered", "so it ends"]
    async with House(
        db, script, the_team=team(agent(), agent("research", ("pay",))), still=True
    ) as it:
        await it.say("go")
        await it.quiet()
        it.move(3_601)
        await until(lambda: len(it.model.requests) == 4)
        await it.quiet()
        body = reported(it.model.requests[-1])
    assert (body["status"], body["error"]) == ("denied", "the approval of pay expired")
    assert body["policy"]["next_action"] == "stop_and_report"  # type: ignore[index]


@on_sqlite
async def test_a_call_that_is_allowed_in_the_end_is_not_denied(db: Database) -> None:
    again = Answer(calls=(call("pay", "p2", to="bob", amount=1),))
    script = [Answer(calls=(delegate("research"),)), PAY, again, "paid less", "so it is"]
    async with House(db, script, the_team=team(agent(), agent("research", ("pay",)))) as it:
        await it.say("go")
        await it.quiet()
        await it.press("no:1")
        await it.quiet()
        await it.press("ok:2")
        await it.quiet()
        assert reported(it.model.requests[-1])["status"] == "completed"


# Pure ---------------------------------------------------------------------------------------------


def ended(text: str, reason: str = "done", verdict: Verdict | None = None) -> Ended:
    more = {} if verdict is None else {"verdict": verdict}
    return Ended(reason, assistant(text), Usage(), Usage(), "m", 1, (), **more)  # type: ignore[arg-type]


def test_a_contract_that_does_not_hold_is_no_completed_run() -> None:
    """Defect 12 in another dress."""
    broken = Verdict({"a": 1}, faults=("/a: no",), complaints=("not found: 9",))
    found = outcome_of(ended("{}", verdict=broken), 100)
    assert (found.status, found.error) == (Status.INVALID_OUTPUT, "/a: no; not found: 9")
    assert (found.result, found.data, found.partial) == ("", None, "{}")


def test_data_that_hold_go_with_their_words_for_people() -> None:
    found = outcome_of(ended('{"a": 1}', verdict=Verdict({"a": 1}, "- **a**: 1")), 100)
    assert (found.status, found.result, found.data) == (Status.COMPLETED, "- **a**: 1", {"a": 1})
    assert Outcome.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("reason", ["round_limit", "call_limit", "doom_loop", "max_tokens"])
def test_a_limit_is_an_error_with_its_name(reason: str) -> None:
    """SUB-14."""
    found = outcome_of(ended("so far", reason), 100)
    assert (found.status, found.error, found.partial) == (Status.ERROR, reason, "so far")


def test_a_cancelled_result_says_why() -> None:
    body = json.loads(cancelled_result("research", "the person stopped this turn"))
    assert (body["status"], body["error"]) == ("cancelled", "the person stopped this turn")


def test_a_doubtful_answer_is_told_in_both_languages() -> None:
    verdict = Verdict(
        faults=("x",), numbers=("1%", "2", "3", "4", "5", "6"), citation="none", complaints=("y",)
    )
    english, chinese = doubts(verdict, "en"), doubts(verdict, "zh")
    assert "no tool result holds these numbers: 1%, 2, 3, 4, 5 …." in english
    assert "以下数字未见于工具结果：1%、2、3、4、5……" in chinese
    assert "form" in english
    assert "来源" in chinese
    assert doubts(Verdict(), "en") == ""
