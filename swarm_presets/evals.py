"""The cases that a preset brings along, and what a run of one must hold (guide "presets", 2 and 9).

Pure: `gateway/presets/evals.py` runs a case and says what was seen.
"""

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from swarm_presets.part import Comparison
from swarm_presets.positions import Mapping as Tree
from swarm_presets.positions import plain
from swarm_presets.schema import PresetFile
from swarm_presets.schema_flow import CasePart, ExpectPart

DEMO = "demo"  # the model of a case that names none: no key, no price
_ABSENT = object()
QUOTED = 160  # characters of an answer that a shortfall shows


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run came to.

    Attributes:
        status: one of the nine of a delegation, for the run as a whole; `waiting` where nobody answered a question.
        text: the answer as the person reads it.
        delegated: the agents that were given a task, in order; `next_actions`: what followed the last one of each.
        tools: those that ran and brought something, of the supervisor and of its agents.
        data: the JSON value of the answer, else the last that an agent handed back; None for none.
        ungrounded: numbers of the answer that no tool returned.
        usd: None where a model has no known price.
        seconds: from the question to the answer.
    """

    status: str
    text: str = ""
    delegated: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    next_actions: Mapping[str, str] = field(default_factory=dict)
    data: Any = None
    ungrounded: tuple[str, ...] = ()
    usd: float | None = 0.0
    tokens: int = 0
    seconds: float = 0.0


def cases(tree: Tree) -> list[CasePart]:
    """The cases of a resolved preset without errors, those that it inherits included."""
    return list(PresetFile.model_validate(plain(tree)).evals or ())


def shortfalls(expect: ExpectPart, seen: Seen) -> list[str]:
    """What does not hold, one line each; nothing for a case that passes."""
    return [
        *_agents_and_tools(expect, seen),
        *_words(expect, seen),
        *_data(expect, seen),
        *_bounds(expect, seen),
    ]


def _agents_and_tools(expect: ExpectPart, seen: Seen) -> Iterator[str]:
    if expect.status and expect.status != seen.status:
        yield f"status is {seen.status}, not {expect.status}"
    lists = (
        ("delegated", expect.delegated, seen.delegated, True),
        ("not_delegated", expect.not_delegated, seen.delegated, False),
        ("tools", expect.tools, seen.tools, True),
        ("not_tools", expect.not_tools, seen.tools, False),
    )
    for key, wanted, found, present in lists:
        for name in wanted or ():
            if (name in found) is not present:
                there = ", ".join(sorted(set(found))) or "none"
                yield f"{key}: {name} {'is missing' if present else 'is there'} (seen: {there})"
    for agent, action in (expect.next_action or {}).items():
        came = seen.next_actions.get(agent, "nothing: it was given no task")
        if came != action:
            yield f"next_action: {agent} was followed by {came}, not {action}"


def _words(expect: ExpectPart, seen: Seen) -> Iterator[str]:
    text = seen.text.casefold()
    said = " ".join(seen.text.split())[:QUOTED]
    for words in expect.contains or ():
        if words.casefold() not in text:
            yield f"contains: {words!r} is not in the answer: {said!r}"
    for words in expect.not_contains or ():
        if words.casefold() in text:
            yield f"not_contains: {words!r} is in the answer: {said!r}"
    if expect.grounded and seen.ungrounded:
        yield f"grounded: no tool returned {', '.join(seen.ungrounded)}"
    if expect.grounded is False and not seen.ungrounded:
        yield "grounded: every number was returned by a tool"


def _data(expect: ExpectPart, seen: Seen) -> Iterator[str]:
    for pointer, wanted in (expect.output or {}).items():
        value = value_at(seen.data, pointer)
        if value is _ABSENT:
            yield f"output: there is nothing at {pointer}"
        elif not holds(wanted, value):
            yield f"output: {pointer} is {value!r}, wanted {_shown(wanted)}"


def _bounds(expect: ExpectPart, seen: Seen) -> Iterator[str]:
    if expect.max_usd is not None:
        if seen.usd is None:
            yield "max_usd: the cost is unknown, since a model has no known price"
        elif seen.usd > expect.max_usd:
            yield f"max_usd: ${seen.usd:.4f} was spent, ${expect.max_usd:g} allowed"
    if expect.max_tokens is not None and seen.tokens > expect.max_tokens:
        yield f"max_tokens: {seen.tokens} were used, {expect.max_tokens} allowed"
    if expect.max_time is not None and seen.seconds > expect.max_time:
        yield f"max_time: it took {seen.seconds:.1f}s, {expect.max_time:g}s allowed"


def value_at(data: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901); a value that is equal to nothing where there is none."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(data, dict) and key in data:
            data = data[key]
        elif isinstance(data, list) and key.isdigit() and int(key) < len(data):
            data = data[int(key)]
        else:
            return _ABSENT
    return data


def holds(wanted: object, value: Any) -> bool:
    """Whether a value is what a condition wants: equal to it, or within every bound that is written."""
    if not isinstance(wanted, Comparison):
        return _equal(value, wanted)
    bounds = (
        (wanted.lt, operator.lt),
        (wanted.lte, operator.le),
        (wanted.gt, operator.gt),
        (wanted.gte, operator.ge),
    )
    for bound, fits in bounds:
        if bound is not None and not (_is_number(value) and fits(value, bound)):
            return False
    if wanted.in_ is not None and not any(_equal(value, item) for item in wanted.in_):
        return False
    return wanted.not_ is None or not _equal(value, wanted.not_)


def _equal(left: Any, right: Any) -> bool:
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(wanted: object) -> str:
    if isinstance(wanted, Comparison):
        written = wanted.model_dump(exclude_none=True, by_alias=True)
        return ", ".join(f"{key} {value}" for key, value in written.items())
    return repr(wanted)
