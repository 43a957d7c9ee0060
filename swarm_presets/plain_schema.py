"""Whether a JSON Schema is of the plain kind that cannot be wrong, told without the library that judges all of them.

Importing that takes 2 MB and a twentieth of a second of a start, and most contracts in presets are plain. The keywords
and what they take: JSON Schema, draft 2020-12, vocabularies core, applicator, validation and meta-data.
"""

from collections.abc import Callable
from typing import Any

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def is_plain(schema: object) -> bool:
    """True: the meta-schema holds. False: nobody knows yet."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    return all(key in _TAKES and _TAKES[key](value) for key, value in schema.items())


def _type(value: Any) -> bool:
    several = value if isinstance(value, list) else [value]
    return _words(several) and bool(several) and set(several) <= TYPES


def _words(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return False
    return len(set(value)) == len(value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_TAKES: dict[str, Callable[[Any], bool]] = {
    "type": _type,
    "properties": lambda v: isinstance(v, dict) and all(map(is_plain, v.values())),
    "items": is_plain,
    "additionalProperties": is_plain,
    "required": _words,
    "enum": lambda v: isinstance(v, list),
    "title": lambda v: isinstance(v, str),
    "description": lambda v: isinstance(v, str),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), _count),
}
