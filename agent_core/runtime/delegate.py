"""Delegating to a sub-agent: a tool of the supervisor that runs a child session (SUB-1 … SUB-16).

The child `<session>/<call id>` has a transcript of its own; each attempt (retry, fallback model) is
a child of its own number. An attempt's outcome is stored in its last row, so a restart pays no
finished call again and repeats no attempt. The result object and the policy follow guide "presets",
4; what the policy decides is enforced by restrict.py.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_core.errors import BudgetExceeded, ModelError, ModelTimeout
from agent_core.events import AgentFinished, AgentStarted
from agent_core.models.tokens import of_text
from agent_core.ports import Journal, Model
from agent_core.runtime.asking import waited
from agent_core.runtime.guards import made_calls
from agent_core.runtime.loop import run_agent, usage_meta, used
from agent_core.runtime.outcome import Outcome, outcome_of, report
from agent_core.runtime.policy import Next, decide
from agent_core.runtime.restrict import DELEGATE, rounds
from agent_core.runtime.run import Ended, Run
from agent_core.runtime.team import Agent, Status, Team
from agent_core.runtime.watchdog import Stalled, watched
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

ModelFor = Callable[[str], Model]


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
    return report(desk.team, desk.agent, outcome, decision, spent, attempt, artifacts)


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
        view=None,
        prefix=None,
        compacted=[],
        intents=set(),
        granted={},
        deadline=parent.clock.monotonic() + agent.limits.time,
    )


async def _guarded(run: Run, seconds: float, before: float) -> tuple[Outcome, Ended | None]:
    """Run the agent; every end is an outcome. Cancellation, Fenced and Reload pass through."""
    run.deadline = run.clock.monotonic() + seconds
    limits = run.agent.limits
    try:
        async with asyncio.timeout(seconds), watched(run):
            ended = await run_agent(run)
    except TimeoutError:
        return await _broken(run, Status.TIMEOUT, f"limits.time {limits.time:g}s reached"), None
    except Stalled as e:
        return await _broken(run, Status.TIMEOUT, str(e)), None
    except BudgetExceeded as e:
        why = "limits.usd reached" if e.pot == "run" else str(e)
        return await _broken(run, Status.OVER_BUDGET, why), None
    except ModelTimeout as e:
        return await _broken(run, Status.TIMEOUT, f"model {e.phase} time-out {e.seconds:g}s"), None
    except ModelError as e:
        return await _broken(run, Status.ERROR, type(e).__name__), None
    return outcome_of(ended, limits.output_chars), ended


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


async def _close(child: Journal, outcome: Outcome, last: Ended | None) -> None:
    """Store the last message with the outcome; unanswered calls of a broken run stay as they are: nobody reads on."""
    meta: dict[str, Any] = {"outcome": outcome.to_json()}
    if last is None or last.message is None:
        note = NewRow(RowKind.NOTE, user(f"[{outcome.status}: {outcome.error}]"), meta=meta)
        await child.append([note])
        return
    message = last.message if last.text else assistant("(no answer)")
    row = NewRow(
        RowKind.ASSISTANT,
        message,
        ref=last.model,
        meta=meta | usage_meta(last.last_usage, last.estimate),
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


def _artifacts(rows: Sequence[Row]) -> list[ArtifactRef]:
    return [
        artifact
        for row in rows
        if row.kind is RowKind.RESULT
        for block in row.message.blocks
        if isinstance(block, ToolResult)
        for artifact in block.artifacts
    ]
