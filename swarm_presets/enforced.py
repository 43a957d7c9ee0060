"""Keys that parse and are checked, but that this version of the runtime does not enforce yet.

A preset that uses one is not run: nothing is accepted without effect. When the enforcement of a key lands, its line
goes. A path ends in `=a|b` where only these values are meant. `swarmgate presets validate --schema-only` passes over
this table.
"""

from collections.abc import Iterator

from swarm_presets.parts import each
from swarm_presets.positions import Entry, Leaf, Mapping
from swarm_presets.problems import Problem, problem

NOT_YET = ("schedule",)


def not_enforced(tree: Mapping) -> Iterator[Problem]:
    """SW501: one finding for each key of a resolved preset that would have no effect."""
    for line in NOT_YET:
        path, _, values = line.partition("=")
        for entry in each(tree, path):
            if not values or _is_one_of(entry, values):
                shown = path.rpartition(".")[2] + (f": {_text(entry)}" if values else "")
                message = f"`{shown}` is not enforced by this version"
                yield problem("SW501", message, entry.key, "remove it")


def _text(entry: Entry) -> str:
    return entry.node.text if isinstance(entry.node, Leaf) else ""


def _is_one_of(entry: Entry, values: str) -> bool:
    return _text(entry) in values.split("|")
