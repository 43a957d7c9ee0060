"""A preset file as typed models: the judge of its shape, and the source of the JSON Schema that editors use.

Every key may be left out, except `version` and `name`: a child takes the rest from its parents. What a whole preset
needs is checked after inheritance (`meaning.py`). `null` removes what is inherited. Unknown keys are errors at
every depth; a text is never taken for a number.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from swarm_presets.scalars import (
    PRESET_NAME,
    AgentId,
    Alias,
    Duration,
    Line,
    ModelName,
    Pause,
    PresetName,
    Tokens,
    ToolName,
    Words,
)

NextActionName = Literal[
    "use_result",
    "use_partial",
    "fallback_to_direct_tools",
    "stop_and_report",
    "delegate_to",
    "ask_user",
]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


class PromptFile(_Part):
    """A prompt in a file of its own, found beside the preset or among the shipped ones."""

    file: Line


class ToolEdit(_Part):
    """Changes to an inherited list of tools."""

    add: list[ToolName] = []
    remove: list[ToolName] = []


def _branch(value: object) -> str:
    """Branch names that no key of a preset can have, so that they drop out of a path."""
    return "<map>" if isinstance(value, dict) else "<plain>"


Prompt = Annotated[
    Annotated[Words, Tag("<plain>")] | Annotated[PromptFile, Tag("<map>")], Discriminator(_branch)
]
Tools = Annotated[
    Annotated[list[ToolName], Tag("<plain>")] | Annotated[ToolEdit, Tag("<map>")],
    Discriminator(_branch),
]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


_NAME: dict[str, Any] = {"type": "string", "pattern": PRESET_NAME}
Parents = Annotated[
    list[PresetName],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_NAME, {"type": "array", "items": _NAME}]}),
]


def _one(value: object) -> object:
    if type(value) is not int or value != 1:  # True is equal to 1, but is no version
        raise PydanticCustomError("literal_error", "only 1", {"expected": "1"})
    return value


One = Annotated[int, BeforeValidator(_one), WithJsonSchema({"type": "integer", "const": 1})]


class ModelAlias(_Part):
    """A name of the preset for a model: `auto`, `demo` or `<provider>/<model>`, with how hard it should think."""

    use: ModelName = "auto"
    effort: Literal["low", "medium", "high"] | None = None


class RunLimits(_Part):
    """Bounds of one turn of the supervisor (guide "presets", 3)."""

    time: Duration | None = None
    tool_timeout: Duration | None = None
    idle_timeout: Duration | None = None
    tool_rounds: Annotated[int, Field(ge=1, le=200)] | None = None
    output_tokens: Tokens | None = None
    usd: Annotated[float, Field(gt=0, le=10_000)] | None = None


class AgentLimits(RunLimits):
    """Bounds of one delegation, with what goes into it and what comes out."""

    input_tokens: Tokens | None = None
    output_chars: Annotated[int, Field(ge=200, le=1_000_000)] | None = None


class ContextPart(_Part):
    """What an agent sees of the supervisor's conversation."""

    from_supervisor: Literal["task_only", "brief"] | None = None


class PolicyPart(_Part):
    """What follows one status. An entry that is written stands for the whole default of its status."""

    next_action: NextActionName | None = None
    retryable: bool | None = None
    max_retries: Annotated[int, Field(ge=0, le=10)] | None = None
    backoff: Pause | None = None
    fallback_model: ModelName | None = None
    fallback_tools: list[ToolName] | None = None
    delegate_to: AgentId | None = None
    say: Line | None = None


class PoliciesPart(_Part):
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


class SupervisorPart(_Part):
    """The agent that speaks with the person and delegates."""

    role: Line | None = None
    prompt: Prompt | None = None
    model: ModelName | None = None
    tools: Tools | None = None
    limits: RunLimits | None = None


class DefaultsPart(_Part):
    """What each agent has unless it says otherwise; the supervisor is not meant."""

    model: ModelName | None = None
    limits: AgentLimits | None = None
    concurrency: Annotated[int, Field(ge=1, le=16)] | None = None
    context: ContextPart | None = None
    policy: PoliciesPart | None = None


class TitlePart(_Part):
    """An agent's name for people, by language; its role where there is none."""

    en: Line | None = None
    zh: Line | None = None


class AgentPart(DefaultsPart):
    """A sub-agent."""

    role: Line | None = None
    title: TitlePart | None = None
    description: Line | None = None
    prompt: Prompt | None = None
    tools: Tools | None = None


class DelegationPart(_Part):
    """Bounds of delegating as a whole. Sub-agents do not delegate, so the depth is one."""

    max_parallel: Annotated[int, Field(ge=1, le=16)] | None = None
    max_depth: One | None = None
    max_delegations: Annotated[int, Field(ge=1, le=200)] | None = None


ContextPolicy = Literal["economic", "eager", "window_reserve", "layered", "summary", "truncate"]


class PresetFile(_Part):
    """One preset, as written or with everything it inherits."""

    version: One
    name: PresetName
    title: Line | None = None
    description: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    extends: Parents = []
    abstract: bool = False
    models: dict[Alias, ModelAlias | None] | None = None
    defaults: DefaultsPart | None = None
    supervisor: SupervisorPart | None = None
    agents: dict[AgentId, AgentPart | None] | None = None
    delegation: DelegationPart | None = None
    context_policy: ContextPolicy | None = None


def schema_json() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a preset file, made from the models."""
    made: dict[str, Any] = _closed(PresetFile.model_json_schema())
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return made


def _closed(schema: Any) -> Any:
    """With maps closed against names that do not fit their pattern, which pydantic leaves open in the schema."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return closed | {"additionalProperties": False} if "patternProperties" in closed else closed
