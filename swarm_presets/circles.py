"""SW306: agents and models that hand on to each other without end."""

from collections.abc import Iterator, Mapping

from swarm_presets.parts import agents, leaves, policies
from swarm_presets.positions import Leaf
from swarm_presets.positions import Mapping as Tree
from swarm_presets.problems import Problem, problem

Edges = Mapping[str, list[Leaf]]


def circles(tree: Tree) -> Iterator[Problem]:
    """A finding for each circle in `delegate_to`, `from_agents` and `models.fallback`."""
    told = {name: list(_hands_on(agent)) for name, agent in agents(tree)}
    yield from _in(told, "delegate_to", "let one of them end with another next action")
    given = {name: _under(agent, "context", "from_agents") for name, agent in agents(tree)}
    yield from _in(given, "from_agents", "let one of them work without the other's result")
    models = tree.get("models")
    if isinstance(models, Tree):
        entries = models.entries.items()
        spare = {n: _under(e.node, "fallback") for n, e in entries if isinstance(e.node, Tree)}
        yield from _in(spare, "fallback", "let the last one have no fallback")


def _under(node: Tree, *path: str) -> list[Leaf]:
    here = node
    for step in path[:-1]:
        inner = here.get(step)
        if not isinstance(inner, Tree):
            return []
        here = inner
    return leaves(here.get(path[-1]))


def _hands_on(agent: Tree) -> Iterator[Leaf]:
    for _, policy in policies(agent):
        action = policy.get("next_action")
        if isinstance(action, Leaf) and action.text == "delegate_to":
            yield from leaves(policy.get("delegate_to"))


def _in(edges: Edges, key: str, cure: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for name in edges:
        circle = [] if name in seen else _circle(name, edges)
        if circle:
            seen.update(leaf.text for leaf in circle)
            way = " → ".join([name, *(leaf.text for leaf in circle)])
            yield problem("SW306", f"`{key}` goes in a circle: {way}", circle[0].span, cure)


def _circle(start: str, edges: Edges) -> list[Leaf]:
    """The shortest way from a name back to itself, as the names on it; empty when there is none."""
    ways = [[leaf] for leaf in edges[start]]
    reached: set[str] = set()
    while ways:
        way = ways.pop(0)
        here = way[-1].text
        if here == start:
            return way
        if here not in reached:
            reached.add(here)
            ways += [[*way, leaf] for leaf in edges.get(here, [])]
    return []
