"""A fixed plan, and the cases that test a preset (guide "presets", 2, 9.3 and 9.4)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from swarm_presets.part import Condition, Conditions, FieldName, Given, InputName, Part, Yes
from swarm_presets.scalars import AgentId, Duration, Line, ModelName, Tokens, ToolName, Words
from swarm_presets.schema_workers import NextActionName

StepId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Many = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}(\.[A-Za-z0-9_-]{1,40})+$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/[^/]*)+$", max_length=200)]
StatusName = Literal[
    "completed",
    "partial",
    "empty",
    "invalid_output",
    "timeout",
    "error",
    "over_budget",
    "denied",
    "cancelled",
]


class BranchPart(Part):
    """One of several delegations side by side."""

    delegate: AgentId
    task: Words | None = None
    required: bool | None = None


class DebatePart(Part):
    """Sides that argue for some rounds, and who decides."""

    sides: Annotated[list[AgentId], Field(min_length=2, max_length=6)]
    rounds: Annotated[int, Field(ge=1, le=5)] = 1
    judge: AgentId


class VotePart(Part):
    """Samples of agents' answers on one field of their output."""

    agents: Annotated[list[AgentId], Field(min_length=1)]
    samples: Annotated[int, Field(ge=1, le=15)] = 1
    field: FieldName
    method: Literal["majority", "plurality", "unanimous", "median", "mean"] = "majority"
    tie: Literal["abstain", "first", "ask_user"] = "abstain"


class StepPart(Part):
    """One step: exactly one of `delegate`, `parallel`, `debate`, `vote` and `answer`."""

    id: StepId | None = None
    when: Conditions | None = None
    for_each: Many | None = None
    delegate: AgentId | None = None
    task: Words | None = None
    parallel: Annotated[list[BranchPart], Field(min_length=1)] | None = None
    need: Annotated[int, Field(ge=1, le=64)] | None = None
    debate: DebatePart | None = None
    vote: VotePart | None = None
    answer: Yes | None = None


class FaultPart(Part):
    """Something that goes wrong on purpose: of an agent or of a tool."""

    agent: AgentId | None = None
    tool: ToolName | None = None
    status: StatusName | None = None
    approve: Literal["accept", "deny", "expire"] | None = None
    error: Line | None = None
    result: Words | None = None
    times: Annotated[int, Field(ge=1, le=100)] | None = None


class ExpectPart(Part):
    """What must be true of a case's run."""

    status: StatusName | None = None
    delegated: list[AgentId] | None = None
    not_delegated: list[AgentId] | None = None
    tools: list[ToolName] | None = None
    not_tools: list[ToolName] | None = None
    next_action: dict[AgentId, NextActionName] | None = None
    contains: list[Line] | None = None
    not_contains: list[Line] | None = None
    grounded: bool | None = None
    output: dict[Pointer, Condition] | None = None
    max_usd: Annotated[float, Field(ge=0, le=10_000)] | None = None
    max_tokens: Tokens | None = None
    max_time: Duration | None = None


class CasePart(Part):
    """One case. `demo` and `replay` run without a key."""

    name: Line
    model: ModelName | None = None
    say: Words | None = None
    inputs: dict[InputName, Given] | None = None
    inject: list[FaultPart] | None = None
    expect: ExpectPart
