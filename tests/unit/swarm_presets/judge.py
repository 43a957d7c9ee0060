"""As much of JSON Schema as the presets' schema uses, to hold it against the typed models.

Raises KeyError for a keyword that it does not know, so that nothing is passed over in silence.
"""

import re
from collections.abc import Callable
from typing import Any

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: type(v) is int,
    "number": lambda v: type(v) in (int, float),
    "boolean": lambda v: type(v) is bool,
    "null": lambda v: v is None,
}
NOTES = {"title", "description", "default", "examples", "$defs", "$schema"}


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def accepts(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    return all(KEYWORDS[key](schema, value, root) for key in schema if key not in NOTES)


def _others(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    """`additionalProperties`: what neither a name nor a pattern covers."""
    wanted = schema["additionalProperties"]
    covered = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    return all(
        wanted is not False and accepts(wanted, inner, root)
        for key, inner in _items(value)
        if key not in covered and not any(re.search(p, key) for p in patterns)
    )


def _named(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    named = schema["properties"]
    return all(accepts(named[k], v, root) for k, v in _items(value) if k in named)


def _matching(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    patterns = schema["patternProperties"].items()
    return all(
        accepts(inner, v, root)
        for p, inner in patterns
        for k, v in _items(value)
        if re.search(p, k)
    )


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> bool:
    return type(value) in (int, float)


KEYWORDS: dict[str, Callable[[dict[str, Any], Any, dict[str, Any]], bool]] = {
    "$ref": lambda s, v, root: accepts(root["$defs"][s["$ref"].rpartition("/")[2]], v, root),
    "anyOf": lambda s, v, root: any(accepts(one, v, root) for one in s["anyOf"]),
    "oneOf": lambda s, v, root: sum(accepts(one, v, root) for one in s["oneOf"]) == 1,
    "type": lambda s, v, _: TYPES[s["type"]](v),
    "const": lambda s, v, _: same(v, s["const"]),
    "enum": lambda s, v, _: any(same(v, one) for one in s["enum"]),
    "pattern": lambda s, v, _: not isinstance(v, str) or bool(re.search(_ecma(s["pattern"]), v)),
    "minLength": lambda s, v, _: not isinstance(v, str) or len(v) >= s["minLength"],
    "maxLength": lambda s, v, _: not isinstance(v, str) or len(v) <= s["maxLength"],
    "minimum": lambda s, v, _: not _number(v) or v >= s["minimum"],
    "maximum": lambda s, v, _: not _number(v) or v <= s["maximum"],
    "exclusiveMinimum": lambda s, v, _: not _number(v) or v > s["exclusiveMinimum"],
    "items": lambda s, v, root: all(accepts(s["items"], one, root) for one in _listed(v)),
    "required": lambda s, v, _: not isinstance(v, dict) or all(k in v for k in s["required"]),
    "properties": _named,
    "propertyNames": lambda s, v, root: all(
        accepts(s["propertyNames"], k, root) for k, _ in _items(v)
    ),
    "patternProperties": _matching,
    "additionalProperties": _others,
}


def _ecma(pattern: str) -> str:
    """In JSON Schema's dialect `$` is the very end; in Python's a line break may follow."""
    return pattern.replace("$", r"\Z")
