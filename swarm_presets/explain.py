"""What a preset comes to with all that it inherits, where each value was written, and how two presets differ."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from swarm_presets.positions import Leaf, Listing, Mapping, Node, Span
from swarm_presets.syntax import reads_as_text

_ABOUT = frozenset({"extends", "abstract"})  # about the file, not about the work
_WIDTH = 56  # columns before the place


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a resolved preset: its path with dots, itself as YAML has it, and where it was written."""

    path: str
    value: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A path whose value differs; None on the side that has none."""

    path: str
    left: Value | None
    right: Value | None


def values(tree: Mapping) -> list[Value]:
    """Every value of a resolved preset, in the order of the tree. Lists of plain values are one value."""
    return list(_values(tree, ""))


def _values(node: Node, path: str) -> Iterator[Value]:
    match node:
        case Mapping(entries) if entries:
            for key, entry in entries.items():
                yield from _values(entry.node, f"{path}.{key}" if path else key)
        case Listing(items) if any(not isinstance(item, Leaf) for item in items):
            for index, item in enumerate(items):
                yield from _values(item, f"{path}.{index}")
        case _:
            yield Value(path, _yaml(node), *_place(node.span))


def _place(span: Span) -> tuple[str, int, int]:
    return span.source.name, span.line, span.column


def _yaml(node: Node) -> str:
    match node:
        case Leaf(value, text):
            if not isinstance(value, str):
                return text or "null"
            return text if reads_as_text(text) else json.dumps(text, ensure_ascii=False)
        case Listing(items):
            return f"[{', '.join(_yaml(item) for item in items)}]"
        case _:
            return "{}"


def explain(tree: Mapping) -> str:
    """The resolved preset as YAML, each value with the file and line that it came from."""
    lines: list[str] = []
    for key, entry in tree.entries.items():
        if key not in _ABOUT:
            lines += _lines(f"{key}:", entry.node, 0)
    return "\n".join(lines)


def _lines(head: str, node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match node:
        case Mapping(entries) if entries:
            yield indent + head
            for key, entry in entries.items():
                yield from _lines(f"{key}:", entry.node, depth + 1)
        case Listing(items) if any(not isinstance(item, Leaf) for item in items):
            yield indent + head
            for item in items:
                yield from _item(item, depth + 1)
        case _:
            yield from _value(indent + head, node)


def _item(item: Node, depth: int) -> Iterator[str]:
    """A list's item: its first line after the dash, the others below it."""
    if not (isinstance(item, Mapping) and item.entries):
        yield from _value("  " * depth + "-", item)
        return
    inner = [
        line
        for key, entry in item.entries.items()
        for line in _lines(f"{key}:", entry.node, depth + 1)
    ]
    yield "  " * depth + "- " + inner[0].lstrip()
    yield from inner[1:]


def _value(head: str, node: Node) -> Iterator[str]:
    name, line, _ = _place(node.span)
    text = node.value if isinstance(node, Leaf) else None
    if isinstance(text, str) and "\n" in text.strip():
        pad = " " * (len(head) - len(head.lstrip()) + 2)
        yield f"{f'{head} |':<{_WIDTH}}  # {name}:{line}"
        yield from (pad + part if part else "" for part in text.rstrip().split("\n"))
    else:
        yield f"{f'{head} {_yaml(node)}':<{_WIDTH}}  # {name}:{line}"


def differences(left: Mapping, right: Mapping) -> list[Difference]:
    """Where two resolved presets differ, by path: those of the left one first, in its order."""
    ours = {value.path: value for value in values(left)}
    theirs = {value.path: value for value in values(right)}
    paths = dict.fromkeys([*ours, *theirs])
    return [
        Difference(path, ours.get(path), theirs.get(path))
        for path in paths
        if path not in _ABOUT and _shown(ours.get(path)) != _shown(theirs.get(path))
    ]


def shown(found: list[Difference]) -> str:
    """Differences as text: the path, then the left value and the right one with their places."""
    lines: list[str] = []
    for one in found:
        lines.append(one.path)
        for sign, value in (("-", one.left), ("+", one.right)):
            if value:
                lines.append(f"{f'  {sign} {value.value}':<{_WIDTH}}  # {value.file}:{value.line}")
    return "\n".join(lines)


def _shown(value: Value | None) -> str | None:
    return value.value if value else None
