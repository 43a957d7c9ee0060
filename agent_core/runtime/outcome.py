"""How a delegation ended, and the one result object that the supervisor gets of it (guide "presets", 4)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.runtime.guards import made_calls
from agent_core.runtime.policy import Next
from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.run import Ended
from agent_core.runtime.team import Agent, Status, Team
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

    def to_json(self) -> dict[str, Any]:
        """As kept in a row's meta."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "called": list(self.called)
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Outcome":
        """What `to_json` gave."""
        return cls(**data | {"status": Status(data["status"]), "called": tuple(data["called"])})


def outcome_of(ended: Ended, output_chars: int) -> Outcome:
    """The outcome of a run that came to its end: a round limit is an error, blank text is empty (SUB-14)."""
    text, cut = clip(ended.text, output_chars)
    facts = {"rounds": ended.rounds, "called": ended.called, "result_truncated": cut}
    if ended.reason == "over_budget":
        return Outcome(Status.OVER_BUDGET, result=text, error="limits.usd reached", **facts)  # type: ignore[arg-type]
    if ended.reason != "done":
        return Outcome(Status.ERROR, error=ended.reason, partial=text, **facts)  # type: ignore[arg-type]
    status = Status.COMPLETED if text else Status.EMPTY
    return Outcome(status, result=text, **facts)  # type: ignore[arg-type]


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
) -> ToolOutput:
    """The result object of a delegation, and what restrict.py reads of it."""
    body = {
        "agent": agent.id,
        "status": outcome.status,
        "result": outcome.result,
        "data": None,
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
    delegation = {
        "agent": agent.id,
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
