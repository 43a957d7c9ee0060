"""The key `memory`: each scope that is written must have an effect where it stands (SW309), and one is not to be had.

A memory has an owner, so that none is shared by everybody who runs a preset (`swarm`). A sub-agent speaks with nobody:
it may lay out its result for the run, and notes nothing of a person. The supervisor sees every result anyway.
"""

from collections.abc import Iterator

from swarm_presets.parts import agents, leaves
from swarm_presets.positions import Leaf, Mapping, at
from swarm_presets.problems import Problem, problem

_NO_SWARM = "every memory has an owner, so none is shared by all who run a preset"
_LEAD = "the supervisor sees the results of its agents anyway"
_AGENT = "an agent speaks with nobody, so it notes nothing of a person"


def memory_meaning(tree: Mapping) -> Iterator[Problem]:
    """SW309 for every scope without effect."""
    for way in ("read", "write"):
        for leaf in leaves(at(tree, "supervisor", "memory", way)):
            yield from _refused(leaf, way, {"swarm": _NO_SWARM, "run": _LEAD})
    why = {"swarm": _NO_SWARM, "user": _AGENT, "channel": _AGENT}
    for _, agent in agents(tree):
        for leaf in leaves(at(agent, "memory", "read")):
            yield from _refused(leaf, "read", {"swarm": _NO_SWARM})
        for leaf in leaves(at(agent, "memory", "write")):
            yield from _refused(leaf, "write", why)
    yield from _unmatched(tree)


def _refused(leaf: Leaf, way: str, why: dict[str, str]) -> Iterator[Problem]:
    if leaf.text in why:
        message = f"`{leaf.text}` under `memory.{way}` would have no effect: {why[leaf.text]}"
        yield problem("SW309", message, leaf.span, "remove it")


def _unmatched(tree: Mapping) -> Iterator[Problem]:
    """What is laid out for the run that nobody else reads, and what is read that nobody else lays out."""
    writers, readers = (
        {
            name: leaf
            for name, agent in agents(tree)
            for leaf in leaves(at(agent, "memory", way))
            if leaf.text == "run"
        }
        for way in ("write", "read")
    )
    for name, leaf in readers.items():
        if not writers.keys() - {name}:
            message = f"`{name}` reads `run`, and no other agent writes it"
            cure = "let another agent have `memory: {write: [run]}`, or remove it"
            yield problem("SW309", message, leaf.span, cure)
    for name, leaf in writers.items():
        if not readers.keys() - {name}:
            message = f"`{name}` writes `run`, and no other agent reads it"
            cure = "let another agent have `memory: {read: [run]}`, or remove it"
            yield problem("SW309", message, leaf.span, cure)
