"""Rules of consent as data: which call needs whose yes (guide "presets", 6; TGV-4, TGV-6 … TGV-9).

Rules add up: each one that matches a call must be satisfied. A value that cannot be judged (an argument that is
missing, a text where a number is compared) counts as a match, since a further rule can only make it stricter.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Scalar = str | int | float | bool
Op = Literal["is", "not", "lt", "lte", "gt", "gte", "in"]
Remember = Literal["never", "run", "session", "always"]
Where = Literal["here", "direct_message", "ops_channel"]
_SCOPES: tuple[Remember, ...] = ("never", "run", "session", "always")  # narrow to wide


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one argument. `field` may be a path with dots; of a list, one item that holds is enough."""

    field: str
    op: Op
    value: Scalar | tuple[Scalar, ...]

    def holds(self, args: Mapping[str, Any]) -> bool:
        """Whether it holds, or cannot be judged."""
        found = _look_up(args, self.field)
        values = found if isinstance(found, list) and found else [found]
        return any(self._one(value) for value in values)

    def _one(self, value: Any) -> bool:
        if not isinstance(value, Scalar):
            return True
        match self.op:
            case "is":
                return _alike(value, self.value)
            case "in":
                wanted = self.value if isinstance(self.value, tuple) else (self.value,)
                return any(_alike(value, one) for one in wanted)
            case "not":
                return value != self.value or type(value) is not type(self.value)
            case _:
                return self._compare(value)

    def _compare(self, value: Scalar) -> bool:
        number, bound = _number(value), _number(self.value)
        if number is None or bound is None:
            return True
        return {
            "lt": number < bound,
            "lte": number <= bound,
            "gt": number > bound,
            "gte": number >= bound,
        }[self.op]


def _look_up(args: Mapping[str, Any], field: str) -> Any:
    if field in args:
        return args[field]
    found: Any = args
    for key in field.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _alike(value: Scalar, wanted: object) -> bool:
    """Equal for a rule: neither the case of a text nor the form of a number lets a call slip by."""
    a, b = _number(value), _number(wanted)
    if a is not None and b is not None:
        return a == b
    return str(value).strip().casefold() == str(wanted).strip().casefold()


@dataclass(frozen=True, slots=True)
class Rule:
    """Who must say yes to a call of `tool` for which every condition of `when` holds.

    `by`: requester, admin, role:NAME or user:ID; `quorum` counts different people, `not_requester` leaves out who asks.
    `expires` is in seconds (None: the gateway's default). `editable` names the arguments that an approver may change
    (None: the rule says nothing about it). `show` orders what the approver reads; `where` is where it is asked.
    """

    tool: str
    when: tuple[Condition, ...] = ()
    by: tuple[str, ...] = ("requester", "admin")
    not_requester: bool = False
    quorum: int = 1
    expires: float | None = None
    remember: Remember = "never"
    show: tuple[str, ...] = ()
    editable: tuple[str, ...] | None = None
    where: Where = "here"

    def matches(self, args: Mapping[str, Any]) -> bool:
        """Whether the rule holds for a call with these arguments, defaults filled in."""
        return all(condition.holds(args) for condition in self.when)


def of_tool(rules: Iterable[Rule], tool: str) -> tuple[Rule, ...]:
    """The rules that name a tool."""
    return tuple(rule for rule in rules if rule.tool == tool)


def matching(rules: Iterable[Rule], args: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules that a call with these arguments must satisfy, each once."""
    return tuple(dict.fromkeys(rule for rule in rules if rule.matches(args)))


def valid_for(rules: Sequence[Rule], default: float) -> float:
    """Seconds until a question under these rules expires: the shortest that is written."""
    return min((rule.expires for rule in rules if rule.expires is not None), default=default)


def may_change(rules: Sequence[Rule]) -> frozenset[str]:
    """The arguments that an approver may change: those that every rule with a say allows."""
    said = [frozenset(rule.editable) for rule in rules if rule.editable is not None]
    return frozenset.intersection(*said) if said else frozenset()


def kept_for(rules: Sequence[Rule]) -> Remember:
    """How long a yes may be remembered: as short as the strictest rule says."""
    return _SCOPES[min((_SCOPES.index(rule.remember) for rule in rules), default=0)]


def in_order(rules: Sequence[Rule]) -> tuple[str, ...]:
    """The arguments to be read first."""
    return tuple(dict.fromkeys(name for rule in rules for name in rule.show))


def to_json(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Rules as plain data."""
    return [asdict(rule) for rule in rules]


def from_json(data: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """What `to_json` made, also after it was text."""
    return tuple(_rule(entry) for entry in data)


def _rule(entry: Mapping[str, Any]) -> Rule:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    fields["when"] = tuple(
        Condition(c["field"], c["op"], tuple(v) if isinstance(v := c["value"], list) else v)
        for c in entry["when"]
    )
    return Rule(**fields)


def digest(rules: Sequence[Rule]) -> str:
    """What a remembered yes is bound to: a rule that changes asks again."""
    return hashlib.sha256(json.dumps(to_json(rules), sort_keys=True).encode()).hexdigest()
