"""The demo planner's answers in the form that an output contract asks for, filled from what tools returned.

Nothing is invented. Text is quoted line by line from the plain answer or from what other agents handed over; a number
stands in a result under its own name; a choice is the one that a result names, else the neutral one; a score that is
the answerer's own (0 to 1) is the least, since a planner that follows rules is sure of nothing. A field that must be
there and that nothing fills leaves no value: the answer then stays plain, and the contract judges it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agent_core.models.demo_ask import Language
from agent_core.models.demo_known import Known
from agent_core.models.demo_turn import Turn

_WANTED = re.compile(
    r"must be one JSON value and nothing else, of at most (\d+) characters(?:, valid by this JSON Schema:\n(\{.*\}))?"
)
LINES = 6  # quoted in one list, where the schema does not bound it
DEPTH = 12
NEUTRAL = (
    *("hold", "neutral", "sideways", "unchanged", "flat", "mixed", "abstain", "unclear", "unknown"),
    *("none", "medium", "持有", "中性", "观望", "震荡", "不确定", "未知"),
)
SAME = {"up": "long", "long": "buy", "short": "sell"}  # what results call it → what contracts do
SOURCES = frozenset({"source", "sources", "citation", "citations", "references"})
SYMBOLS = frozenset({"symbols", "tickers"})
# What speaks of a level answers what would prove a view wrong.
LEVELS = re.compile(r"support|lowest|支撑|最低", re.IGNORECASE)
WRONG = re.compile(r"wrong|invalid|stop|refut", re.IGNORECASE)
NOTHING: dict[Language, str] = {
    "en": "The demo planner has nothing more that a tool returned.",
    "zh": "演示规划器没有更多来自工具的内容。",
}
Schema = Mapping[str, Any]


class _Unfilled(Exception):
    """Nothing that is known fits here."""


def in_form(system: str, text: str, turn: Turn, language: Language) -> str:
    """The answer as the system text wants it: JSON where it asks for JSON, else `text` as it is."""
    wanted = _WANTED.search(system)
    if wanted is None:
        return text
    schema = json.loads(wanted[2]) if wanted[2] else {"type": "object"}
    for most in range(LINES, 0, -1):
        known = Known.of(text, turn, language, most)
        try:
            made = _Filler(known, schema).fill(schema, "", 0)
        except _Unfilled:
            return text
        body = json.dumps(_plain(made), ensure_ascii=False)
        if len(body) <= int(wanted[1]):
            return body
    return text


@dataclass(frozen=True, slots=True)
class _Filler:
    """Fills one schema. Every method raises `_Unfilled` where nothing fits."""

    known: Known
    root: Schema

    def fill(
        self, schema: Any, name: str, depth: int, place: Mapping[str, Any] | None = None
    ) -> Any:
        """A value for a (sub)schema; `name` is the key that it stands under, `place` the one result it is about."""
        if not isinstance(schema, Mapping) or depth > DEPTH:
            raise _Unfilled
        if "$ref" in schema:
            return self.fill(self._referred(str(schema["$ref"])), name, depth + 1, place)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choice(schema["enum"], name, place)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._first(schema[key], name, depth, place)
        return self._typed(schema, name, depth, place)

    def _referred(self, pointer: str) -> Any:
        node: Any = self.root
        for part in pointer.removeprefix("#").split("/")[1:]:
            node = node.get(part) if isinstance(node, Mapping) else None
        return node

    def _first(self, options: Any, name: str, depth: int, place: Any) -> Any:
        for option in options if isinstance(options, list) else ():
            try:
                return self.fill(option, name, depth + 1, place)
            except _Unfilled:
                continue
        raise _Unfilled

    def _typed(self, schema: Schema, name: str, depth: int, place: Any) -> Any:
        kinds = schema.get("type") or _guessed(schema)
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            try:
                return self._of_type(kind, schema, name, depth, place)
            except _Unfilled:
                continue
        if "default" in schema:
            return schema["default"]
        raise _Unfilled

    def _of_type(self, kind: str, schema: Schema, name: str, depth: int, place: Any) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth, place)
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return self._string(schema, name, place)
            case "number" | "integer":
                return self._number(schema, name, place, whole=kind == "integer")
            case "boolean":
                return False
            case "null":
                return None
            case _:
                raise _Unfilled

    def _object(self, schema: Schema, depth: int, place: Any) -> dict[str, Any]:
        """Required fields, and those optional ones that a result has by their name; lists take what others leave."""
        made: dict[str, Any] = {}
        required = schema.get("required") or ()
        properties = schema.get("properties") or {}
        names = list(dict.fromkeys([*properties, *required]))
        for name in sorted(names, key=lambda n: _is_list(properties.get(n))):
            part = properties.get(name, {"type": "string"})
            if name in required:
                made[name] = self.fill(part, name, depth + 1, place)
            elif self.known.value(name, place) is not None or name in SOURCES:
                try:
                    made[name] = self.fill(part, name, depth + 1, place)
                except _Unfilled:
                    continue
        return made

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", self.known.most)
        most = max(least, min(most, self.known.most))
        found = list(self._items(schema.get("items", {"type": "string"}), name, depth, most))
        if schema.get("uniqueItems"):
            found = list({json.dumps(_plain(item)): item for item in found}.values())
        if len(found) < least and not schema.get("uniqueItems") and _is_text(schema):
            found += [NOTHING[self.known.language]] * (least - len(found))
        if len(found) < least:
            raise _Unfilled
        return found

    def _items(self, schema: Any, name: str, depth: int, most: int) -> Iterator[Any]:
        given = self._named(name) if _is_text({"items": schema}) else None
        if given is not None:
            yield from given[:most]
            return
        whole = isinstance(schema, Mapping) and (
            schema.get("type") == "object" or "properties" in schema
        )
        places: Iterable[Any] = self.known.results if whole else [None] * most
        for count, place in enumerate(places):
            if count >= most:
                return
            if place is None and _is_text({"items": schema}):
                line = self.known.line()
                if line is None:
                    return
                yield _clipped(line, schema)
                continue
            try:
                yield self.fill(schema, name, depth + 1, place)
            except _Unfilled:
                continue

    def _named(self, name: str) -> Sequence[str] | None:
        if name.lower() in SOURCES:
            return self.known.sources
        if name.lower() in SYMBOLS:
            return list(dict.fromkeys(self.known.symbols))
        return None

    def _string(self, schema: Schema, name: str, place: Any) -> str:
        named = self._named(name)
        if named:
            return ", ".join(named)
        value = self.known.value(name, place)
        if isinstance(value, str | Decimal | int) and str(value):
            return _fitting(str(value), schema)
        if "format" in schema or "pattern" in schema:
            raise _Unfilled
        line = self.known.line(LEVELS) if WRONG.search(name) else self.known.line()
        return _fitting(_clipped(line or NOTHING[self.known.language], schema), schema)

    def _number(self, schema: Schema, name: str, place: Any, *, whole: bool) -> Any:
        value = self.known.value(name, place)
        if isinstance(value, list) and value:  # levels, the nearest first
            value = value[0]
        if isinstance(value, Decimal) and _within(value, schema, whole=whole):
            return value
        if schema.get("minimum", -1) >= 0 and schema.get("maximum", 2) <= 1 and not whole:
            return schema["minimum"]
        raise _Unfilled

    def _choice(self, options: Any, name: str, place: Any) -> Any:
        """The option that a result names under this key, or as its trend; else the neutral one, else the middle one."""
        by_word = {str(option).lower(): option for option in options}
        named = [self.known.value(name, place)]
        for result in (place,) if place is not None else self.known.results:
            trend = result.get("trend")
            named.append(trend.get("direction") if isinstance(trend, Mapping) else None)
        words = [str(value).lower() for value in named if value is not None]
        for word in (*words, *(SAME[word] for word in words if word in SAME), *NEUTRAL):
            if word in by_word:
                return by_word[word]
        if not options:
            raise _Unfilled
        return options[len(options) // 2]


def _guessed(schema: Schema) -> str:
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _is_list(schema: Any) -> bool:
    return isinstance(schema, Mapping) and (schema.get("type") == "array" or "items" in schema)


def _is_text(schema: Schema) -> bool:
    items = schema.get("items", {"type": "string"})
    return (
        isinstance(items, Mapping)
        and items.get("type", "string") == "string"
        and not (
            items.keys()
            & {"enum", "const", "$ref", "anyOf", "oneOf", "format", "pattern", "properties"}
        )
    )


def _clipped(line: str, schema: Schema) -> str:
    most = schema.get("maxLength")
    return line if most is None or len(line) <= most else line[: max(0, most - 1)] + "…"


def _fitting(value: str, schema: Schema) -> str:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        raise _Unfilled
    if "pattern" in schema and not re.search(str(schema["pattern"]), value):
        raise _Unfilled
    return value


def _within(value: Decimal, schema: Schema, *, whole: bool) -> bool:
    number = float(value)
    least, most = schema.get("minimum", number), schema.get("maximum", number)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return bool(
        least <= number <= most
        and (above is None or number > above)
        and (below is None or number < below)
        and (not whole or value == value.to_integral_value())
    )


def _plain(value: Any) -> Any:
    """With numbers as JSON writes them."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
