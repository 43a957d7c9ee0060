"""How a delegation ended, and the one result object that the supervisor gets of it (guide "presets", 4)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.runtime.guards import made_calls
from agent_core.runtime.output import read, render
from agent_core.runtime.policy import Next
from agent_core.runtime.rehearsal import Staged
from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.run import Ended
from agent_core.runtime.team import Agent, Status, Team
from agent_core.tools.ask import ASK_USER
from agent_core.tools.spec import ToolOutput
from agent_core.types import (
    ArtifactRef,
    Message,
    NewRow,
    Row,
    RowKind,
    ToolResult,
    ToolUse,
    Usage,
)

CUT_RESULT = "\n[… result cut]"
_NOT_ALLOWED = {"denied": "{tool} was denied", "expired": "the approval of {tool} expired"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt ended; JSON in the last row of its child session."""

    status: Status
    result: str = ""
    error: str = ""
    partial: str = ""
    elapsed: float = 0.0
    rounds: int = 0
    called: tuple[str, ...] = ()
    context_truncated: bool = False
    result_truncated: bool = False
    data: Any = None

    def to_json(self) -> dict[str, Any]:
        """As kept in a row's meta."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "called": list(self.called)
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Outcome":
        """What `to_json` gave."""
        return cls(**data | {"status": Status(data["status"]), "called": tuple(data["called"])})


def outcome_of(ended: Ended, output_chars: int, denied: str = "") -> Outcome:
    """The outcome of a run that came to its end: a round limit is an error, blank text is empty (SUB-14).

    `denied` names the call that a person or a rule did not allow. Words of a run that did not bring what was asked for
    are kept as `partial`, never as its result.
    """
    text, cut = clip(ended.verdict.shown or ended.text, output_chars)
    status, error = _judged(ended, denied)
    done = status in {Status.COMPLETED, Status.EMPTY}
    return Outcome(
        status,
        result=text if done else "",
        error=error,
        partial="" if done else text,
        rounds=ended.rounds,
        called=ended.called,
        result_truncated=cut,
        data=ended.verdict.data if done else None,
    )


def staged_outcome(staged: Staged, agent: Agent) -> Outcome:
    """The outcome of an attempt that was staged, its result held to the agent's length and read by its contract."""
    text, cut = clip(staged.result, agent.limits.output_chars)
    done = staged.status in {Status.COMPLETED, Status.PARTIAL}
    found = read(agent.output, text, agent.limits.output_chars) if done and text else None
    data = None if found is None or found.faults else found.data
    return Outcome(
        staged.status,
        result=(text if data is None else render(agent.output, data)) if done else "",
        error=staged.error or ("" if done else f"{staged.status} was staged"),
        partial="" if done else text,
        result_truncated=cut,
        data=data,
    )


def _judged(ended: Ended, denied: str) -> tuple[Status, str]:
    if ended.reason == "over_budget":
        return Status.OVER_BUDGET, "limits.usd reached"
    if denied:
        return Status.DENIED, denied
    if ended.reason != "done":
        return Status.ERROR, ended.reason
    if not ended.text:
        return Status.EMPTY, ""
    faults = (*ended.verdict.faults, *ended.verdict.complaints)
    if faults:
        return Status.INVALID_OUTPUT, "; ".join(faults)
    return Status.COMPLETED, ""


def denied_call(rows: Sequence[Row], turn_id: int) -> str:
    """Which approval this turn did not get in the end, and why; "" for none. A later yes for the same tool counts."""
    why: dict[str, str] = {}
    for row in rows:
        if row.turn_id != turn_id or row.kind is not RowKind.RESULT:
            continue
        answer = row.meta.get("answer")
        for block in row.message.blocks:
            if isinstance(block, ToolResult) and block.name != ASK_USER:
                if answer in _NOT_ALLOWED:
                    why[block.name] = _NOT_ALLOWED[answer].format(tool=block.name)
                elif answer == "approved":
                    why.pop(block.name, None)
    return "; ".join(why.values())


def clip(text: str, limit: int) -> tuple[str, bool]:
    """At most `limit` characters, the marker included (SUB-6)."""
    if len(text) <= limit:
        return text, False
    return text[: limit - len(CUT_RESULT)] + CUT_RESULT, True


def report(
    team: Team,
    agent: Agent,
    outcome: Outcome,
    decision: Next,
    spent: Usage,
    attempts: int,
    artifacts: tuple[ArtifactRef, ...],
    child: str = "",
    before: Sequence[Mapping[str, str]] = (),
    tasks: Sequence[str] = (),
) -> ToolOutput:
    """The result object of a delegation, and what restrict.py, brief.py and remarks.py read of it.

    `child` is the name of the attempt that decided; `before` are the agents that handed the task over, each with its
    `agent`, `status` and `error`. `tasks` are the ids of background tasks that nobody waits for (SUB-13).
    """
    body = {
        "agent": agent.id,
        "status": outcome.status,
        "result": outcome.result,
        "data": outcome.data,
        "usage": {
            "input_tokens": spent.total_input,
            "output_tokens": spent.output_tokens,
            "usd": spent.usd,
        },
        "elapsed": outcome.elapsed,
        "rounds": outcome.rounds,
        "tool_calls": list(outcome.called),
        "context_truncated": outcome.context_truncated,
        "result_truncated": outcome.result_truncated,
        "error": outcome.error or None,
        "preset": f"{team.name}@sha256:{team.digest[:12]}",
        "policy": {
            "next_action": decision.action,
            "retryable": decision.retryable,
            "retries_left": decision.retries_left,
            "fallback_tools": list(decision.fallback_tools),
            "delegate_to": decision.delegate_to,
            "instruction": decision.instruction,
        },
    }
    if outcome.partial:
        body["partial"] = clip(outcome.partial, agent.limits.output_chars)[0]
    if before:
        body["handed_over_by"] = list(before)
    if tasks:
        body["background_task_ids"] = list(tasks)
    delegation = {
        "agent": agent.id,
        "title": agent.title,
        "role": agent.role,
        "child": child,
        "before": [entry["agent"] for entry in before],
        "status": outcome.status,
        "next_action": decision.action,
        "fallback_tools": list(decision.fallback_tools),
        "attempts": attempts,
    }
    content = json.dumps(body, ensure_ascii=False)
    return ToolOutput(content, artifacts=artifacts, meta={"delegation": delegation})


def unanswered(rows: Sequence[Row], turn_id: int, why: str) -> list[NewRow]:
    """A result for each call of the turn that has none, for a turn that ends now (TPR-5).

    A call without an intent row has not run; of one that has, nobody knows (TGV-10).
    """
    own = [row for row in rows if row.turn_id == turn_id]
    have = {row.ref for row in own if row.kind is RowKind.RESULT}
    begun = {row.ref for row in own if row.kind is RowKind.INTENT}
    open_calls = [c for c in made_calls(own, turn_id) if c.id not in have]
    return [_aborted(call, why, begun=call.id in begun) for call in open_calls]


def _aborted(call: ToolUse, why: str, *, begun: bool) -> NewRow:
    if call.name.startswith(DELEGATE):
        content = cancelled_result(call.name.removeprefix(DELEGATE), why)
    else:
        left = "the outcome of the call is unknown" if begun else "the call was not run"
        content = f"Operation aborted: {why}; {left}."
    result = ToolResult(call.id, call.name, content, is_error=True)
    return NewRow(RowKind.RESULT, Message("user", (result,)), ref=call.id)


def cancelled_result(agent: str, why: str) -> str:
    """The result object of a delegation that ended with its turn (SUB-7)."""
    body = {
        "agent": agent,
        "status": Status.CANCELLED,
        "result": "",
        "error": why,
        "policy": {"next_action": "stop_and_report", "reason": "cancelled", "retryable": False},
    }
    return json.dumps(body)
