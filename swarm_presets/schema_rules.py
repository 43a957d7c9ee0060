"""What bounds a run and what starts one: inputs, money, approvals, data, words that lead, schedules, servers."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from agent_core.tools.mcp_names import SERVER_NAME
from swarm_presets.part import (
    Conditions,
    Count,
    Dollars,
    FieldName,
    Given,
    InputName,
    Lines,
    Part,
    Plain,
)
from swarm_presets.scalars import Duration, Line, ModelName, Tokens, ToolName, Words

AS_OF = r"^(now|[0-9]{4}-[0-9]{2}-[0-9]{2}|\{\{ *inputs\.[a-z][a-z0-9_]{0,39} *\}\})$"
APPROVER = r"^(requester|admin|role:[A-Za-z0-9_-]{1,40}|user:[A-Za-z0-9_.:@-]{1,80})$"
CRON = r"^([0-9*/,A-Za-z-]+ ){4}[0-9*/,A-Za-z-]+$"
PLACE = r"^[a-z]+:[A-Za-z0-9_.:@-]{1,120}$"

SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
ServerName = Annotated[str, StringConstraints(pattern=f"^{SERVER_NAME}$")]
Share = Annotated[float, Field(gt=0, le=1)]
Approver = Annotated[str, StringConstraints(pattern=APPROVER)]


class InputPart(Part):
    """A typed parameter, checked before anything runs."""

    type: Literal["symbol", "symbols", "date", "choice", "text", "number", "integer", "boolean"]
    description: Line | None = None
    required: bool | None = None
    default: Given | None = None
    choices: Annotated[list[Line], Field(min_length=1, max_length=50)] | None = None
    min: float | None = None
    max: float | None = None
    max_items: Annotated[int, Field(ge=1, le=1_000)] | None = None


OnExceeded = Literal["stop_and_report", "fallback_model", "ask_admin", "queue"]
# A run's pot never begins anew, so there is nothing that a run could queue for.
OnRunExceeded = Literal["stop_and_report", "fallback_model", "ask_admin"]


class RunPot(Part):
    """The pot of one run."""

    usd: Dollars | None = None
    tokens: Tokens | None = None
    time: Duration | None = None
    warn_at: Share | None = None
    on_exceeded: OnRunExceeded | None = None
    fallback_model: ModelName | None = None


class PeriodPot(Part):
    """A pot that is filled again each day or month."""

    usd: Dollars | None = None
    tokens: Tokens | None = None
    runs: Count | None = None
    warn_at: Share | None = None
    on_exceeded: OnExceeded | None = None
    fallback_model: ModelName | None = None


class BudgetsPart(Part):
    """Pots that nest: a call must fit all of them (guide "presets", 5)."""

    run: RunPot | None = None
    user_day: PeriodPot | None = None
    user_month: PeriodPot | None = None
    channel_day: PeriodPot | None = None
    day: PeriodPot | None = None
    month: PeriodPot | None = None
    reserve: bool | None = None
    unpriced_models: Literal["warn", "refuse", "allow"] | None = None


class ApprovalPart(Part):
    """Who must say yes to which tool call; rules add up (guide "presets", 6)."""

    tool: ToolName
    when: Conditions | None = None
    by: Annotated[list[Approver], Field(min_length=1)] | None = None
    not_requester: bool | None = None
    quorum: Annotated[int, Field(ge=1, le=10)] | None = None
    expires: Duration | None = None
    on_expire: Literal["deny"] | None = None
    remember: Literal["never", "run", "session", "always"] | None = None
    show: list[FieldName] | None = None
    editable: list[FieldName] | None = None
    where: Literal["here", "direct_message", "ops_channel"] | None = None


class DataPart(Part):
    """Where prices come from, as of when, and how old they may be."""

    sources: Annotated[list[SkillName], Field(min_length=1)] | None = None
    as_of: Annotated[str, StringConstraints(pattern=AS_OF)] | None = None
    max_age: Duration | None = None


class RequireRule(Part):
    """Words that ask for a tool with exactly these arguments."""

    name: SkillName
    tool: ToolName
    args: dict[FieldName, Plain] = Field(default_factory=dict)
    phrases: Lines


class RequirePart(Part):
    """The loop guard: which words need which tool. `contextual` and `affirmative` are off by default."""

    rules: list[RequireRule] | None = None
    contextual: bool | None = None
    affirmative: bool | None = None
    follow_up: SkillName | None = None
    markers: list[Line] | None = None
    follow_ups: list[Line] | None = None
    hints: list[Line] | None = None
    yes: list[Line] | None = None


class RoutePart(Part):
    """Intent patterns that lead to a skill and to tools in an order."""

    match: Lines
    skill: SkillName | None = None
    tools: list[ToolName] | None = None


class ScenePart(Part):
    """Intent patterns that add a text to the context of a message."""

    match: Lines
    text: Words


class SchedulePart(Part):
    """A run at set times, for `as` (a person's id), or for whose private chat it is."""

    cron: Annotated[str, StringConstraints(pattern=CRON)]
    timezone: Line | None = None
    chat: Annotated[str, StringConstraints(pattern=PLACE)]
    person: Annotated[str, StringConstraints(pattern=PLACE)] | None = Field(None, alias="as")
    say: Words | None = None
    inputs: dict[InputName, Given] | None = None


class McpPart(Part):
    """A server of the settings whose tools this preset may use: all, or those under `tools`, by its own names."""

    tools: list[Line] | None = None
