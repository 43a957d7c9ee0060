"""A preset file as typed models: the judge of its shape, and the source of the JSON Schema that editors use.

Every key may be left out, except `version` and `name`: a child takes the rest from its parents. What a whole preset
needs is checked after inheritance (`meaning.py`). `null` removes what is inherited. Unknown keys are errors at
every depth; a text is never taken for a number.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from swarm_presets.part import InputName, One, Parents, Part
from swarm_presets.scalars import AgentId, Alias, Line, PresetName
from swarm_presets.schema_flow import CasePart, StepPart
from swarm_presets.schema_rules import (
    ApprovalPart,
    BudgetsPart,
    DataPart,
    InputPart,
    McpPart,
    RequirePart,
    RoutePart,
    ScenePart,
    SchedulePart,
    ServerName,
    SkillName,
)
from swarm_presets.schema_workers import (
    AgentPart,
    DefaultsPart,
    DelegationPart,
    ModelAlias,
    SupervisorPart,
)

ContextPolicy = Literal["economic", "eager", "window_reserve", "layered", "summary", "truncate"]
SealedPath = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){0,5}$")
]


class PresetFile(Part):
    """One preset, as written or with everything it inherits."""

    version: One
    name: PresetName
    title: Line | None = None
    description: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    extends: Parents = Field(default_factory=list)
    abstract: bool = False
    sealed: list[SealedPath] | None = None
    inputs: dict[InputName, InputPart | None] | None = None
    models: dict[Alias, ModelAlias | None] | None = None
    defaults: DefaultsPart | None = None
    supervisor: SupervisorPart | None = None
    agents: dict[AgentId, AgentPart | None] | None = None
    delegation: DelegationPart | None = None
    flow: list[StepPart] | None = None
    budgets: BudgetsPart | None = None
    approvals: list[ApprovalPart] | None = None
    data: DataPart | None = None
    context_policy: ContextPolicy | None = None
    skills: list[SkillName] | None = None
    routes: list[RoutePart] | None = None
    scenes: list[ScenePart] | None = None
    require: RequirePart | None = None
    schedule: list[SchedulePart] | None = None
    mcp: dict[ServerName, McpPart | None] | None = None
    evals: list[CasePart] | None = None


def schema_json() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a preset file, made from the models."""
    made: dict[str, Any] = _closed(PresetFile.model_json_schema(by_alias=True))
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


def schema_text() -> str:
    """The JSON Schema as a file has it."""
    return json.dumps(schema_json(), ensure_ascii=False, indent=1) + "\n"
