"""The parts of a preset's tree: who works, what follows for them, and whatever stands at a path."""

from collections.abc import Iterator

from agent_core.runtime.team import Status
from swarm_presets.positions import Entry, Leaf, Listing, Mapping, Node, at

ANY = "*"


def workers(tree: Mapping) -> Iterator[tuple[str, Mapping]]:
    """The supervisor, the defaults and each agent, as far as they are written."""
    for key in ("supervisor", "defaults"):
        if isinstance(node := tree.get(key), Mapping):
            yield key, node
    yield from agents(tree)


def agents(tree: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Each agent that is written."""
    if isinstance(node := tree.get("agents"), Mapping):
        for name, entry in node.entries.items():
            if isinstance(entry.node, Mapping):
                yield name, entry.node


def policies(worker: Mapping) -> Iterator[tuple[Status, Mapping]]:
    """Each policy entry of an agent or of the defaults."""
    for status in Status:
        if isinstance(node := at(worker, "policy", status.value), Mapping):
            yield status, node


def each(node: Node, pattern: str) -> Iterator[Entry]:
    """Every value at a path such as `agents.*.limits.usd`; `*` is any key or any item of a list."""
    yield from _each(Entry(node.span, node), pattern.split("."))


def _each(entry: Entry, steps: list[str]) -> Iterator[Entry]:
    if not steps:
        yield entry
        return
    head, rest = steps[0], steps[1:]
    match entry.node:
        case Mapping(entries) if head == ANY:
            for inner in entries.values():
                yield from _each(inner, rest)
        case Mapping(entries) if head in entries:
            yield from _each(entries[head], rest)
        case Listing(items) if head == ANY:
            for item in items:
                yield from _each(Entry(item.span, item), rest)
        case _:
            return


def words(node: Node, *patterns: str) -> Iterator[Leaf]:
    """The scalars at these paths, those of lists one by one."""
    for pattern in patterns:
        for entry in each(node, pattern):
            yield from leaves(entry.node)


def keys(node: Node, pattern: str) -> Iterator[Leaf]:
    """The keys of the maps at a path, as scalars with their places."""
    for entry in each(node, pattern):
        if isinstance(entry.node, Mapping):
            for key, inner in entry.node.entries.items():
                yield Leaf(key, key, inner.key)


def leaves(node: Node | None) -> list[Leaf]:
    """The scalars of a list, or a scalar by itself; nothing for anything else."""
    if isinstance(node, Listing):
        return [item for item in node.items if isinstance(item, Leaf)]
    return [node] if isinstance(node, Leaf) else []


def number(node: Node | None) -> float | None:
    """The number that is written, or None."""
    if isinstance(node, Leaf) and isinstance(node.value, int | float):
        return None if isinstance(node.value, bool) else float(node.value)
    return None
