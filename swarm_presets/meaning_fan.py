"""What may run side by side must fit the run's pot together, and a plan the number of delegations (SW304)."""

from collections.abc import Iterator

from agent_core.runtime.team import Delegation
from swarm_presets.counting import Fan, fans, slots
from swarm_presets.parts import agents, number
from swarm_presets.positions import Leaf, Mapping, Node, at
from swarm_presets.problems import Problem, problem


def fan_meaning(tree: Mapping) -> Iterator[Problem]:
    """SW304 for what a run may delegate at once, and for a plan in whole."""
    planned = list(fans(tree))
    yield from _too_many(tree, planned)
    pot = _dollars(at(tree, "budgets", "run", "usd"))
    size = number(pot)
    if pot is None or size is None:
        return
    widest = int(number(at(tree, "delegation", "max_parallel")) or Delegation().max_parallel)
    yield from _copies(tree, pot, size, widest)
    for fan in planned:
        yield from _step(tree, fan, size, widest)


def _too_many(tree: Mapping, planned: list[Fan]) -> Iterator[Problem]:
    """A plan that may make more delegations than are allowed: the last of them would be refused."""
    written = at(tree, "delegation", "max_delegations")
    most = int(number(written) or Delegation().max_delegations)
    count = sum((fan.times + fan.again).total() for fan in planned if fan.bounded)
    if count > most:
        last = planned[-1]
        span = written.span if isinstance(written, Leaf) and _own(tree, written) else last.span
        message = f"the plan may delegate {count} times, and `delegation.max_delegations` is {most}"
        yield problem("SW304", message, span, f"at least `{count}` there, or fewer items")


def _copies(tree: Mapping, pot: Leaf, size: float, widest: int) -> Iterator[Problem]:
    """Copies of one agent."""
    for name, agent in agents(tree):
        copies = int(min(number(agent.get("concurrency")) or 1.0, widest))
        cost = _dollars(at(agent, "limits", "usd"))
        each = number(cost)
        if cost and each and copies > 1 and copies * each > size + 1e-9 >= each:
            message = (
                f"the fan-out of `{name}` does not fit the run's pot: {copies} × ${each:g} is "
                f"more than ${size:g}"
            )
            cure = f"at most `{size / copies:g}` each, or a larger `budgets.run.usd`"
            yield problem("SW304", message, nearest_of(tree, cost, pot).span, cure)


def _step(tree: Mapping, fan: Fan, size: float, widest: int) -> Iterator[Problem]:
    """Several agents of one step of a plan; a single one's copies are told of as such."""
    if len(fan.at_once) < 2:
        return
    costs = [number(at(tree, "agents", name, "limits", "usd")) for name in slots(tree, fan, widest)]
    dearest = sorted((cost for cost in costs if cost is not None), reverse=True)[:widest]
    if len(dearest) > 1 and sum(dearest) > size + 1e-9 >= dearest[0]:
        shown = " + ".join(f"${cost:g}" for cost in dearest)
        message = f"this step does not fit the run's pot: {shown} is more than ${size:g}"
        cure = f"a larger `budgets.run.usd`, at least `{sum(dearest):g}`, or smaller `limits.usd`"
        yield problem("SW304", message, fan.span, cure)


def nearest_of(tree: Mapping, one: Leaf, other: Leaf) -> Leaf:
    """Of two places, the one in the preset's own file: what is inherited is right for others."""
    return one if _own(tree, one) or not _own(tree, other) else other


def _own(tree: Mapping, leaf: Leaf) -> bool:
    return leaf.span.source is tree.span.source


def _dollars(node: Node | None) -> Leaf | None:
    return node if isinstance(node, Leaf) and node.value is not None else None
