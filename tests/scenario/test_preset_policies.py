"""Each status of a delegation by each next action, in a chat of Telegram: what is done, and what the person sees.

The gateway is a process, the model is at the other end of HTTP (issue "5 of 8", item 4; guide "presets", 4). The ninth
status, `partial`, comes of fixed plans alone: test_preset_halves.py.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.scenario.stage import Stage, text_of
from tests.twins.llm_script import Turn, call, say

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

ACTIONS = (
    "use_result",
    "use_partial",
    "fallback_to_direct_tools",
    "stop_and_report",
    "delegate_to",
    "ask_user",
)
HALF = [say("half of it"), call("slow_look", {"label": "its own"})]
HOW = {
    "completed": [Turn([say("found it")])],
    "empty": [Turn([say("  ")])],
    "invalid_output": [Turn([say("no JSON at all")])],
    "timeout": [Turn([say("late")], delay=60)],
    "error": [Turn(error=(400, "invalid_request_error", "no"))],
    "over_budget": [Turn(HALF, usage={"output_tokens": 20_000})],
    "denied": [Turn([call("pay", {"label": "bill"})]), Turn([say("could not pay")])],
    "cancelled": [Turn([say("late")], delay=60)],
}
SEEN = {
    "completed": "",
    "empty": "Not complete: Market researcher brought no result.",
    "invalid_output": "Not complete: Market researcher gave an answer that does not hold up.",
    "timeout": "Not complete: Market researcher ran out of time.",
    "error": "Not complete: Market researcher failed.",
    "over_budget": "Not complete: Market researcher ran out of budget.",
    "denied": "Not complete: Market researcher was refused.",
}
MORE: dict[str, dict[str, Any]] = {
    "timeout": {"limits": {"time": "2s", "tool_timeout": "2s", "idle_timeout": "2s"}},
    "over_budget": {"limits": {"usd": 0.05}},
    "invalid_output": {
        "output": {"format": "json", "schema": {"type": "object"}, "max_repairs": 0}
    },
}


@dataclass(frozen=True)
class Case:
    """One cell of the table, in a chat of its own. `name` is the agent's."""

    status: str
    action: str
    chat: int

    @property
    def name(self) -> str:
        return f"{self.status}_{self.action}"

    @property
    def agent(self) -> dict[str, Any]:
        policy: dict[str, Any] = {"next_action": self.action, "say": "Mind this."}
        if self.action == "fallback_to_direct_tools":
            policy["fallback_tools"] = ["slow_look"]
        if self.action == "delegate_to":
            policy["delegate_to"] = "second"
        return {
            "role": "Market researcher",
            "prompt": "You research.",
            "tools": ["slow_look", "pay"],
            "policy": {self.status: policy},
            **MORE.get(self.status, {}),
        }

    @property
    def follows(self) -> list[Turn]:
        """What a supervisor does that first tries more than it may, then obeys."""
        order, look = (
            call("order_goods", {"label": self.name}),
            call("slow_look", {"label": self.name}),
        )
        asks = Turn([call("ask_user", {"question": "How shall I go on?"})])
        return {
            "fallback_to_direct_tools": [Turn([order, look])],
            "stop_and_report": [Turn([order, look])],
            "ask_user": [Turn([order, look]), asks],
        }.get(self.action, [])


CASES = [
    Case(status, action, 3000 + number)
    for number, (status, action) in enumerate((s, a) for s in HOW for a in ACTIONS)
]


async def opened(stage: Stage) -> None:
    """The preset of all cases, and what the model says in each."""
    preset = {
        "version": 1,
        "name": "policies",
        "supervisor": {
            "role": "Lead",
            "prompt": "You lead.",
            "tools": ["order_goods", "slow_look", "ask_user"],
            "limits": {"time": "5m", "tool_timeout": "60s"},
        },
        "agents": {case.name: case.agent for case in CASES}
        | {"second": {"role": "Second", "prompt": "You help out.", "tools": ["slow_look"]}},
    }
    before = len(stage.gateway.lines)
    (stage.gateway.folder / "presets" / "policies.yaml").write_text(json.dumps(preset))
    await stage.gateway.said("presets_reloaded", after=before)
    for case in CASES:
        given = Turn([call(f"delegate_to_{case.name}", {"task": f"look up {case.name}"})])
        stage.model.reply_to(
            f"^go {case.name}$", [given, *case.follows, Turn([say(f"the answer to {case.name}")])]
        )
        found = Turn([say("second found it")])
        stage.model.reply_to(
            f"look up {case.name}$", [[*HOW[case.status][:1], found], *HOW[case.status][1:]]
        )


async def went(stage: Stage, case: Case) -> None:
    """One run, to its end."""
    stage.telegram.say(case.chat, "/preset policies")
    await stage.telegram.wait_replies(case.chat, 1, 60)
    stage.telegram.say(case.chat, f"go {case.name}")
    if case.status == "denied":
        (_, asked) = await stage.telegram.wait_replies(case.chat, 2, 60)
        stage.telegram.press(case.chat, asked.id, "Deny")
    if case.status == "cancelled":
        task = f"look up {case.name}"
        await stage.until(lambda: any(task in answer.said for answer in stage.model.answers))
        stage.telegram.say(case.chat, "/stop")
        await stage.until(lambda: "Stopped." in stage.texts(case.chat), 60)
        return
    if case.action == "ask_user":
        await stage.until(
            lambda: any("How shall I go on?" in t for t in stage.texts(case.chat)), 60
        )
        assert case.name not in stage.plugin.traces("looks")
        stage.telegram.say(case.chat, "skip it")
    words = f"the answer to {case.name}"
    await stage.until(lambda: any(words in t for t in stage.texts(case.chat)), 60)


def last_requests(stage: Stage) -> dict[str, dict[str, Any]]:
    """The last request of each supervisor, by the name of the case."""
    found: dict[str, dict[str, Any]] = {}
    for made in stage.model.matching(r"POST /v1/messages$"):
        content = made.params["messages"][0]["content"]
        for text in [content] if isinstance(content, str) else map(text_of, [[b] for b in content]):
            if text.startswith("go "):
                found[text.removeprefix("go ")] = made.params
    return found


def reported(request: dict[str, Any]) -> dict[str, Any]:
    """The result object of the delegation, as the supervisor reads it."""
    blocks = [
        b for m in request["messages"] if isinstance(m["content"], list) for b in m["content"]
    ]
    results = [text_of(b["content"]) for b in blocks if b["type"] == "tool_result"]
    (body,) = [json.loads(r) for r in results if r.startswith('{"agent"')]
    assert isinstance(body, dict)
    return body


def check(stage: Stage, case: Case, request: dict[str, Any]) -> None:
    """What was done, what the supervisor was told, what the person sees."""
    shown = next(t for t in stage.texts(case.chat) if f"the answer to {case.name}" in t)
    body = reported(request)
    done = case.name in stage.plugin.traces("looks")
    assert done == (case.action == "fallback_to_direct_tools")
    assert case.name not in stage.plugin.traces("orders")
    if case.action == "delegate_to":
        assert (body["agent"], body["status"]) == ("second", "completed")
        assert body["handed_over_by"][0]["status"] == case.status
        return
    assert (body["agent"], body["status"]) == (case.name, case.status)
    assert body["policy"]["next_action"] == case.action
    assert body["policy"]["instruction"].endswith("Mind this.")
    assert shown.removeprefix(f"the answer to {case.name}").strip() == SEEN[case.status]


@pytest.mark.timeout(180)
async def test_each_status_leads_where_its_policy_says(shared: Stage) -> None:
    """SUB-9, SUB-10, SUB-14, SUB-16. What a person has stopped stays stopped, whatever its policy says."""
    await opened(shared)
    async with asyncio.TaskGroup() as group:
        for case in CASES:
            group.create_task(went(shared, case))
    requests = last_requests(shared)
    for case in CASES:
        if case.status != "cancelled":
            check(shared, case, requests[case.name])
        else:
            assert len(requests[case.name]["messages"]) == 1  # nothing was asked after the stop
            assert shared.texts(case.chat)[-1] == "Stopped."
