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
    found = [Entry(node.span, node)]
    for step in pattern.split("."):
        found = _below(found, step)
    yield from found


def _below(entries: list[Entry], step: str) -> list[Entry]:
    """One step down from each of these, in order."""
    found: list[Entry] = []
    for _, node in entries:
        if isinstance(node, Mapping):
            if step == ANY:
                found += node.entries.values()
            elif step in node.entries:
                found.append(node.entries[step])
        elif step == ANY and isinstance(node, Listing):
            found += [Entry(item.span, item) for item in node.items]
    return found


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
