"""A fixed plan as data: its steps, its inputs, and what a turn needs to carry it out (guide "presets", 2 and 9.3).

A plan stands in for the model as the one who decides what comes next: its steps are assistant rows with calls like a
model's, so that everything that bounds, shows and resumes calls holds for them too (planned.py). `PLAN` marks them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_core.tools.spec import ToolSpec

PLAN = "plan"  # key in the meta of the rows that a plan, and no model, has written
NOT_GIVEN = "(not given)"  # stands for an input that has no value
_PLACE = re.compile(r"\{\{\s*(inputs\.([a-z][a-z0-9_]*)|item)\s*\}\}")

InputKind = Literal["symbol", "symbols", "date", "choice", "text", "number", "integer", "boolean"]
Method = Literal["majority", "plurality", "unanimous", "median", "mean"]
Tie = Literal["abstain", "first", "ask_user"]
Value = Any  # what JSON can hold
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Input:
    """A typed parameter, checked before anything runs. `low` and `high` bound numbers, `max_items` lists."""

    name: str
    kind: InputKind
    description: str = ""
    required: bool = False
    default: Value = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Bounds of the value at `path` (`step.field`, `inputs.name`): each that is there must hold."""

    path: str
    lt: float | None = None
    lte: float | None = None
    gt: float | None = None
    gte: float | None = None
    among: tuple[Value, ...] = ()
    other_than: Value = None

    def holds(self, value: Value) -> bool:
        """Whether a value is within the bounds; one that is missing, or no number where one is meant, is not."""
        if value is None:
            return False
        if self.among and not any(_same(value, one) for one in self.among):
            return False
        if self.other_than is not None and _same(value, self.other_than):
            return False
        bounds = (self.lt, self.lte, self.gt, self.gte)
        if all(bound is None for bound in bounds):
            return True
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (
            (self.lt is None or value < self.lt)
            and (self.lte is None or value <= self.lte)
            and (self.gt is None or value > self.gt)
            and (self.gte is None or value >= self.gte)
        )


def _same(a: Value, b: Value) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


@dataclass(frozen=True, slots=True)
class Branch:
    """One delegation. `required` False: the step does not need it; `task` "": what the person asked for."""

    agent: str
    task: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Delegate:
    """One delegation, or one for each value at `for_each`."""

    branch: Branch
    for_each: str = ""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Delegations side by side, of which the required ones and at least `need` (0: no bound) must succeed."""

    branches: tuple[Branch, ...]
    need: int = 0


@dataclass(frozen=True, slots=True)
class Debate:
    """Sides that argue for some rounds, each having read the others' last words, and who decides."""

    sides: tuple[str, ...]
    rounds: int
    judge: str


@dataclass(frozen=True, slots=True)
class Vote:
    """Each agent answers `samples` times; the values of `field` in their outputs are the votes."""

    agents: tuple[str, ...]
    samples: int
    field: str
    method: Method = "majority"
    tie: Tie = "abstain"


@dataclass(frozen=True, slots=True)
class Reply:
    """The supervisor writes the answer from the results."""


Action = Delegate | Parallel | Debate | Vote | Reply


@dataclass(frozen=True, slots=True)
class Step:
    """One step. All conditions of `when` must hold, or it is left out."""

    id: str
    action: Action
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Halfway:
    """What an agent's policy for `partial` says: it holds for a step that lacks this agent's part.

    `backoff` is in seconds; `fallback_model` "": none. `fallback_tools` and `delegate_to` go with their `action`.
    """

    action: str = "use_partial"
    say: str = ""
    retries: int = 0
    backoff: float = 0.0
    fallback_model: str = ""
    fallback_tools: tuple[str, ...] = ()
    delegate_to: str = ""


@dataclass(slots=True)
class Plan:
    """What one turn carries out.

    `tool` gives the delegation to an agent by its id, the item that fills its prompt, and the fallback model that it
    runs on ("": its own).
    `titles` are the agents' names for people, `handed` whose results each agent is given by its `from_agents`,
    `halfway` their policies for steps that succeed in part. `values` are the inputs once they are known, None before;
    `seen` keeps how calls ended.
    """

    steps: tuple[Step, ...]
    inputs: tuple[Input, ...]
    tool: Callable[[str, str, str], ToolSpec]
    titles: Mapping[str, str] = field(default_factory=dict)
    handed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    halfway: Mapping[str, Halfway] = field(default_factory=dict)
    values: dict[str, Value] | None = None
    seen: dict[str, Any] = field(default_factory=dict)


def filled(text: str, values: Values | None, item: str | None = None) -> str:
    """A text with its inputs, and its item where there is one; without `values` inputs stay as they are."""

    def put(found: re.Match[str]) -> str:
        if found[1] == "item":
            return found[0] if item is None else item
        return found[0] if values is None else shown(values.get(found[2]))

    return _PLACE.sub(put, text) if "{{" in text else text


def shown(value: Value) -> str:
    """A value in words."""
    if value is None or value == []:
        return NOT_GIVEN
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def look(data: Value, path: str) -> Value:
    """The value at a dotted path in JSON, None where there is none."""
    for name in path.split(".") if path else ():
        if isinstance(data, Mapping):
            data = data.get(name)
        elif isinstance(data, list | tuple) and name.isdigit() and int(name) < len(data):
            data = data[int(name)]
        else:
            return None
    return data
