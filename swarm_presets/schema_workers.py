"""Who works: the supervisor, agents and what flows into them (guide "presets", 3 and 4)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from swarm_presets.part import FieldName, Part, Prompt, Repairs, Tools
from swarm_presets.scalars import (
    AgentId,
    Alias,
    Duration,
    Line,
    ModelName,
    Pause,
    Tokens,
    ToolName,
    Words,
)
from swarm_presets.schema_rules import SkillName

NextActionName = Literal[
    "use_result",
    "use_partial",
    "fallback_to_direct_tools",
    "stop_and_report",
    "delegate_to",
    "ask_user",
]
Scope = Literal["user", "channel", "swarm", "run"]
Switch = Literal["off", "required"]


class PricePart(Part):
    """US dollars for a million tokens; wins over the price table."""

    input: Annotated[float, Field(ge=0, le=10_000)]
    output: Annotated[float, Field(ge=0, le=10_000)]
    cache_read: Annotated[float, Field(ge=0, le=10_000)] | None = None
    cache_write: Annotated[float, Field(ge=0, le=10_000)] | None = None


class ModelAlias(Part):
    """A name of the preset for a model: `auto`, `demo`, `replay` or `<provider>/<model>`."""

    use: ModelName = "auto"
    effort: Literal["low", "medium", "high"] | None = None
    price: PricePart | None = None
    fallback: list[Alias] | None = None


class LimitsPart(Part):
    """Bounds of one turn of the supervisor or of one delegation, with what goes in and what comes out."""

    time: Duration | None = None
    tool_timeout: Duration | None = None
    idle_timeout: Duration | None = None
    stall_timeout: Duration | None = None
    tool_rounds: Annotated[int, Field(ge=1, le=200)] | None = None
    tool_calls: Annotated[int, Field(ge=1, le=1_000)] | None = None
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    output_chars: Annotated[int, Field(ge=200, le=1_000_000)] | None = None
    usd: Annotated[float, Field(gt=0, le=10_000)] | None = None


class ContextPart(Part):
    """What an agent sees of the supervisor's conversation, and whose results it is handed."""

    from_supervisor: Literal["task_only", "brief", "recent", "full"] | None = None
    from_agents: list[AgentId] | None = None
    on_overflow: Literal["keep_recent", "keep_first", "refuse"] | None = None


class MemoryPart(Part):
    """Which memories are read and written, and how many are recalled.

    `user`: what is known of the person in private; `channel`: what is known in the group where they write; `run`: the
    results that agents of this run lay out. The supervisor has `[user, channel]` for both unless it says otherwise; an
    agent reads `[user]`, and may write `[run]` alone. `swarm` is not to be had: every memory has an owner.
    """

    read: list[Scope] | None = None
    write: list[Scope] | None = None
    recall: Annotated[int, Field(ge=0, le=50)] | None = None


class GroundingPart(Part):
    """What an answer's numbers and sources must rest on."""

    numbers: Switch | None = None
    tolerance: Annotated[float, Field(ge=0, lt=1)] | None = None
    citations: Switch | None = None
    max_repairs: Repairs | None = None


def _json_map(value: object) -> object:
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", "no map")
    return value


JsonSchema = Annotated[Any, BeforeValidator(_json_map), WithJsonSchema({"type": "object"})]


class OutputPart(Part):
    """The form of an answer: the contract that a result must hold."""

    format: Literal["markdown", "text", "json"] | None = None
    schema_: Annotated[JsonSchema | None, Field(alias="schema")] = None
    render: Words | None = None
    max_repairs: Repairs | None = None
    attach: list[ToolName] | None = None


class PolicyPart(Part):
    """What follows one status. An entry that is written stands for the whole default of its status."""

    next_action: NextActionName | None = None
    retryable: bool | None = None
    max_retries: Annotated[int, Field(ge=0, le=10)] | None = None
    backoff: Pause | None = None
    fallback_model: ModelName | None = None
    fallback_tools: list[ToolName] | None = None
    delegate_to: AgentId | None = None
    say: Line | None = None


class PoliciesPart(Part):
    """A policy for each of the nine statuses."""

    completed: PolicyPart | None = None
    partial: PolicyPart | None = None
    empty: PolicyPart | None = None
    invalid_output: PolicyPart | None = None
    timeout: PolicyPart | None = None
    error: PolicyPart | None = None
    over_budget: PolicyPart | None = None
    denied: PolicyPart | None = None
    cancelled: PolicyPart | None = None


class SupervisorPart(Part):
    """The agent that speaks with the person and delegates.

    `tools_on_demand`: those of its tools that a chat is shown when it comes to such work, which saves tokens before;
    names that are none of its tools have no effect, so that a child may remove tools alone.
    """

    role: Line | None = None
    prompt: Prompt | None = None
    model: ModelName | None = None
    tools: Tools | None = None
    tools_on_demand: list[ToolName] | None = None
    limits: LimitsPart | None = None
    memory: MemoryPart | None = None
    grounding: GroundingPart | None = None
    output: OutputPart | None = None
    skills: list[SkillName] | None = None


class DefaultsPart(Part):
    """What each agent has unless it says otherwise; the supervisor is not meant."""

    model: ModelName | None = None
    limits: LimitsPart | None = None
    concurrency: Annotated[int, Field(ge=1, le=16)] | None = None
    context: ContextPart | None = None
    memory: MemoryPart | None = None
    grounding: GroundingPart | None = None
    output: OutputPart | None = None
    skills: list[SkillName] | None = None
    policy: PoliciesPart | None = None


class TitlePart(Part):
    """An agent's name for people, by language; its role where there is none."""

    en: Line | None = None
    zh: Line | None = None


class AgentPart(DefaultsPart):
    """A sub-agent. `fallback_model` is the one that every policy without its own falls back to."""

    role: Line | None = None
    title: TitlePart | None = None
    description: Line | None = None
    prompt: Prompt | None = None
    tools: Tools | None = None
    fallback_model: ModelName | None = None


class DelegationPart(Part):
    """Bounds of delegating as a whole. Sub-agents do not delegate, so the depth is one."""

    max_parallel: Annotated[int, Field(ge=1, le=16)] | None = None
    max_depth: Annotated[int, Field(ge=1, le=1)] | None = None
    max_delegations: Annotated[int, Field(ge=1, le=200)] | None = None
    same_call_limit: Annotated[int, Field(ge=1, le=20)] | None = None
    show_progress: Literal["off", "milestones", "all"] | None = None


Fields = list[FieldName]
