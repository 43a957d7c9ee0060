"""YAML 1.2 (core schema) to plain values with the place of every key and value, in one pass over the node tree.

`no`, `on` and `1_000` are text, as YAML 1.2 has it; duplicate keys, tags beyond the core schema and recursive aliases
are problems. JSON is YAML. Reading never executes anything.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml

from gateway.problems import Problem, SettingsError

KeyPath = tuple[str | int, ...]
_Node = yaml.nodes.Node

NODES_MAX = 100_000  # an alias bomb ends here; real files have a few hundred nodes
_CORE = "tag:yaml.org,2002:"
_PLAIN = "plain"  # our own tag for a scalar without quotes and without a tag
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(
    r"[-+]?[0-9]{1,40}\Z"
)  # more digits than that are text; int() refuses thousands of them
_BASED = re.compile(r"0o[0-7]{1,40}\Z|0x[0-9a-fA-F]{1,40}\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]  # libyaml: ten times faster
    """Composes nodes and tells plain scalars from quoted ones; the meaning is given by `scalar`."""

    def resolve(self, kind: type, value: object, implicit: object) -> str:
        if kind is yaml.ScalarNode and isinstance(implicit, tuple) and implicit[0]:
            return _PLAIN
        return str(super().resolve(kind, value, implicit))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key and its value stand; lines and columns count from 1."""

    line: int
    column: int
    value_line: int
    value_column: int


@dataclass(slots=True)
class Document:
    """A read file: its values, and where each of them stands."""

    name: str
    values: dict[str, object] = field(default_factory=dict)
    places: dict[KeyPath, Place] = field(default_factory=dict)


def dotted(path: KeyPath) -> str:
    """`("access", "allow", 0)` as `access.allow[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read(path: Path) -> Document:
    """The document at `path`. Raises SettingsError for a missing, unreadable or broken file."""
    name = str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        cure = "make one with `swarmgate init`, or name another with -c or SWARMGATE_CONFIG"
        raise SettingsError([Problem("there is no such file", cure, name)]) from error
    except UnicodeDecodeError as error:
        raise SettingsError([Problem("is not UTF-8 text", "save it as UTF-8", name)]) from error
    except OSError as error:
        said = (error.strerror or "cannot be read").lower()
        raise SettingsError([Problem(said, "check its path and permissions", name)]) from error
    return parse(text, name)


def parse(text: str, name: str) -> Document:
    """The document in `text`; an empty one has no values. Raises SettingsError."""
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise SettingsError([_syntax(error, name)]) from error
    if root is None:
        return Document(name)
    reader = _Reader(Document(name))
    try:
        values = reader.value(root, ())
    except RecursionError as error:
        raise SettingsError([Problem("is nested too deeply", "write it flatter", name)]) from error
    if values is None:
        values = {}
    if not isinstance(values, dict):
        reader.problem(root, (), "holds no mapping", "begin with a line such as `version: 1`")
    if reader.problems:
        raise SettingsError(reader.problems)
    reader.document.values = cast("dict[str, object]", values)
    return reader.document


def scalar(text: str) -> object:
    """What a plain scalar means in YAML 1.2's core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text)
    if _BASED.match(text):
        return int(text, 0)
    if _FLOAT.match(text):
        return float(text)
    return float(text.replace(".", "", 1)) if _SPECIAL.match(text) else text


def _syntax(error: yaml.YAMLError, name: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
    cure = "check the indentation (spaces only), colons and quotes there"
    if mark is None:
        return Problem(f"is not YAML: {said}", cure, name)
    return Problem(f"is not YAML: {said}", cure, name, mark.line + 1, mark.column + 1)


class _Reader:
    """Walks a node tree once; notes places and problems."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._count = 0

    def problem(self, node: _Node, path: KeyPath, message: str, cure: str) -> None:
        mark = node.start_mark
        place = (mark.line + 1, mark.column + 1)
        self.problems.append(Problem(message, cure, self.document.name, *place, dotted(path)))

    def value(self, node: _Node, path: KeyPath) -> object:
        self._count += 1
        if id(node) in self._open or self._count > NODES_MAX:
            self.problem(node, path, "an alias leads back to itself", "write the value out")
            return None
        self._open.add(id(node))
        try:
            return self._value(node, path)
        finally:
            self._open.discard(id(node))

    def _value(self, node: _Node, path: KeyPath) -> object:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(child, (*path, i)) for i, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _scalar(self, node: _Node, path: KeyPath) -> object:
        text = cast("str", node.value)
        if node.tag == _PLAIN:
            return scalar(text)
        tag = str(node.tag).removeprefix(_CORE)
        if tag in {"null", "bool", "int", "float"}:
            return scalar(text)
        if tag != "str":
            self.problem(node, path, f"the tag {node.tag} is not known", "remove the tag")
        return text

    def _item(self, node: _Node, path: KeyPath) -> object:
        mark = node.start_mark
        self.document.places[path] = Place(*(mark.line + 1, mark.column + 1) * 2)
        return self.value(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_node, path, "a key must be a word", "write it as text")
                continue
            key = cast("str", key_node.value)
            if key in found:
                first = self.document.places[(*path, key)].line
                cure = f"remove one of them (the first is in line {first})"
                self.problem(key_node, (*path, key), "this key stands here twice", cure)
                continue
            at, value_at = key_node.start_mark, value_node.start_mark
            self.document.places[(*path, key)] = Place(
                at.line + 1, at.column + 1, value_at.line + 1, value_at.column + 1
            )
            found[key] = self.value(value_node, (*path, key))
        return found
