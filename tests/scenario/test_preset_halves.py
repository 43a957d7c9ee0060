"""The status `partial` by each way on that its policy may name, in a chat of Telegram: what is done, and what is seen.

It comes of the steps of a fixed plan of which a part failed, so each case is a preset of its own (issue "5 of 8", item
4; guide "presets", 4; the other eight statuses: test_preset_policies.py).
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call, say

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

FAILS = Turn(error=(400, "invalid_request_error", "no"))
FALLS = Turn([say("it falls")])
LACKS = "Not complete: Bear failed."
OTHER = "anthropic/claude-haiku-4-5"


@dataclass(frozen=True)
class Case:
    """One cell. `bear`: what the model says to the bear, call by call; `lacks`: what the person reads is missing."""

    name: str
    chat: int
    policy: dict[str, Any]
    bear: tuple[Turn, ...] = (FAILS,)
    lacks: str = LACKS
    supervisor: tuple[Turn, ...] = ()
    told: str = "Say in one line what is missing and why."
    status: str = "partial"
    press: str = ""
    asked: tuple[str, ...] = field(default=("bull", "bear"))

    @property
    def preset(self) -> dict[str, Any]:
        policy = {"error": {"next_action": "use_partial"}, "partial": self.policy}
        some = {"tools": [], "policy": {"error": {"next_action": "use_partial"}}}
        branches = [{"delegate": who, "task": f"{who} on {self.name}"} for who in ("bull", "bear")]
        return {
            "version": 1,
            "name": self.name,
            "supervisor": {"role": "Lead", "prompt": "L.", "tools": ["order_goods", "slow_look"]},
            "agents": {
                "bull": {"role": "Bull", "prompt": "You hope.", **some},
                "bear": {"role": "Bear", "prompt": "You fear.", **some, "policy": policy},
                "second": {"role": "Second", "prompt": "You help out.", **some},
            },
            "flow": [{"id": self.name, "parallel": branches}, {"answer": True}],
        }


BOTH = Turn([call("order_goods", {"label": "half"}), call("slow_look", {"label": "for the bear"})])
RETRY = {"retryable": True, "max_retries": 1}
CASES = [
    Case("half_use_result", 2900, {"next_action": "use_result"}, told="Write the answer"),
    Case("half_use_partial", 2901, {"next_action": "use_partial", "say": "Mind this."}),
    Case(
        "half_fallback_to_direct_tools",
        2902,
        {"next_action": "fallback_to_direct_tools", "fallback_tools": ["slow_look"]},
        supervisor=(BOTH,),
        told="Do this part yourself with `slow_look` only",
    ),
    Case(
        "half_stop_and_report",
        2903,
        {"next_action": "stop_and_report"},
        supervisor=(BOTH,),
        told="The plan ended early",
    ),
    Case(
        "half_delegate_to",
        2904,
        {"next_action": "delegate_to", "delegate_to": "second"},
        lacks="",
        told="Write the answer from these results.",
        status="completed",
        asked=("bull", "bear", "second"),
    ),
    Case("half_ask_user", 2905, {"next_action": "ask_user"}, press="1. Go on without it"),
    Case(
        "half_ask_user_who_stops",
        2906,
        {"next_action": "ask_user"},
        press="2. Stop",
        told="The plan ended early",
        status="cancelled",
    ),
    Case(
        "half_retry",
        2907,
        {"next_action": "stop_and_report", **RETRY, "backoff": "100ms"},
        bear=(FAILS, FALLS),
        lacks="",
        told="Write the answer from these results.",
        status="completed",
        asked=("bull", "bear", "bear"),
    ),
    Case(
        "half_fallback_model",
        2908,
        {"next_action": "stop_and_report", **RETRY, "fallback_model": OTHER},
        bear=(FAILS, FAILS, FALLS),
        lacks="",
        told="Write the answer from these results.",
        status="completed",
        asked=("bull", "bear", "bear", "bear"),
    ),
]


async def opened(stage: Stage) -> None:
    """The presets, and what the model says in each."""
    before = len(stage.gateway.lines)
    for case in CASES:
        file = stage.gateway.folder / "presets" / f"{case.name}.yaml"
        file.write_text(json.dumps(case.preset))
        stage.model.reply_to(f"^bull on {case.name}$", ["it rises"])
        stage.model.reply_to(f"^bear on {case.name}$", [[*case.bear, FALLS]])
        if "second" in case.asked:
            stage.model.reply_to(f"^bear on {case.name}$", [[FAILS, FALLS]])
        answers = [*case.supervisor, Turn([say(f"the answer to {case.name}")])]
        stage.model.reply_to(f"- {case.name}: ", answers)
    await stage.gateway.said("presets_reloaded", after=before)


async def went(stage: Stage, case: Case) -> str:
    """One run to its end: what the person reads."""
    stage.telegram.say(case.chat, f"/preset {case.name}")
    await stage.telegram.wait_replies(case.chat, 1, 60)
    stage.telegram.say(case.chat, "what of it?")
    if case.press:
        (_, asked) = await stage.telegram.wait_replies(case.chat, 2, 60)
        assert "Bear: no full result. Go on?" in asked.text
        stage.telegram.press(case.chat, asked.id, case.press)
    words = f"the answer to {case.name}"
    shown = lambda: next((t for t in stage.texts(case.chat) if words in t), None)  # noqa: E731
    return str(await stage.until(shown, 60))


def check(stage: Stage, case: Case, shown: str) -> None:
    """Whom the plan asked, what the supervisor was told, and what the person sees."""
    assert shown.removeprefix(f"the answer to {case.name}").strip() == case.lacks
    said = [a.said for a in stage.model.answers if a.said.endswith(f" on {case.name}")]
    assert sorted(said) == sorted(
        f"{'bear' if who == 'second' else who} on {case.name}" for who in case.asked
    )
    note = next(a.said for a in stage.model.answers if f"- {case.name}: " in a.said)
    assert f"- {case.name}: {case.status}" in note
    assert case.told in note
    assert case.policy.get("say", "") in note
    if case.told == "Write the answer":
        assert "missing and why" not in note


@pytest.mark.timeout(120)
async def test_a_step_in_part_leads_where_its_policy_says(shared: Stage) -> None:
    """Retries, then the fallback model, then the next action."""
    await opened(shared)
    async with asyncio.TaskGroup() as group:
        runs = {case.name: group.create_task(went(shared, case)) for case in CASES}
    for case in CASES:
        check(shared, case, runs[case.name].result())
    assert shared.plugin.traces("looks") == ["for the bear"]
    assert shared.plugin.traces("orders") == []
    used = [r["model"] for r in shared.requests("bear on half_fallback_model") if "system" in r]
    bears = [r for r in shared.requests("bear on half_fallback_model") if "You fear" in str(r)]
    assert [r["model"] for r in bears][-1] == OTHER.partition("/")[2]
    assert used.count(OTHER.partition("/")[2]) == 1
