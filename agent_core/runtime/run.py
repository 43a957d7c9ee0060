"""One run of one agent: everything that the loop, the tool batches and the delegations of it share."""

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from agent_core.assembly.builder import Prefix
from agent_core.compaction.strategies import DEFAULT, POLICIES
from agent_core.compaction.strategies import Policy as ContextPolicy
from agent_core.compaction.view import View
from agent_core.errors import BudgetExceeded
from agent_core.events import Compacted, Event
from agent_core.past import Archive, Memory, Recall
from agent_core.ports import Clock, Journal, Model
from agent_core.runtime.flow import Plan, Values
from agent_core.runtime.output import NO_VERDICT, Verdict
from agent_core.runtime.rehearsal import Stage
from agent_core.runtime.team import Agent
from agent_core.tasks import Tasks
from agent_core.tools.spec import ToolSpec
from agent_core.types import Message, Usage

Language = Literal["en", "zh"]
Reason = Literal[
    "done",
    "round_limit",
    "call_limit",
    "doom_loop",
    "stop_and_report",
    "max_tokens",
    "refusal",
    "over_budget",
]


@dataclass(frozen=True, slots=True)
class Person:
    """For whom the turn runs. `present`: whether somebody can be asked during it (TGV-5).

    `as_of`, `max_age` (seconds) and `sources` bound what tools find, see ToolContext; `day_input` names the input that
    gives `as_of`, "" for none. `place` is where the turn runs and what is remembered counts: "private", a group's id,
    or "" where nothing is kept.
    """

    owner: str
    language: Language = "en"
    as_of: dt.date | None = None
    present: bool = True
    max_age: float | None = None
    sources: tuple[str, ...] | None = None
    day_input: str = ""
    place: str = ""

    def with_inputs(self, values: Values) -> "Person":
        """The same once the inputs are known."""
        day = values.get(self.day_input)
        return self if day is None else replace(self, as_of=dt.date.fromisoformat(str(day)))


@dataclass(slots=True)
class Run:
    """`tools` is the agent's whitelist by name; `label` names a sub-agent in events (None: the supervisor).

    `archive` reads back what the view left out, `memory` takes notes, `recall` finds what is known for a task. `policy`
    is how the session is compacted; `view` and `prefix` are what its next request is made of, kept so that a new row
    costs only itself; `compacted` is what was done to the view in this run. `deadline` is a monotonic time.
    `streamed` holds the words shown since the last reset, for a stop in mid-answer.
    `pictures` are blobs that were read for requests. `granted` are tools beyond the whitelist, each
    for one call that a person approved, by call id. `alive` is called when a model call or a tool
    is done (watchdog.py). `model_for` gives a model by name; `switched` tells, for the turn as a whole, why another
    model answered (paying.py). `plan` are the inputs and the fixed steps of a supervisor's run (planned.py).
    `stage` ends attempts of delegations as a test wants (rehearsal.py). `tasks` takes background tools; without it they
    run within the turn (background.py). `offered` are the skills that the session's prompt names (skills.py), None
    before its rows were read; sub-agents have those of the whole turn. `waiting` are the tools that are not shown yet
    (on_demand.py).
    """

    agent: Agent
    journal: Journal
    model: Model
    tools: Mapping[str, ToolSpec]
    person: Person
    clock: Clock
    emit: Callable[[Event], None]
    sleep: Callable[[float], Awaitable[None]]
    label: str | None = None
    deadline: float | None = None
    streamed: str = ""
    estimate: int = 0
    archive: Archive | None = None
    memory: Memory | None = None
    recall: Recall | None = None
    policy: ContextPolicy = POLICIES[DEFAULT]
    view: View | None = None
    prefix: Prefix | None = None
    compacted: list[Compacted] = field(default_factory=list)
    intents: set[str] = field(default_factory=set)
    granted: Mapping[str, ToolSpec] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    alive: Callable[[], None] = lambda: None
    model_for: Callable[[str], Model] | None = None
    switched: list[BudgetExceeded] = field(default_factory=list)
    plan: Plan | None = None
    stage: Stage | None = None
    tasks: Tasks | None = None
    offered: tuple[tuple[str, str], ...] | None = None
    waiting: tuple[str, ...] = ()

    def left(self) -> float:
        """Seconds until the deadline; inf without one."""
        return float("inf") if self.deadline is None else self.deadline - self.clock.monotonic()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    The last message is not stored yet: the caller stores it with what belongs to it.

    `message` is None when the runtime cut the run off and the model had no last word; `estimate` is that of the last
    request. `warning` is a line for the person, to stand above the answer (LPG-4). `verdict`: what the answer is worth
    by its output contract and its grounding.
    """

    reason: Reason
    message: Message | None
    usage: Usage
    last_usage: Usage
    model: str
    rounds: int
    called: tuple[str, ...]
    estimate: int = 0
    warning: str = ""
    verdict: Verdict = NO_VERDICT

    @property
    def text(self) -> str:
        """The words of the last message."""
        return "" if self.message is None else self.message.text.strip()
