"""Inputs and conditions: what a declaration must have, and values that fit it (SW102, SW104)."""

import datetime as dt
from collections.abc import Iterator

from swarm_presets.parts import number
from swarm_presets.positions import Leaf, Listing, Mapping, Node, at
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.shape import missing

_NUMBERS = ("number", "integer")
# key -> the types that it means something for
_ONLY = {
    "choices": ("choice",),
    "min": _NUMBERS,
    "max": _NUMBERS,
    "max_items": ("symbols",),
}


def input_meaning(tree: Mapping) -> Iterator[Problem]:
    """All findings about the inputs of a resolved preset, and about the day as of which it looks at things."""
    yield from _no_day(tree, at(tree, "data", "as_of"))
    inputs = tree.get("inputs")
    if not isinstance(inputs, Mapping):
        return
    for name, entry in inputs.entries.items():
        kind = entry.node.get("type") if isinstance(entry.node, Mapping) else None
        if isinstance(entry.node, Mapping) and isinstance(kind, Leaf):
            if kind.text == "choice" and "choices" not in entry.node.entries:
                yield missing("choices", entry.key, f"list what `{name}` may be: `choices: […]`")
            yield from _without_meaning(entry.node, kind.text)
            yield from _default(entry.node, kind.text)


def _no_day(tree: Mapping, node: Node | None) -> Iterator[Problem]:
    """A day that does not exist, or an input that is none."""
    if not isinstance(node, Leaf) or node.text == "now":
        return
    if "{" in node.text:
        name = node.text.strip("{} ").removeprefix("inputs.")
        kind = at(tree, "inputs", name, "type")
        if isinstance(kind, Leaf) and kind.text != "date":
            message = f"the input `{name}` is a {kind.text}, no day"
            yield problem("SW102", message, node.span, "name an input of type `date`")
        return
    try:
        dt.date.fromisoformat(node.text)
    except ValueError:
        cure = "write a day that exists, such as `2026-01-31`, or `now`"
        yield problem("SW102", f"`{node.text}` is no day", node.span, cure)


def _without_meaning(part: Mapping, kind: str) -> Iterator[Problem]:
    for key, kinds in _ONLY.items():
        if key in part.entries and kind not in kinds:
            message = f"`{key}` means nothing for an input of type `{kind}`"
            cure = f"remove it, or use type {' or '.join(kinds)}"
            yield problem("SW102", message, part.entries[key].key, cure)


def _default(part: Mapping, kind: str) -> Iterator[Problem]:
    default = part.get("default")
    if default is None:
        return
    wrong = _mismatch(default, kind) or _outside(part, default)
    if wrong:
        yield problem("SW102", "the default does not fit its own input", default.span, wrong)


def _mismatch(default: Node, kind: str) -> str:
    """How a value of this type is written, where the default is another one."""
    if (kind == "symbols") != isinstance(default, Listing):
        return "write a list" if kind == "symbols" else "write one value"
    value = default.value if isinstance(default, Leaf) else ""
    if kind == "boolean":
        return "" if isinstance(value, bool) else "write `true` or `false`"
    if kind in _NUMBERS:
        whole = kind == "integer" and isinstance(value, float)
        return "write a number" if whole or number(default) is None else ""
    return "" if isinstance(value, str) else "write text, in quotes if it looks like a number"


def _outside(part: Mapping, default: Node) -> str:
    choices = part.get("choices")
    if isinstance(choices, Listing) and isinstance(default, Leaf):
        allowed = [item.text for item in choices.items if isinstance(item, Leaf)]
        return "" if default.text in allowed else suggest(default.text, allowed, "add choices")
    value, low, high = number(default), number(part.get("min")), number(part.get("max"))
    if value is not None and low is not None and value < low:
        return f"at least {low:g}"
    if value is not None and high is not None and value > high:
        return f"at most {high:g}"
    return ""
