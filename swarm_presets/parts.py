"""The parts of a preset's tree: who works, and what follows for them."""

from collections.abc import Iterator

from agent_core.runtime.team import Status
from swarm_presets.positions import Mapping, at


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
