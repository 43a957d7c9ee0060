"""The JSON Schema that a foreign server gives for a tool's arguments: what of it is taken, shown, and judged by.

A schema is a stranger's text and a stranger's program. Its words are clipped; no reference leaves it; and nothing in
it can keep the judge busy: patterns, and what is too intricate, are left to the server, which judges by itself anyway.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_core.tools.untrusted import one_line

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MOST_CHARS = 16_000  # of a schema as JSON: some 4,000 tokens of each request
DEEPEST = 12
NOTE_CHARS = 300
INTRICATE = 2_000  # parts of a schema with its references followed
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")  # what every provider takes
_UNSHOWN = (
    "$schema",
    "$id",
    "oneOf",
    "anyOf",
    "allOf",
)  # at the top, where not every provider takes them
_PATTERNS = ("pattern", "patternProperties", "format")
_NAMES = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples", "required")
Schema = dict[str, Any]


class BadSchema(ValueError):
    """A schema that no tool can be made of; its one line says why."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A schema that was taken: `shown` to models, and `judge` for arguments (None: only the server can judge)."""

    shown: Schema
    judge: "Validator | None"

    def complaint(self, args: dict[str, Any]) -> str:
        """What is wrong with arguments, in one line; "" for nothing. Bounded work."""
        if self.judge is None:
            return ""
        found = sorted(self.judge.iter_errors(args), key=lambda error: list(map(str, error.path)))
        return "; ".join(
            f"{'.'.join(map(str, error.path)) or 'arguments'}: {one_line(error.message, 160)}"
            for error in found[:4]
        )


def judged(schema: object) -> Judged:
    """Take a server's schema. Raises BadSchema. The library is imported here, at the first foreign tool."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise BadSchema("its arguments are no object")
    if _depth(schema) > DEEPEST:  # first: what follows goes down by recursion
        raise BadSchema(f"its schema is nested deeper than {DEEPEST} levels")
    if len(json.dumps(schema, ensure_ascii=False)) > MOST_CHARS:
        raise BadSchema(f"its schema is longer than {MOST_CHARS:,} characters")
    if any(not str(ref).startswith("#") for ref in _references(schema)):
        raise BadSchema("its schema refers to another document")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise BadSchema(f"its schema is none: {one_line(error.message, 160)}") from None
    odd = [name for name in schema.get("properties", {}) if not _PROPERTY.fullmatch(name)]
    if odd:
        raise BadSchema(f"no provider takes an argument named {one_line(odd[0], 80)!r}")
    plain = _without_patterns(schema)
    count = _count(plain)
    judge = Draft202012Validator(plain, registry=Registry()) if count else None
    shown = {"type": "object", **_clipped(schema)}
    return Judged({k: v for k, v in shown.items() if k not in _UNSHOWN}, judge)


def _depth(schema: object) -> int:
    """How deep values stand in each other, DEEPEST + 1 for all that is deeper."""
    level: list[object] = [schema]
    for depth in range(DEEPEST * 2 + 1):  # a property is two steps down
        level = [inner for value in level for inner in _inner(value)]
        if not level:
            return (depth + 1) // 2
    return DEEPEST + 1


def _inner(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _references(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from (value[k] for k in ("$ref", "$dynamicRef", "$recursiveRef") if k in value)
    for inner in _inner(value):
        yield from _references(inner)


def _count(schema: Schema) -> int:
    """How many parts there are with references followed; 0 where they are too many, or lead in a circle or nowhere."""
    waiting: list[object] = [schema]
    count = 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > INTRICATE:
            return 0
        if isinstance(part, dict):
            if "$dynamicRef" in part or "$id" in part or "$anchor" in part:
                return 0
            if isinstance(ref := part.get("$ref"), str):
                found = _followed(schema, ref)
                if found is None:
                    return 0
                waiting.append(found)
            waiting.extend(v for k, v in part.items() if k not in ("$defs", "definitions", *_DATA))
        elif isinstance(part, list):
            waiting.extend(part)
    return count


def _followed(schema: Schema, ref: str) -> object | None:
    found: object = schema
    for step in ref.removeprefix("#").split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def _without_patterns(schema: Any, *, named: bool = False) -> Any:
    """The schema without regular expressions: one of a stranger may run for ever. `named`: the keys are names."""
    if isinstance(schema, list):
        return [_without_patterns(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    gone: tuple[str, ...] = () if named else _PATTERNS
    if "patternProperties" in schema and not named:
        gone = (*_PATTERNS, "additionalProperties", "unevaluatedProperties")
    return {
        key: value
        if key in _DATA and not named
        else _without_patterns(value, named=key in _NAMES and not named)
        for key, value in schema.items()
        if key not in gone
    }


def _clipped(schema: Any, *, named: bool = False) -> Any:
    """The schema with its prose clipped to one line each, without titles and comments."""
    if isinstance(schema, list):
        return [_clipped(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    kept: Schema = {}
    for key, value in schema.items():
        if named or key not in ("title", "$comment", "description", *_DATA):
            kept[key] = _clipped(value, named=key in _NAMES and not named)
        elif key == "description":
            kept[key] = one_line(str(value), NOTE_CHARS)
        elif key in _DATA:
            kept[key] = value
    return kept
