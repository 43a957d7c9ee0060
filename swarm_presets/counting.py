"""How often a fixed plan delegates, at most: the same count for the worst case (plan.py) and for SW304."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agent_core.runtime.flow_steps import MOST
from swarm_presets.parts import each, leaves, number, words
from swarm_presets.positions import Leaf, Mapping, Node, Span, at


@dataclass(frozen=True, slots=True)
class Fan:
    """The delegations of one step.

    `times` counts them for each agent, `at_once` those that may run side by side as far as the step goes. `bounded`:
    the preset says how many there are at most, and not only the runtime. `span` is where the step says what it does.
    `may_lack`: some may fail and leave the step `partial`; `again` counts what the policies for that add.
    """

    times: Counter[str]
    at_once: Counter[str]
    bounded: bool
    span: Span
    may_lack: bool = False
    again: Counter[str] = field(default_factory=Counter)


def fans(tree: Mapping) -> Iterator[Fan]:
    """Each step of the plan that delegates, in order; conditions are taken to hold."""
    for entry in each(tree, "flow.*"):
        if isinstance(entry.node, Mapping) and (found := _fan(tree, entry.node)):
            again = _again(tree, found.times) if found.may_lack else Counter[str]()
            yield replace(found, again=again)


def _again(tree: Mapping, times: Counter[str]) -> Counter[str]:
    """What the policies for `partial` have made again, if every part but one fails each time."""
    count: Counter[str] = Counter()
    for name, n in times.items():
        policy = at(tree, "agents", name, "policy", "partial")
        if not isinstance(policy, Mapping):
            continue
        retryable, target = policy.get("retryable"), policy.get("delegate_to")
        retries = isinstance(retryable, Leaf) and retryable.value is True
        tries = int(number(policy.get("max_retries")) or 0) if retries else 0
        tries += isinstance(policy.get("fallback_model"), Leaf)
        count[name] += n * tries
        action = policy.get("next_action")
        if isinstance(target, Leaf) and isinstance(action, Leaf) and action.text == "delegate_to":
            count[target.text] += n
    return count


def answers(tree: Mapping) -> bool:
    """Whether the supervisor's model is called at all: always without a plan, else where a step says so."""
    steps = at(tree, "flow")
    return steps is None or any(True for _ in each(tree, "flow.*.answer"))


def _fan(tree: Mapping, step: Mapping) -> Fan | None:
    for key, make in (("parallel", _parallel), ("debate", _debate), ("vote", _vote)):
        if (node := step.get(key)) is not None:
            times, at_once = make(node)
            may_lack = times.total() > 1 and (key != "parallel" or _needs(step, node))
            return Fan(times, at_once, True, step.entries[key].key, may_lack)
    agent = step.get("delegate")
    if not isinstance(agent, Leaf):
        return None
    most = _items(tree, step.get("for_each"))
    times = Counter({agent.text: MOST if most is None else min(most, MOST)})
    several = "for_each" in step.entries and times.total() > 1
    return Fan(times, times, most is not None, step.entries["delegate"].key, several)


def _needs(step: Mapping, branches: Node) -> bool:
    """Whether a branch that fails may leave its step `partial`: where something is required (compile_flow.py)."""
    if number(step.get("need")):
        return True
    required = [at(entry.node, "required") for entry in each(branches, "*")]
    default = "need" not in step.entries
    return any(
        bool(node.value) if isinstance(node, Leaf) else default or node is not None
        for node in required
    )


def _parallel(node: Node) -> tuple[Counter[str], Counter[str]]:
    times = Counter(leaf.text for leaf in words(node, "*.delegate"))
    return times, times


def _debate(node: Node) -> tuple[Counter[str], Counter[str]]:
    sides = Counter(leaf.text for leaf in leaves(at(node, "sides")))
    rounds = int(number(at(node, "rounds")) or 1)
    judge = Counter(leaf.text for leaf in leaves(at(node, "judge")))
    return Counter({side: n * rounds for side, n in sides.items()}) + judge, sides


def _vote(node: Node) -> tuple[Counter[str], Counter[str]]:
    samples = int(number(at(node, "samples")) or 1)
    times = Counter({leaf.text: samples for leaf in leaves(at(node, "agents"))})
    return times, times


def _items(tree: Mapping, path: Node | None) -> int | None:
    """How many items a `for_each` goes through: 1 without one, None where the preset sets no bound."""
    if not isinstance(path, Leaf):
        return 1
    head, *rest = path.text.split(".")
    if head == "inputs":
        most = number(at(tree, "inputs", *rest, "max_items"))
        return None if most is None else int(most)
    return _listed(tree, head, rest)


def _listed(tree: Mapping, step: str, path: list[str]) -> int | None:
    """The most items that the output of an earlier step's agent may have in a list."""
    for entry in each(tree, "flow.*"):
        name, agent = at(entry.node, "id"), at(entry.node, "delegate")
        if isinstance(name, Leaf) and name.text == step and isinstance(agent, Leaf):
            inner = [part for key in path for part in ("properties", key)]
            most = number(at(tree, "agents", agent.text, "output", "schema", *inner, "maxItems"))
            return None if most is None else int(most)
    return None


def slots(tree: Mapping, fan: Fan, widest: int) -> list[str]:
    """The agents that may be at work side by side in a step, by name, as often as copies of each may run."""
    found: list[str] = []
    for name, n in fan.at_once.items():
        copies = int(number(at(tree, "agents", name, "concurrency")) or 1)
        found += [name] * min(n, copies, widest)
    return found
