"""A preset's source as a tree in which every key and value knows where it was written.

The tree outlives merging: a value that came from a parent or from `defaults` still points to its own file and line.
A `Path` is what pydantic calls `loc`: keys and list indexes from the top; steps that name no node are passed over,
which is how the names of union branches drop out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
Scalar = str | int | float | bool | None

KEY_STEP = "[key]"  # pydantic's last step when a key, not its value, is wrong


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One file: the name shown to people, its lines, the folder in which its prompt files lie, and its own path.

    `prompts` has the texts of prompt files during one reading, so that what was checked is what is compiled.
    """

    name: str
    lines: tuple[str, ...]
    folder: Traversable | None = None
    path: str = ""
    prompts: dict[str, str] = field(default_factory=dict)

    def line(self, number: int) -> str:
        """The text of a line, counted from 1; empty when there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


class Span(NamedTuple):
    """A place in a file. Lines and columns count from 1, in characters; `length` stays within the line."""

    source: Source
    line: int
    column: int
    length: int

    def sized(self, length: int) -> "Span":
        """The same place, marked with so many carets."""
        return self._replace(length=max(1, length))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar: its value by YAML 1.2's core schema, and as it was written."""

    value: Scalar
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    items: tuple["Node", ...]
    span: Span


class Entry(NamedTuple):
    """A key with its value."""

    key: Span
    node: "Node"


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map, in the order of the file."""

    entries: dict[str, Entry] = field(hash=False)
    span: Span

    def get(self, key: str) -> "Node | None":
        """The value of a key."""
        entry = self.entries.get(key)
        return entry.node if entry else None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that was wrong and has been reported: nothing may be concluded from it, nor from its absence."""

    span: Span


Node = Leaf | Listing | Mapping | Unknown


def plain(node: Node) -> Any:
    """The tree as dicts, lists and scalars, without what is unknown."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, Mapping):
        found = {}
        for key, (_, inner) in node.entries.items():
            if isinstance(inner, Leaf):  # most of them, and a call costs more than they do
                found[key] = inner.value
            elif not isinstance(inner, Unknown):
                found[key] = plain(inner)
        return found
    if isinstance(node, Listing):
        return [plain(item) for item in node.items if not isinstance(item, Unknown)]
    return None


def _step(node: Node, step: str | int) -> tuple[Span, Node] | None:
    if isinstance(node, Mapping) and (entry := node.entries.get(str(step))):
        return entry.key, entry.node
    if isinstance(node, Listing) and isinstance(step, int) and step < len(node.items):
        return node.items[step].span, node.items[step]
    return None


def walk(node: Node, path: Sequence[str | int]) -> Iterator[tuple[str | int, Span, Node]]:
    """Each step of a path that names a node: the step, where its key is written, and its value."""
    for step in path:
        if found := _step(node, step):
            key, node = found
            yield step, key, node


def find(node: Node, path: Sequence[str | int]) -> Node:
    """The node at a path, or the last one on the way."""
    return [node, *(found for _, _, found in walk(node, path))][-1]


def at(node: Node, *path: str | int) -> Node | None:
    """The node at exactly this path, or None."""
    here: Node = node
    for step in path:
        found = _step(here, step)
        if found is None:
            return None
        here = found[1]
    return here


def key_span(node: Node, path: Sequence[str | int]) -> Span:
    """Where the key at a path is written; for list items, the item."""
    return [node.span, *(key for _, key, _ in walk(node, path))][-1]


def edit(
    node: Node, path: Sequence[str | int], change: Callable[[Entry], tuple[str, Entry]]
) -> Node:
    """A copy in which the entry at a path is another one (the key is given as `""` for list items)."""
    steps = [step for step, _, _ in walk(node, path)]
    return _edit(node, steps, change) if steps else node


def _edit(node: Node, steps: list[str | int], change: Callable[[Entry], tuple[str, Entry]]) -> Node:
    head, rest = steps[0], steps[1:]
    if isinstance(node, Mapping):
        entries: dict[str, Entry] = {}
        for key, old in node.entries.items():
            name, entry = key, old
            if key == str(head):
                if rest:
                    entry = Entry(old.key, _edit(old.node, rest, change))
                else:
                    new, entry = change(old)
                    name = new or key
            entries[name] = entry
        return Mapping(entries, node.span)
    if isinstance(node, Listing) and isinstance(head, int):
        items = list(node.items)
        if rest:
            items[head] = _edit(items[head], rest, change)
        else:
            items[head] = change(Entry(items[head].span, items[head]))[1].node
        return Listing(tuple(items), node.span)
    return node


def forget(node: Node, path: Sequence[str | int]) -> Node:
    """A copy in which the value at a path is unknown."""
    if not any(True for _ in walk(node, path)):
        return Unknown(node.span)
    return edit(node, path, lambda entry: ("", Entry(entry.key, Unknown(entry.node.span))))


def rename(node: Node, path: Sequence[str | int], key: str) -> Node:
    """A copy in which the last key of a path is another one."""
    return edit(node, path, lambda entry: (key, entry))
