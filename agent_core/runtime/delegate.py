"""Delegating to a sub-agent: a tool of the supervisor that runs a child session (SUB-1 … SUB-16).

The child `<session>/<call id>` has a transcript of its own; each attempt (retry, fallback model) is
a child of its own number (attempt.py), one of an agent that the task was handed on to has its name.
The result object and the policy follow guide "presets", 4; what the policy decides is enforced by
restrict.py.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agent_core.events import AgentFinished, AgentStarted
from agent_core.ports import Model
from agent_core.runtime.attempt import Place, attempt
from agent_core.runtime.background import begun_in
from agent_core.runtime.flow import Halfway, Plan, filled
from agent_core.runtime.guards import made_calls
from agent_core.runtime.loop import used
from agent_core.runtime.outcome import Outcome, report
from agent_core.runtime.policy import Next, decide, nowhere, policy_of
from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.run import Run
from agent_core.runtime.team import Agent, OutputContract, Status, Team
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool
from agent_core.types import ArtifactRef, Row, RowKind, ToolResult, Usage

ModelFor = Callable[[str], Model]


def desks_of(
    team: Team, parent: Run, registry: Registry, model_for: ModelFor
) -> "dict[str, _Desk]":
    """What delegates to each sub-agent within a turn, in the preset's order."""
    everybody = asyncio.Semaphore(team.delegation.max_parallel)
    desks: dict[str, _Desk] = {}
    for agent in team.agents.values():
        own = asyncio.Semaphore(agent.concurrency)
        place = Place(agent, parent, registry, model_for)
        desks[agent.id] = _Desk(team, agent, place, everybody, own, desks)
    return desks


def delegate_tools(desks: "dict[str, _Desk]") -> list[ToolSpec]:
    """One tool for each sub-agent."""
    return [_delegate_tool(desk) for desk in desks.values()]


def plan_of(team: Team, desks: "dict[str, _Desk]") -> Plan | None:
    """The inputs and the fixed steps of a turn, None where the preset has neither."""
    if not team.flow and not team.inputs:
        return None
    language = next((d.place.parent.person.language for d in desks.values()), "en")
    agents = team.agents.items()
    return Plan(
        team.flow,
        team.inputs,
        tool=lambda agent, item, model: _delegate_tool(
            replace(_with_item(desks[agent], item), model=model)
        ),
        titles={name: agent.display(language) for name, agent in agents},
        handed={name: agent.from_agents for name, agent in agents},
        halfway={name: _halfway(agent) for name, agent in agents},
    )


def _halfway(agent: Agent) -> Halfway:
    policy = policy_of(agent, Status.PARTIAL)
    other = policy.fallback_model
    return Halfway(
        policy.next_action,
        policy.say,
        retries=policy.max_retries if policy.retryable else 0,
        backoff=policy.backoff,
        fallback_model="" if other is None or other == agent.model else other,
        fallback_tools=policy.fallback_tools,
        delegate_to=policy.delegate_to or "",
    )


@dataclass(frozen=True, slots=True)
class _Desk:
    """What the delegations to one agent share within a turn. `copies` is the agent's own bound, `desks` are all.

    `model` is the fallback model that a plan wants, "" for none.
    """

    team: Team
    agent: Agent
    place: Place
    everybody: asyncio.Semaphore
    copies: asyncio.Semaphore
    desks: "dict[str, _Desk]"
    item: str = ""
    model: str = ""


def _with_item(desk: _Desk, item: str) -> _Desk:
    """The desk for one item of a plan's `for_each`, which prompts may name."""
    if not item:
        return desk
    agent = replace(desk.agent, prompt=filled(desk.agent.prompt, None, item))
    return replace(desk, agent=agent, place=replace(desk.place, agent=agent), item=item)


def _delegate_tool(desk: _Desk) -> ToolSpec:
    agent = desk.agent

    async def delegate(ctx: ToolContext, task: str, context: str = "") -> ToolOutput:
        """Delegate.

        Args:
            task: What to do, complete in itself: the agent sees nothing of this conversation.
            context: Facts the agent needs, such as results of other agents.
        """
        await _check_count(desk, ctx.call_id)
        return await _delegate(desk, ctx, task, context)

    # The tool keeps its own deadline (limits.time), and resumes by its child's rows, so it may run again.
    title = {language: agent.display(language) for language in ("en", "zh")}
    made = tool(title=title, timeout=math.inf)(delegate)
    description = f"Delegate to {agent.role}. {agent.description}".strip()
    return replace(made, name=f"{DELEGATE}{agent.id}", description=description)


async def _check_count(desk: _Desk, call_id: str) -> None:
    """Of calls that are made together, those that come last are too many."""
    calls = made_calls(await desk.place.parent.journal.rows(), desk.place.parent.journal.turn_id)
    made = [call.id for call in calls if call.name.startswith(DELEGATE)]
    if call_id in made and made.index(call_id) >= desk.team.delegation.max_delegations:
        raise ToolFailure(
            f"No more delegations: the limit of {desk.team.delegation.max_delegations} in a turn is reached."
        )


@dataclass(slots=True)
class _Work:
    """One delegation as it goes from attempt to attempt, and from agent to agent."""

    ctx: ToolContext
    task: str
    context: str
    spent: Usage = field(default_factory=Usage)
    attempts: int = 0
    child: str = ""
    artifacts: tuple[ArtifactRef, ...] = ()
    before: list[dict[str, str]] = field(default_factory=list)
    tasks: tuple[str, ...] = ()

    def taken(self, child: str, rows: Sequence[Row], turn: int, contract: OutputContract) -> None:
        """Count an attempt that has ended."""
        self.child = child
        self.attempts += 1
        self.spent += used(rows, turn)
        self.tasks += tuple(id_ for id_ in begun_in(rows) if id_ not in self.tasks)
        self.artifacts += tuple(a for a in _files(rows, contract) if a not in self.artifacts)


async def _delegate(desk: _Desk, ctx: ToolContext, task: str, context: str) -> ToolOutput:
    """Delegate, and hand the task on where the policy says `delegate_to`: that needs no model, so none is asked."""
    work = _Work(ctx, task, context)
    while True:
        outcome, decision = await _worked(desk, work)
        passed = {entry["agent"] for entry in work.before} | {desk.agent.id}
        target = desk.desks.get(decision.delegate_to or "")
        if target is None or target.agent.id in passed:
            break
        failed = {"agent": desk.agent.id, "status": outcome.status, "error": outcome.error}
        work.before.append(failed)
        desk = _with_item(target, desk.item)
    return report(
        desk.team,
        desk.agent,
        outcome,
        nowhere(decision),
        work.spent,
        work.attempts,
        work.artifacts,
        work.child,
        work.before,
        work.tasks,
    )


async def _worked(desk: _Desk, work: _Work) -> tuple[Outcome, Next]:
    """Attempt after attempt by one agent, until its policy says what comes next."""
    agent, emit, ctx = desk.agent, desk.place.parent.emit, work.ctx
    async with desk.copies, desk.everybody:
        emit(AgentStarted(agent.id, agent.display(ctx.language), work.task, ctx.call_id))
        ended, model = 0, desk.model
        first = f"{ctx.call_id}.{agent.id}" if work.before else ctx.call_id
        while True:
            name = first if ended == 0 else f"{first}.{ended}"
            child = desk.place.parent.journal.child(name, agent.id)
            outcome = await attempt(desk.place, child, work.task, work.context, model)
            work.taken(name, await child.rows(), child.turn_id, agent.output)
            ended += 1
            decision = decide(agent, outcome.status, ended, used_fallback_model=bool(model))
            if isinstance(decision, Next):
                break
            await desk.place.parent.sleep(decision.backoff)
            model = decision.model or model
        emit(AgentFinished(agent.id, ctx.call_id, outcome.status, outcome.elapsed, decision.action))
    return outcome, decision


def _files(rows: Sequence[Row], contract: OutputContract) -> list[ArtifactRef]:
    """Files that the tools of an attempt made, as far as its contract attaches them."""
    return [
        artifact
        for row in rows
        if row.kind is RowKind.RESULT
        for block in row.message.blocks
        if isinstance(block, ToolResult)
        and (contract.attach is None or block.name in contract.attach)
        for artifact in block.artifacts
    ]
