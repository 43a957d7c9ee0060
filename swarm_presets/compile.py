"""From a checked preset to the `Team` that the runtime enforces: defaults filled in, names resolved, prompts read."""

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from agent_core.runtime.guards import SAME_CALLS
from agent_core.runtime.memories import MemoryRules, Scope
from agent_core.runtime.policy import DEFAULTS
from agent_core.runtime.team import (
    Agent,
    DataRules,
    Delegation,
    Grounding,
    Limits,
    OutputContract,
    Policy,
    Status,
    Team,
)
from swarm_presets import compile_flow, compile_schedule, prompts
from swarm_presets.aliases import Aliases
from swarm_presets.consent import ruled
from swarm_presets.expectations import require
from swarm_presets.positions import Leaf, Mapping, at, plain
from swarm_presets.pots import own_pots, run_time
from swarm_presets.references import PLACEHOLDER
from swarm_presets.routes import routed, scenes
from swarm_presets.schema import PresetFile
from swarm_presets.schema_rules import DataPart
from swarm_presets.schema_workers import (
    AgentPart,
    ContextPart,
    DelegationPart,
    GroundingPart,
    LimitsPart,
    MemoryPart,
    OutputPart,
    PoliciesPart,
    PolicyPart,
    SupervisorPart,
)

AGENT_LIMITS = Limits()
AGENT_MEMORY = MemoryRules(frozenset({"user"}), frozenset())
SUPERVISOR_MEMORY = MemoryRules()
# The supervisor waits for its agents and writes the answer; 15 rounds as in the source design (guide "presets", 10).
SUPERVISOR_LIMITS = Limits(time=600.0, tool_rounds=15, output_tokens=8_000)
_BOUNDS = tuple(field.name for field in fields(Limits))
NOW = "now"
_TOOLS = "fallback_to_direct_tools"
# Where another model may do better: not what is finished, denied, cancelled or paid out.
_MAY_SWITCH = frozenset({Status.EMPTY, Status.INVALID_OUTPUT, Status.TIMEOUT, Status.ERROR})


def compile_team(tree: Mapping) -> Team:
    """The team of a resolved preset in which no error was found. Prompt files are read here, once."""
    written = plain(tree)
    preset = PresetFile.model_validate(written)
    aliases = {name: alias for name, alias in (preset.models or {}).items() if alias}
    models = Aliases(aliases)
    lead = _supervisor(preset.supervisor or SupervisorPart(), models, tree)
    lead = _skilled(lead, preset.supervisor, preset.skills)
    same = (preset.delegation.same_call_limit if preset.delegation else None) or SAME_CALLS
    # The run lasts as long as its supervisor.
    time = min(lead.limits.time, run_time(preset.budgets))
    supervisor = replace(lead, require=require(preset.require), limits=within(lead.limits, time))
    supervisor = replace(
        _same_calls(supervisor, same), prompt=routed(supervisor.prompt, preset.routes)
    )
    agents = {
        name: _same_calls(
            _skilled(_agent(name, part, models, supervisor, tree), part, preset.skills), same
        )
        for name, part in (preset.agents or {}).items()
        if part
    }
    digest, source = _source(written, [supervisor, *agents.values()])
    team = Team(
        name=preset.name,
        digest=digest,
        source=source,
        supervisor=supervisor,
        agents=_laid_out(agents),
        delegation=_delegation(preset.delegation or DelegationPart()),
        title=preset.title or preset.name,
        description=preset.description or "",
        context_policy=preset.context_policy or "",
        flow=compile_flow.steps(preset.flow),
        inputs=compile_flow.inputs(preset.inputs),
        budget=own_pots(preset.budgets, models.name),
        models=models.uses(),
        data=_data(preset.data),
        scenes=scenes(preset.scenes),
        timed=compile_schedule.timed(preset.schedule, preset.inputs),
    )
    return ruled(team, preset.approvals)


def _supervisor(part: SupervisorPart, models: Aliases, tree: Mapping) -> Agent:
    limits = part.limits or LimitsPart()
    return Agent(
        id="supervisor",
        role=part.role or "Supervisor",
        prompt=_prompt(tree, "supervisor") or prompts.shipped(prompts.SUPERVISOR),
        tools=_names(part.tools),
        on_demand=tuple(part.tools_on_demand or ()),
        model=models.name(part.model),
        effort=models.effort(part.model),
        limits=_limits(limits, SUPERVISOR_LIMITS, SUPERVISOR_LIMITS.time),
        reads=limits.input_tokens,
        writes=limits.output_chars,
        memory=_memory(part.memory, SUPERVISOR_MEMORY),
        output=_output(part.output or OutputPart()),
        grounding=_grounding(part.grounding or GroundingPart()),
    )


def _agent(name: str, part: AgentPart, models: Aliases, supervisor: Agent, tree: Mapping) -> Agent:
    context = part.context or ContextPart()
    return Agent(
        id=name,
        role=part.role or name,
        title=part.title.model_dump(exclude_none=True) if part.title else {},
        prompt=_prompt(tree, "agents", name),
        tools=_names(part.tools),
        description=part.description or "",
        model=models.name(part.model),
        effort=models.effort(part.model),
        limits=_limits(part.limits or LimitsPart(), AGENT_LIMITS, supervisor.limits.time),
        concurrency=part.concurrency or 1,
        context=context.from_supervisor or "brief",
        from_agents=tuple(context.from_agents or ()),
        on_overflow=context.on_overflow or "keep_recent",
        memory=_memory(part.memory, AGENT_MEMORY),
        output=_output(part.output or OutputPart()),
        grounding=_grounding(part.grounding or GroundingPart()),
        policy=_spared(part, models, _policies(part.policy or PoliciesPart(), models, supervisor)),
    )


def _skilled(
    agent: Agent, part: SupervisorPart | AgentPart | None, all_of_it: Sequence[str] | None
) -> Agent:
    """With the skills that it may use: its own list, else that of the whole preset, else all."""
    own = part.skills if part and part.skills is not None else all_of_it
    return agent if own is None else replace(agent, skills=tuple(own))


def _memory(part: MemoryPart | None, default: MemoryRules) -> MemoryRules:
    """What is written over what is not; other scopes are no part of a preset that runs (SW309)."""
    if part is None:
        return default
    return MemoryRules(
        _scopes(part.read, default.read), _scopes(part.write, default.write), part.recall
    )


def _scopes(written: Sequence[str] | None, default: frozenset[Scope]) -> frozenset[Scope]:
    known: tuple[Scope, ...] = ("user", "channel", "run")
    return default if written is None else frozenset(s for s in known if s in written)


def _laid_out(agents: dict[str, Agent]) -> dict[str, Agent]:
    """With what the scope `run` of their memory hands over: the results of the others that lay theirs out."""
    writers = [name for name, agent in agents.items() if "run" in agent.memory.write]

    def others(agent: Agent) -> tuple[str, ...]:
        more = [name for name in writers if name != agent.id]
        return tuple(dict.fromkeys((*agent.from_agents, *more)))

    return {
        name: replace(agent, from_agents=others(agent)) if "run" in agent.memory.read else agent
        for name, agent in agents.items()
    }


def _output(part: OutputPart) -> OutputContract:
    default = OutputContract()
    return OutputContract(
        format=part.format or default.format,
        schema=part.schema_,
        render=part.render or "",
        max_repairs=default.max_repairs if part.max_repairs is None else part.max_repairs,
        attach=None if part.attach is None else tuple(part.attach),
    )


def _grounding(part: GroundingPart) -> Grounding:
    default = Grounding()
    return Grounding(
        numbers=part.numbers or default.numbers,
        tolerance=default.tolerance if part.tolerance is None else part.tolerance,
        citations=part.citations or default.citations,
        max_repairs=default.max_repairs if part.max_repairs is None else part.max_repairs,
    )


def _spared(
    part: AgentPart, models: Aliases, policies: dict[Status, Policy]
) -> dict[Status, Policy]:
    """The agent's own fallback model for each way to fail whose policy names none."""
    if part.fallback_model is None:
        return policies
    spare = models.name(part.fallback_model)
    return {
        status: replace(policy, fallback_model=spare)
        if status in _MAY_SWITCH and policy.fallback_model is None
        else policy
        for status, policy in policies.items()
    }


def _limits(part: LimitsPart, default: Limits, longest: float) -> Limits:
    """What is written over what is not; a default time gives way to a shorter one that is written."""
    written = {name: v for name in _BOUNDS if (v := getattr(part, name, None)) is not None}
    time = written.get("time", min(default.time, longest))
    return replace(within(default, time), **written)


def within(limits: Limits, time: float) -> Limits:
    """The limits with so much time, in seconds, and no wait that is longer."""
    return replace(
        limits,
        time=time,
        tool_timeout=min(limits.tool_timeout, time),
        idle_timeout=min(limits.idle_timeout, time),
    )


def _same_calls(agent: Agent, most: int) -> Agent:
    return replace(agent, limits=replace(agent.limits, same_calls=most))


def _policies(part: PoliciesPart, models: Aliases, supervisor: Agent) -> dict[Status, Policy]:
    """A policy for each of the nine statuses."""
    written: dict[str, PolicyPart | None] = {s.value: getattr(part, s.value) for s in Status}
    return {
        status: _policy(entry, models) if entry else _default(status, supervisor)
        for status, entry in ((s, written[s.value]) for s in Status)
    }


def _policy(part: PolicyPart, models: Aliases) -> Policy:
    return Policy(
        next_action=part.next_action or "use_partial",
        retryable=bool(part.retryable),
        max_retries=part.max_retries or 0,
        backoff=part.backoff or 0.0,
        fallback_model=models.name(part.fallback_model) if part.fallback_model else None,
        fallback_tools=tuple(part.fallback_tools or ()),
        delegate_to=part.delegate_to,
        say=part.say or "",
    )


def _default(status: Status, supervisor: Agent) -> Policy:
    """The default policy; a fallback may use what the supervisor has, and is none where it has nothing."""
    policy = DEFAULTS[status]
    if policy.next_action != _TOOLS:
        return policy
    if not supervisor.tools:
        return Policy("use_partial", retryable=policy.retryable)
    return Policy(_TOOLS, retryable=policy.retryable, fallback_tools=supervisor.tools)


def _delegation(part: DelegationPart) -> Delegation:
    default = Delegation()
    return Delegation(
        max_parallel=part.max_parallel or default.max_parallel,
        max_depth=part.max_depth or default.max_depth,
        max_delegations=part.max_delegations or default.max_delegations,
        show_progress=part.show_progress or default.show_progress,
    )


def _data(part: DataPart | None) -> DataRules:
    if part is None:
        return DataRules()
    word = part.as_of or NOW
    asked = PLACEHOLDER.fullmatch(word)
    day = None if asked or word == NOW else dt.date.fromisoformat(word)
    name = asked[1].strip().removeprefix("inputs.") if asked else ""
    return DataRules(day, name, part.max_age, tuple(part.sources) if part.sources else None)


def _names(tools: object) -> tuple[str, ...]:
    """A resolved list of tools, each once."""
    return tuple(dict.fromkeys(tools)) if isinstance(tools, list) else ()


def _prompt(tree: Mapping, *path: str) -> str:
    node = at(tree, *path, "prompt")
    if isinstance(node, Leaf):
        return node.text.strip()
    file = node.get("file") if isinstance(node, Mapping) else None
    return prompts.read(file.span.source, file.text) if isinstance(file, Leaf) else ""


def _source(written: dict[str, Any], workers: list[Agent]) -> tuple[str, str]:
    """The sha256 of everything that decides how the team works, and that itself: the resolved source and each prompt.

    The order of keys is kept in the text, and counts for nothing in the digest.
    """
    source = {key: value for key, value in written.items() if key not in {"extends", "abstract"}}
    whole = {"source": source, "prompts": {w.id: w.prompt for w in workers}}
    ordered = json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(ordered.encode()).hexdigest(), text
