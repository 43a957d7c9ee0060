"""The typed models' complaints in words: what, where and the cure (SW102, SW103, SW105)."""

import re
from typing import Any

from pydantic_core import ErrorDetails

from swarm_presets.part import FIELD_NAME
from swarm_presets.positions import KEY_STEP, Leaf, Listing, Mapping, Node, Path, find, key_span
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.scalars import MODEL_NAME, TOOL_NAME
from swarm_presets.schema_rules import APPROVER, AS_OF, CRON, PLACE

MAX_SHOWN = 40  # characters of a wrong value that are repeated

# pydantic's type of complaint -> what the value must be, and how that is written
_KINDS = {
    "string_type": ("text", "write text, in quotes if it looks like a number"),
    "int_type": ("a whole number", "write a whole number without quotes, such as `8`"),
    "int_from_float": ("a whole number", "write a whole number, such as `8`"),
    "float_type": ("a number", "write a number without quotes, such as `0.15`"),
    "bool_type": ("true or false", "write `true` or `false`"),
    "list_type": ("a list", "write a list, such as `[a, b]`"),
    "dict_type": ("a map", "write `key: value` lines, indented"),
    "model_type": ("a map", "write `key: value` lines, indented"),
}
# pattern of a text -> what it must be, and how that is written
_FORMS = {
    AS_OF: ("not a day", "write `now`, a day such as `2012-06-29`, or `{{ inputs.as_of }}`"),
    APPROVER: ("not an approver", "write `requester`, `admin`, `role:…` or `user:…`"),
    CRON: ("not a cron line", 'write five fields, such as `"30 9 * * 1-5"`'),
    PLACE: ("not a chat", "write platform and id, such as `telegram:123`"),
    FIELD_NAME: ("not the name of a field", "write letters, digits, `_`, `.` and `-`"),
    TOOL_NAME: ("not the name of a tool", "write letters, digits, `_`, `.` and `-`"),
    MODEL_NAME: (
        "not the name of a model",
        "write an alias, `auto`, `demo` or `<provider>/<model>`",
    ),
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least {}"),
    "less_than_equal": ("le", "at most {}"),
    "greater_than": ("gt", "more than {}"),
    "less_than": ("lt", "less than {}"),
    "string_too_short": ("min_length", "at least {} character"),
    "too_short": ("min_length", "at least {} in the list"),
    "too_long": ("max_length", "at most {} in the list"),
    "string_too_long": ("max_length", "at most {} characters; long prompts belong in a file"),
}


def complaint(tree: Node, detail: ErrorDetails) -> Problem:
    """One complaint about a value, or about the name that a map's key gives."""
    path: Path = detail["loc"]
    kind = detail["type"]
    if path[-1] == KEY_STEP:
        return problem("SW102", f"`{path[-2]}` is no name", key_span(tree, path), _NAME_CURE)
    node = find(tree, path)
    shown, key = _shown(node), _key(path)
    if kind in _KINDS:
        wanted, cure = _KINDS[kind]
        message = f"`{key}` must be {wanted}, not {shown}" if key else f"{shown} is not {wanted}"
        return problem("SW105", message, node.span, cure)
    if kind == "duration":
        cure = "write a number and ms, s, m, h or d, such as `4m`"
        return problem("SW103", f"{shown} is not a duration", node.span, cure)
    message, cure = _wrong(kind, shown, detail.get("ctx", {}), node)
    return problem("SW102", message, node.span, cure)


_NAME_CURE = "begin with a letter a-z; then letters, digits, `-` and `_`"


def _wrong(kind: str, shown: str, context: dict[str, Any], node: Node) -> tuple[str, str]:
    """Message and cure for a value of the right type that is not allowed."""
    if (known := _said(kind, shown)) is not None:
        return known
    if kind == "literal_error":
        allowed = re.findall(r"[\w-]+", str(context["expected"]).replace(" or ", " "))
        text = node.text if isinstance(node, Leaf) else ""
        return f"{shown} is not allowed here", suggest(text, allowed, "remove it")
    if kind == "string_pattern_mismatch":
        wanted, cure = _FORMS.get(str(context.get("pattern")), ("no name", _NAME_CURE))
        return f"{shown} is {wanted}", cure
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        subject = shown if shown != "``" else "an empty text"
        return f"{subject} is not allowed here", words.format(context[name])
    return f"{shown} is not allowed here", "write another value"


def _said(kind: str, shown: str) -> tuple[str, str] | None:
    """Message and cure for the kinds of complaint that need nothing but the value."""
    match kind:
        case "tokens":
            cure = "write a whole number, or one with k or M, such as `20k`"
            return f"{shown} is not a number of tokens", cure
        case "duration_zero":
            return f"{shown} is too short", "more than nothing, such as `1s`"
        case "scalar":
            return f"{shown} is not one value", "write text, a number, `true` or `false`"
        case _:
            return None


def _key(path: Path) -> str:
    """The key whose value is wrong; nothing for list items and for union branches."""
    words = [step for step in path if not str(step).startswith("<")]
    return words[-1] if words and isinstance(words[-1], str) else ""


def _shown(node: Node) -> str:
    match node:
        case Mapping():
            return "a map"
        case Listing():
            return "a list"
        case Leaf(value, text):
            if value is None:
                return "nothing"
            head = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
            return f"`{' '.join(head.split())}`"
        case _:
            return "this"
