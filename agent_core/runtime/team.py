"""A compiled preset as the runtime sees it: who works, with which tools, within which limits, what follows what.

`swarm_presets/compile.py` makes these from YAML; the runtime enforces them and knows no YAML. Times
are seconds, tokens are tokens, money is US dollars.
"""

import datetime as dt
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from agent_core.approvals import Rule
from agent_core.budget.pots import OwnPots, nano
from agent_core.ports import Price
from agent_core.runtime.expect import Require
from agent_core.runtime.flow import Input, Step
from agent_core.runtime.memories import MemoryRules
from agent_core.runtime.scenes import Scene

NextAction = Literal[
    "use_result",
    "use_partial",
    "fallback_to_direct_tools",
    "stop_and_report",
    "delegate_to",
    "ask_user",
]


class Status(StrEnum):
    """The nine ways in which a delegation ends (guide "presets", 4)."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    EMPTY = "empty"
    INVALID_OUTPUT = "invalid_output"
    TIMEOUT = "timeout"
    ERROR = "error"
    OVER_BUDGET = "over_budget"
    DENIED = "denied"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Policy:
    """What follows a status.

    Order: retries with back-off, then `fallback_model` once, then `next_action`.
    """

    next_action: NextAction
    retryable: bool = False
    max_retries: int = 0
    backoff: float = 0.0
    fallback_model: str | None = None
    fallback_tools: tuple[str, ...] = ()
    delegate_to: str | None = None
    say: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run of one agent.

    `stall_timeout`: how long nothing may be finished, no model call and no tool (EVT-8). Its default is above the total
    time of one model stream with what a fallback may need after it. `same_calls`: how often one call may be made with
    nothing new (guards.py), from 1.
    """

    time: float = 180.0
    tool_timeout: float = 60.0
    idle_timeout: float = 60.0
    stall_timeout: float = 420.0
    tool_rounds: int = 8
    tool_calls: int | None = None
    input_tokens: int = 20_000
    output_tokens: int = 4_096
    output_chars: int = 2_500
    usd: float | None = None
    same_calls: int = 2


@dataclass(frozen=True, slots=True)
class OutputContract:
    """What an agent's answer must be; the default asks for nothing (output.py).

    `schema` is a JSON Schema (draft 2020-12) for format "json". `render` is a template that shows the data to people
    (`{{ orders.0.symbol }}`; "": a plain list of fields). After `max_repairs` rounds (0 or more) that list the errors,
    an answer that still breaks the contract is `invalid_output`. `attach` names the tools whose files go with the
    result (None: all files).
    """

    format: Literal["markdown", "text", "json"] = "markdown"
    schema: dict[str, Any] | None = None
    render: str = ""
    max_repairs: int = 1
    attach: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """Whether the numbers of an answer must stand in the results of its tools; off by default (grounding.py).

    `tolerance` is relative (0.005: half a percent), from 0 to below 1. `citations` "required": the answer names a
    source that its tools gave, and no address that they did not. `max_repairs`: rounds that list what is not found.
    """

    numbers: Literal["off", "required"] = "off"
    tolerance: float = 0.005
    citations: Literal["off", "required"] = "off"
    max_repairs: int = 1


Progress = Literal["off", "milestones", "all"]
Overflow = Literal["keep_recent", "keep_first", "refuse"]


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    `tools` is its whitelist: others are neither shown nor run (SUB-4). `model` is a model name or
    "auto".

    `role` is what models read; `title` is its name for people by language ("en", "zh"). `require` says which words need
    which tool; it counts for the supervisor alone, since only that one hears a person (LPG-1).

    `context` is what a sub-agent gets beside its task: nothing, the supervisor's words about it, those and the last
    exchanges of the conversation, or all of it. `from_agents` are ids whose last results of the turn are handed over
    as their output contract has them. `on_overflow`: what of more than `limits.input_tokens` is kept, the newest part
    or the first, or whether the delegation ends as `over_budget` (SUB-6).

    `approvals` are the rules of the whole preset: every agent has them, so that no run is without.
    `reads` bounds the tokens of each request of the supervisor, below its model's window; `writes` the characters of
    its answer that a person is shown. None: no bound of the preset. `memory` is what is remembered that it may read
    and write; a sub-agent speaks with nobody, so that it notes nothing of a person. `skills` are those that it may use
    (None: all); they give it no tools. `on_demand` are the tools of the supervisor that a session is shown when it
    needs them (on_demand.py).
    """

    id: str
    role: str
    prompt: str
    tools: tuple[str, ...]
    description: str = ""
    model: str = "auto"
    effort: str | None = None
    limits: Limits = field(default_factory=Limits)
    concurrency: int = 1
    context: Literal["task_only", "brief", "recent", "full"] = "brief"
    policy: dict[Status, Policy] = field(default_factory=dict)
    title: dict[str, str] = field(default_factory=dict)
    require: Require = field(default_factory=Require)
    from_agents: tuple[str, ...] = ()
    on_overflow: Overflow = "keep_recent"
    output: OutputContract = field(default_factory=OutputContract)
    grounding: Grounding = field(default_factory=Grounding)
    approvals: tuple[Rule, ...] = ()
    reads: int | None = None
    writes: int | None = None
    memory: MemoryRules = field(default_factory=MemoryRules)
    skills: tuple[str, ...] | None = None
    on_demand: tuple[str, ...] = ()

    def display(self, language: str) -> str:
        """The agent's name for people: its role where it has none in this language."""
        return self.title.get(language) or self.role


@dataclass(frozen=True, slots=True)
class Delegation:
    """Bounds of delegating as a whole.

    `show_progress`: what people see of a turn that runs: each tool and sub-agent, only what the supervisor itself does,
    or nothing of either.
    """

    max_parallel: int = 3
    max_depth: int = 1
    max_delegations: int = 12
    show_progress: Progress = "all"


@dataclass(frozen=True, slots=True)
class DataRules:
    """What tools may find: nothing later than `as_of` (None: now); prices older than `max_age` seconds are stale.

    Of the installation's data sources they see only `sources`, in this order (None: all).

    `day_input` names the input that gives `as_of`, "" for none.
    """

    as_of: dt.date | None = None
    day_input: str = ""
    max_age: float | None = None
    sources: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """A run at set times: a cron line of five fields, the chat where it runs, and the words that begin it.

    `timezone` "" is the installation's; `person` is for whom it runs, "" whose private chat it is.
    """

    cron: str
    chat: str
    words: str
    timezone: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model by its plain name, at a price of the preset's own (None: as the price table has it)."""

    name: str
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """A preset, ready to run.

    `digest` is the sha256 of its resolved source, so that a running turn keeps its own; `source` is what the team can
    be made from again ("" for one that was not read from a file).

    `context_policy` is one of `agent_core/compaction/strategies.py`, "" for the settings' own. `budget` are the
    pots that the preset writes; they nest within those of the settings. `models` are its aliases that have a price or
    fallbacks, each as the models that answer, in order; an agent's `model` may name one.

    `flow` is a fixed plan that stands in for the supervisor's delegating; `inputs` are checked before anything runs.

    For each agent `x` the supervisor has a tool `delegate_to_x`; `supervisor.tools` names its
    direct tools.
    """

    name: str
    digest: str
    supervisor: Agent
    agents: dict[str, Agent] = field(default_factory=dict)
    delegation: Delegation = field(default_factory=Delegation)
    title: str = ""
    description: str = ""
    context_policy: str = ""
    flow: tuple[Step, ...] = ()
    inputs: tuple[Input, ...] = ()
    budget: OwnPots = field(default_factory=OwnPots)
    models: dict[str, tuple[ModelUse, ...]] = field(default_factory=dict)
    data: DataRules = field(default_factory=DataRules)
    scenes: tuple[Scene, ...] = ()
    timed: tuple[Timed, ...] = ()
    source: str = field(default="", repr=False, compare=False)

    def plain_models(self, word: str) -> tuple[str, ...]:
        """The plain names of the models that may answer for an alias, or for a name that is none."""
        uses = self.models.get(word)
        return (word,) if uses is None else tuple(use.name for use in uses)

    @property
    def pots(self) -> OwnPots:
        """All pots of the preset: the supervisor's own limit in dollars is one of the run (guide "presets", 5)."""
        usd = self.supervisor.limits.usd
        return self.budget.with_run(None if usd is None else nano(usd))
