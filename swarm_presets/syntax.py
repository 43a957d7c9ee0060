"""YAML 1.2 text into a tree with positions, on PyYAML's node composer.

Core schema only: `no`, `on` and `12:30` are text. Refused, each with its place: duplicate keys, keys that are not
plain words, tags, anchors, merge keys, more than one document, and files or nesting of a size that no preset has.
"""

import re

import yaml
from yaml.reader import ReaderError

from swarm_presets.nodes import ALIAS, MAX_DEPTH, MAX_NODES, TOO_MUCH, compose, slow
from swarm_presets.positions import (
    Entry,
    Leaf,
    Listing,
    Mapping,
    Node,
    Scalar,
    Source,
    Span,
    Unknown,
)
from swarm_presets.problems import Problem, problem

MAX_CHARACTERS = 200_000  # a preset with its prompts inside has some thousands
MAX_TOLD = 10  # anchors and aliases of one file; a hundred of them are one mistake

_FLATTER = "write it flatter, and keep long prompts in files"
_BEGIN = "a preset begins with `version: 1`"
_SHARE = "share values with `extends`, `defaults` and `models`"
_ONCE = "Each key may stand once; the first would have been lost."
_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_SPECIAL = frozenset("0123456789+-.~nNtTfF")  # with what anything but text begins
_TAGGED = re.compile(r"(?:&\S+\s+)?!")
_PLAIN_TAGS = {"tag:yaml.org,2002:" + kind for kind in ("str", "seq", "map")}


def parse(text: str, source: Source) -> tuple[Mapping | None, list[Problem]]:
    """The tree of a file, and what is wrong with its syntax. No tree when it cannot be read at all."""
    if len(text) > MAX_CHARACTERS:
        return None, [_refused(source, "the file is too large", "keep long prompts in files")]
    reader = _TreeReader(source)
    found: Problem
    try:
        root, shared = compose(text)
        reader.anchored(shared)
        tree = reader.node(root, 0) if root is not None else None
        if isinstance(tree, Mapping):
            return tree, reader.problems
        what = "a preset must be a map of keys" if tree else "the file is empty"
        place = tree.span if tree else Span(source, 1, 1, 1)
        found = problem("SW105" if tree else "SW001", what, place, _BEGIN)
    except yaml.MarkedYAMLError as error:
        found = _marked(error, source)
    except ReaderError as error:
        found = _unreadable(error, text, source)
    except _TooMuchError as stop:
        return None, [_too_much(text, source, stop)]
    return None, [*reader.problems, found]


class _TooMuchError(Exception):
    """The document goes beyond the bounds at this place."""

    def __init__(self, span: Span) -> None:
        super().__init__(TOO_MUCH)
        self.span = span


def _too_much(text: str, source: Source, stop: _TooMuchError) -> Problem:
    """The finding where the bounded composer finds it, which is at the node that was one too many."""
    try:
        slow(text)
    except yaml.MarkedYAMLError as error:
        return _marked(error, source)
    return problem("SW001", TOO_MUCH, stop.span, _FLATTER)


class _TreeReader:
    """Turns PyYAML's nodes into ours and collects what is wrong on the way."""

    def __init__(self, source: Source) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._tags = any("!" in line for line in source.lines)
        self._left = MAX_NODES

    def anchored(self, marks: list[yaml.Mark]) -> None:
        """Say that anchors and aliases are not for presets: `explain` could not tell where a value was written."""
        for mark in marks[:MAX_TOLD]:
            span = Span(self._source, mark.line + 1, mark.column + 1, 1)
            word = re.match(r"[&*][^\s,\]}]*", self._source.line(span.line)[span.column - 1 :])
            span = span.sized(len(word[0]) if word else 1)
            self._add("SW001", "anchors and aliases are not used in presets", span, _SHARE)

    def node(self, node: yaml.Node, depth: int) -> Node:
        self._left -= 1
        span = self._span(node)
        if depth >= MAX_DEPTH or self._left < 0:
            raise _TooMuchError(span)
        if (self._tags or node.tag not in _PLAIN_TAGS) and self._tagged(node, span):
            return Unknown(span)
        if isinstance(node, yaml.ScalarNode):
            return Leaf(_scalar(node), node.value, span)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, span, depth)
        items = tuple(self.node(item, depth + 1) for item in node.value)
        return Listing(items, span)

    def _mapping(self, node: yaml.MappingNode, whole: Span, depth: int) -> Mapping:
        entries: dict[str, Entry] = {}
        self._left -= len(node.value)  # the keys
        for key, value in node.value:
            span = self._span(key)
            if isinstance(key, yaml.ScalarNode) and key.value == "<<" and not key.style:
                self._add("SW001", "merge keys `<<` are not part of YAML 1.2", span, _SHARE)
            elif not isinstance(key, yaml.ScalarNode):
                self._add("SW001", "a key must be a plain word", span, "write `key: value`")
            elif key.value in entries:
                self._add("SW002", f"duplicate key `{key.value}`", span, _ONCE)
            else:
                entries[key.value] = Entry(span, self.node(value, depth + 1))
        return Mapping(entries, whole)

    def _tagged(self, node: yaml.Node, span: Span) -> bool:
        if node.tag == ALIAS:
            return True  # told with the anchors
        line = self._source.line(span.line)
        marked = "!" in line and _TAGGED.match(line, span.column - 1)
        if node.tag in _PLAIN_TAGS and not marked:
            return False
        self._add("SW001", "tags such as `!name` are not used in presets", span, "remove it")
        return True

    def _add(self, code: str, message: str, span: Span, cure: str) -> None:
        self.problems.append(problem(code, message, span, cure))

    def _span(self, node: yaml.Node) -> Span:
        start, end = node.start_mark, node.end_mark
        line, column = start.line, start.column
        last = end.column if end.line == line else len(self._source.line(line + 1).rstrip())
        return Span(self._source, line + 1, column + 1, max(1, last - column))


def _scalar(node: yaml.ScalarNode) -> Scalar:
    text: str = node.value
    return text if node.style else _plain(text)  # quoted or block: text in any case


def _plain(text: str) -> Scalar:
    """What a scalar without quotes means."""
    if text and text[0] not in _SPECIAL:
        return text
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text):
        return _integer(text)
    return _float(text) if _FLOAT.match(text) else text


def _integer(text: str) -> Scalar:
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    # A number of thousands of digits is no number that a preset means, and costs quadratic time.
    return int(text, base) if len(text) <= 40 else text


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _marked(error: yaml.MarkedYAMLError, source: Source) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if line > len(source.lines) and source.lines:  # at the end of the file: show its last line
        line, column = len(source.lines), len(source.lines[-1]) + 1
    text = source.line(line)
    span = Span(source, line, column, 1)
    if text[column - 1 : column] == "\t":
        return problem("SW001", "a tab where YAML wants spaces", span, "indent with spaces")
    if error.problem == TOO_MUCH:
        return problem("SW001", TOO_MUCH, span, _FLATTER)
    said = " ".join(filter(None, (error.context, error.problem)))
    return problem("SW001", f"not YAML: {said}", span, _cure(said))


def _cure(said: str) -> str:
    if "alias" in said:
        return "define the anchor `&name` before `*name`"
    if "single document" in said:
        return "one preset a file: remove the second `---`"
    if "quoted scalar" in said:
        return "close the quote"
    return "check indentation, colons, brackets and quotes here"


def _unreadable(error: ReaderError, text: str, source: Source) -> Problem:
    before = text[: error.position]
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    found = ord(error.character) if isinstance(error.character, str) else error.character
    message = f"the character U+{found:04X} is not allowed in YAML"
    return problem("SW001", message, Span(source, line, column, 1), "remove it")


def _refused(source: Source, message: str, cure: str) -> Problem:
    return problem("SW001", message, Span(source, 1, 1, 1), cure)


_BARE = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`](?:[^\n\t:#,\[\]{}]|:(?=\S)(?![,\[\]{}]))*")


def reads_as_text(text: str) -> bool:
    """Whether a text needs no quotes to be the same text again, also inside `[…]` and `{…}`."""
    bare = _BARE.fullmatch(text) is not None and text == text.strip()
    return bare and isinstance(_plain(text), str)
