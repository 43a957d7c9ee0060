"""Delegating to a sub-agent: a tool of the supervisor that runs a child session (SUB-1 … SUB-16).

The child `<session>/<call id>` has a transcript of its own; each attempt (retry, fallback model) is
a child of its own number. An attempt's outcome is stored in its last row, so a restart pays no
finished call again and repeats no attempt. The result object and the policy follow guide "presets",
4; what the policy decides is enforced by restrict.py.
"""

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_core.errors import ModelError, ModelTimeout
from agent_core.events import AgentFinished, AgentStarted
from agent_core.models.tokens import of_text
from agent_core.ports import Journal, Model
from agent_core.runtime.asking import waited
from agent_core.runtime.guards import made_calls
from agent_core.runtime.loop import run_agent, usage_meta, used
from agent_core.runtime.policy import Next, decide
from agent_core.runtime.restrict import DELEGATE, rounds
from agent_core.runtime.run import Ended, Run
from agent_core.runtime.team import Agent, Status, Team
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool
from agent_core.types import (
    ArtifactRef,
    NewRow,
    Row,
    RowKind,
    ToolResult,
    Usage,
    assistant,
    user,
)

CUT_CONTEXT = "[… earlier part left out]\n"
CUT_RESULT = "\n[… result cut]"

ModelFor = Callable[[str], Model]


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


def delegate_tools(
    team: Team, parent: Run, registry: Registry, model_for: ModelFor
) -> list[ToolSpec]:
    """One tool for each sub-agent, in the preset's order."""
    everybody = asyncio.Semaphore(team.delegation.max_parallel)
    return [
        _delegate_tool(_Desk(team, agent, parent, registry, model_for, everybody))
        for agent in team.agents.values()
    ]


@dataclass(slots=True)
class _Desk:
    """What the delegations to one agent share within a turn."""

    team: Team
    agent: Agent
    parent: Run
    registry: Registry
    model_for: ModelFor
    everybody: asyncio.Semaphore
    copies: asyncio.Semaphore | None = None

    def slot(self) -> asyncio.Semaphore:
        """The agent's own bound on copies."""
        if self.copies is None:
            self.copies = asyncio.Semaphore(self.agent.concurrency)
        return self.copies


def _delegate_tool(desk: _Desk) -> ToolSpec:
    agent = desk.agent

    async def delegate(ctx: ToolContext, task: str, context: str = "") -> ToolOutput:
        """Delegate.

        Args:
            task: What to do, complete in itself: the agent sees nothing of this conversation.
            context: Facts the agent needs, such as results of other agents.
        """
        await _check_count(desk)
        async with desk.everybody, desk.slot():
            return await _delegate(desk, ctx, task, context)

    # The tool keeps its own deadline (limits.time), and resumes by its child's rows, so it may run again.
    title = {language: agent.display(language) for language in ("en", "zh")}
    made = tool(title=title, timeout=math.inf)(delegate)
    description = f"Delegate to {agent.role}. {agent.description}".strip()
    return replace(made, name=f"{DELEGATE}{agent.id}", description=description)


async def _check_count(desk: _Desk) -> None:
    calls = made_calls(await desk.parent.journal.rows(), desk.parent.journal.turn_id)
    made = sum(call.name.startswith(DELEGATE) for call in calls)
    if made > desk.team.delegation.max_delegations:
        raise ToolFailure(
            f"No more delegations: the limit of {desk.team.delegation.max_delegations} in a turn is reached."
        )


async def _delegate(desk: _Desk, ctx: ToolContext, task: str, context: str) -> ToolOutput:
    agent, emit = desk.agent, desk.parent.emit
    emit(AgentStarted(agent.id, agent.display(ctx.language), task, ctx.call_id))
    attempt, model = 0, ""
    spent = Usage()
    artifacts: tuple[ArtifactRef, ...] = ()
    while True:
        name = ctx.call_id if attempt == 0 else f"{ctx.call_id}.{attempt}"
        child = desk.parent.journal.child(name, agent.id)
        outcome = await _attempt(desk, child, task, context, model)
        rows = await child.rows()
        spent += used(rows, child.turn_id)
        artifacts += tuple(a for a in _artifacts(rows) if a not in artifacts)
        attempt += 1
        decision = decide(agent, outcome.status, attempt, used_fallback_model=bool(model))
        if isinstance(decision, Next):
            break
        await desk.parent.sleep(decision.backoff)
        model = decision.model or model
    emit(AgentFinished(agent.id, ctx.call_id, outcome.status, outcome.elapsed, decision.action))
    return _report(desk, outcome, decision, spent, attempt, artifacts)


async def _attempt(desk: _Desk, child: Journal, task: str, context: str, model: str) -> Outcome:
    rows = list(await child.rows())
    if rows and "outcome" in rows[-1].meta:
        return Outcome.from_json(rows[-1].meta["outcome"])
    cut = False
    if not rows:
        text, cut = _brief(desk.agent, task, context)
        first = NewRow(RowKind.USER, user(text), ref="task", meta={"context_truncated": cut})
        rows = list(await child.append([first]))
    run = _child_run(desk, child, model)
    # Only time in which the agent could work counts: no restart, and no waiting for a person (DESIGN.md 4).
    before = max(0.0, (rows[-1].at - rows[0].at).total_seconds() - waited(rows))
    began = run.clock.monotonic()
    outcome, last = await _guarded(run, max(0.0, desk.agent.limits.time - before), before)
    outcome = replace(
        outcome,
        elapsed=round(before + run.clock.monotonic() - began, 3),
        context_truncated=bool(rows[0].meta.get("context_truncated")),
    )
    await _close(child, outcome, last)
    return outcome


def _child_run(desk: _Desk, child: Journal, fallback_model: str) -> Run:
    agent, parent = desk.agent, desk.parent
    name = fallback_model or agent.model
    model = parent.model if name == "auto" else desk.model_for(name)
    tools = {n: s for n in sorted(set(agent.tools)) if (s := desk.registry.get(n))}
    return replace(
        parent,
        agent=agent,
        journal=child,
        model=model,
        tools=tools,
        label=agent.id,
        streamed="",
        intents=set(),
        granted={},
        deadline=parent.clock.monotonic() + agent.limits.time,
    )


async def _guarded(run: Run, seconds: float, before: float) -> tuple[Outcome, Ended | None]:
    """Run the agent; every end is an outcome. Cancellation, Fenced and Reload pass through."""
    run.deadline = run.clock.monotonic() + seconds
    limits = run.agent.limits
    try:
        async with asyncio.timeout(seconds):
            ended = await run_agent(run)
    except TimeoutError:
        return await _broken(run, Status.TIMEOUT, f"limits.time {limits.time:g}s reached"), None
    except ModelTimeout as e:
        return await _broken(run, Status.TIMEOUT, f"model {e.phase} time-out {e.seconds:g}s"), None
    except ModelError as e:
        return await _broken(run, Status.ERROR, type(e).__name__), None
    return _outcome(ended, limits.output_chars), ended


async def _broken(run: Run, status: Status, error: str) -> Outcome:
    rows = await run.journal.rows()
    turn = run.journal.turn_id
    return Outcome(
        status,
        error=error,
        partial=run.streamed.strip(),
        rounds=rounds(rows, turn),
        called=_names(rows, turn),
    )


def _names(rows: Sequence[Row], turn: int) -> tuple[str, ...]:
    return tuple(call.name for call in made_calls(rows, turn))


def _outcome(ended: Ended, output_chars: int) -> Outcome:
    text, cut = _clip(ended.text, output_chars)
    facts = {"rounds": ended.rounds, "called": ended.called, "result_truncated": cut}
    if ended.reason == "over_budget":
        return Outcome(Status.OVER_BUDGET, result=text, error="limits.usd reached", **facts)  # type: ignore[arg-type]
    if ended.reason != "done":
        return Outcome(Status.ERROR, error=ended.reason, partial=text, **facts)  # type: ignore[arg-type]
    status = Status.COMPLETED if text else Status.EMPTY
    return Outcome(status, result=text, **facts)  # type: ignore[arg-type]


async def _close(child: Journal, outcome: Outcome, last: Ended | None) -> None:
    """Store the last message with the outcome; unanswered calls of a broken run stay as they are: nobody reads on."""
    meta: dict[str, Any] = {"outcome": outcome.to_json()}
    if last is None or last.message is None:
        note = NewRow(RowKind.NOTE, user(f"[{outcome.status}: {outcome.error}]"), meta=meta)
        await child.append([note])
        return
    message = last.message if last.text else assistant("(no answer)")
    row = NewRow(
        RowKind.ASSISTANT, message, ref=last.model, meta=meta | usage_meta(last.last_usage)
    )
    await child.append([row], usage=last.last_usage, model=last.model)


def _brief(agent: Agent, task: str, context: str) -> tuple[str, bool]:
    """The task with its context, whose oldest part is cut to `limits.input_tokens` (SUB-6)."""
    if agent.context == "task_only" or not context.strip():
        return task, False
    head = f"{task}\n\nContext:\n"
    room = max(0, agent.limits.input_tokens - of_text(head))
    if of_text(context) <= room:
        return head + context, False
    keep = len(context)
    while keep > 0 and of_text(context[-keep:]) > room:
        keep = keep * 9 // 10
    return head + CUT_CONTEXT + context[len(context) - keep :], True


def _clip(text: str, limit: int) -> tuple[str, bool]:
    """At most `limit` characters, the marker included (SUB-6)."""
    if len(text) <= limit:
        return text, False
    return text[: limit - len(CUT_RESULT)] + CUT_RESULT, True


def _artifacts(rows: Sequence[Row]) -> list[ArtifactRef]:
    return [
        artifact
        for row in rows
        if row.kind is RowKind.RESULT
        for block in row.message.blocks
        if isinstance(block, ToolResult)
        for artifact in block.artifacts
    ]


def _report(
    desk: _Desk,
    outcome: Outcome,
    decision: Next,
    spent: Usage,
    attempts: int,
    artifacts: tuple[ArtifactRef, ...],
) -> ToolOutput:
    body = {
        "agent": desk.agent.id,
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
        "preset": f"{desk.team.name}@sha256:{desk.team.digest[:12]}",
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
        body["partial"] = _clip(outcome.partial, desk.agent.limits.output_chars)[0]
    delegation = {
        "agent": desk.agent.id,
        "status": outcome.status,
        "next_action": decision.action,
        "fallback_tools": list(decision.fallback_tools),
        "attempts": attempts,
    }
    content = json.dumps(body, ensure_ascii=False)
    return ToolOutput(content, artifacts=artifacts, meta={"delegation": delegation})


def cancelled_result(agent: str) -> str:
    """The result object of a delegation that the person stopped (SUB-7)."""
    body = {
        "agent": agent,
        "status": Status.CANCELLED,
        "result": "",
        "error": "stopped by the person",
        "policy": {"next_action": "stop_and_report", "reason": "cancelled", "retryable": False},
    }
    return json.dumps(body)
