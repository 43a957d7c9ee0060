"""What a plan is carried out on: the calls it asks for, how they ended, and how its steps did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core.runtime.flow import Halfway, Value, Values, filled, look, shown
from agent_core.runtime.inputs import written
from agent_core.runtime.team import Status

SKIPPED = "skipped"
_USABLE = frozenset({"use_result", "use_partial"})


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that is to be made: a delegation, or (no `agent`) a question to the person.

    `of` is the key of the call that it stands in for, "" for none; it is made after `wait` seconds, with the fallback
    model `model` ("": the agent's own).
    """

    key: str
    agent: str = ""
    task: str = ""
    context: str = ""
    item: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    model: str = ""
    wait: float = 0.0
    of: str = ""


def again_key(key: str, number: int) -> str:
    """The key of a call's stand-in, from 1."""
    return f"{key}.again{number}"


@dataclass(frozen=True, slots=True)
class Done:
    """How a call ended: a delegation with its policy's next `action`, or a question with its `answer` (None: none)."""

    agent: str = ""
    status: str = Status.COMPLETED
    action: str = "use_result"
    text: str = ""
    data: Value = None
    answer: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it brought all that it should."""
        return self.status == Status.COMPLETED

    @property
    def usable(self) -> bool:
        """Whether something of it may be used."""
        return bool(self.text or self.data is not None) and self.action in _USABLE


@dataclass(frozen=True, slots=True)
class Result:
    """How a step ended. `missing` are agents with how they failed; `told` is a remark such as the count of a vote."""

    status: str
    data: Value = None
    text: str = ""
    missing: tuple[tuple[str, str], ...] = ()
    told: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a plan is carried out on.

    `words` are the person's; `titles` the agents' names for people; `handed` whose results an agent is given anyway;
    `given` the inputs that are no defaults; `halfway` the agents' policies for steps that succeed in part.
    """

    values: Values
    words: str
    done: Mapping[str, Done]
    zh: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)
    handed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: Values = field(default_factory=dict)
    halfway: Mapping[str, Halfway] = field(default_factory=dict)

    def task(self, text: str, item: str | None = None) -> str:
        """A step's own words with its inputs, or what the person asked for."""
        if text:
            return filled(text, self.values, item)
        given = {n: v for n, v in self.given.items() if v and shown(v) not in self.words}
        about = written({**given, **({} if item is None else {"item": item})})
        return "\n\n".join(filter(None, (self.words, about))) or "Do your part."

    def ended(self, calls: Sequence[Planned]) -> list[Done]:
        """How these calls ended, as far as they have."""
        return [self.end(call) for call in calls if call.key in self.done]

    def tried(self, key: str) -> int:
        """How many stand-ins of a call have ended."""
        number = 0
        while again_key(key, number + 1) in self.done:
            number += 1
        return number

    def end(self, call: Planned, tried: int | None = None) -> Done:
        """How a call ended, all stand-ins (or `tried`) included: the last that brought something, else the last."""
        stood_in = self.tried(call.key) if tried is None else tried
        keys = [call.key, *(again_key(call.key, n + 1) for n in range(stood_in))]
        ends = [self.done[key] for key in reversed(keys)]
        best = next((end for end in ends if end.ok), None) or next(
            (end for end in ends if end.usable), ends[0]
        )
        return replace(best, agent=call.agent)

    def open(self, calls: Sequence[Planned]) -> tuple[Planned, ...]:
        """Those without a result."""
        return tuple(call for call in calls if call.key not in self.done)

    def name(self, agent: str) -> str:
        """An agent's name for people."""
        return self.titles.get(agent) or agent


def value_at(path: str, ground: Ground, results: Mapping[str, Result]) -> Value:
    """The value at `inputs.name` (or a bare name) or `step.field`."""
    head, dot, rest = path.partition(".")
    if head == "inputs" or not dot:
        return look(ground.values, rest or head)
    return look(results[head].data, rest) if head in results else None
