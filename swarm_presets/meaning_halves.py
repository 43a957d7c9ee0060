"""The policy for `partial`: each key of it must be able to take effect (SW309).

A step of a plan is `partial` where some of several delegations failed and others did not; no other delegation ever is.
"""

from collections.abc import Iterator

from agent_core.runtime.team import Status
from swarm_presets.counting import answers, fans
from swarm_presets.parts import agents, number
from swarm_presets.positions import Leaf, Listing, Mapping, Node, Unknown, at
from swarm_presets.problems import Problem, problem

_TOOLS = "fallback_to_direct_tools"
_HAND = "delegate_to"
_KNOBS = ("retryable", "max_retries", "backoff", "fallback_model", "fallback_tools", "delegate_to")
_NEVER = "no step with several delegations has {name}"
_STEP = "remove it, or let a `parallel`, `debate`, `vote` or `for_each` of the `flow` have {name}"


def half_meaning(tree: Mapping) -> Iterator[Problem]:
    """SW309 for what would have no effect under `policy.partial`."""
    if any(isinstance(tree.get(key), Unknown) for key in ("flow", "agents", "defaults")):
        return
    several = {name for fan in fans(tree) if fan.may_lack for name in fan.times}
    common = at(tree, "defaults", "policy", Status.PARTIAL)
    for name, agent in agents(tree):
        policy = at(agent, "policy", Status.PARTIAL)
        if isinstance(policy, Mapping) and name in several:
            yield from _idle(tree, policy)
        elif isinstance(policy, Mapping):
            shared = common.entries if isinstance(common, Mapping) else {}
            own = [key for key in policy.entries if shared.get(key) != policy.entries[key]]
            yield from _never(policy, own, f"`{name}`")
    if not several and isinstance(common, Mapping):
        own = [key for key in common.entries if _is_own(tree, common.entries[key].node)]
        yield from _never(common, own, "an agent")


def _never(policy: Mapping, own: list[str], name: str) -> Iterator[Problem]:
    """What is said for a status that nobody can get. What is written for others too is theirs to need."""
    for key in (*_KNOBS, "next_action"):
        if key in own and (key != "next_action" or _acts(policy.entries[key].node)):
            message = f"`{key}` under `partial` would have no effect: {_NEVER.format(name=name)}"
            yield problem("SW309", message, policy.entries[key].key, _STEP.format(name=name))
            return


def _acts(node: Node) -> bool:
    return isinstance(node, Leaf) and node.text not in {"use_partial", "use_result"}


def _idle(tree: Mapping, policy: Mapping) -> Iterator[Problem]:
    """Keys that mean nothing beside the others of a policy that may come up."""
    action = policy.get("next_action")
    if not isinstance(action, Leaf):
        return  # SW301 tells that it is missing
    if action.text == _TOOLS and not answers(tree):
        message = f"`{_TOOLS}` would have no effect: no step of the plan is `answer`"
        cure = "add `- {answer: true}` at the end, or write `next_action: use_partial`"
        yield problem("SW309", message, action.span, cure)
    for key, needed in (("fallback_tools", _TOOLS), ("delegate_to", _HAND)):
        if action.text != needed and _written(policy.get(key)):
            yield _without(policy, key, f"write `next_action: {needed}`, or remove it")
    yield from _retries(policy)


def _retries(policy: Mapping) -> Iterator[Problem]:
    if number(policy.get("max_retries")) or isinstance(policy.get("max_retries"), Unknown):
        return  # SW301 tells of retries that are not `retryable`
    for key in ("retryable", "backoff"):
        node = policy.get(key)
        if isinstance(node, Leaf) and node.value is not False:
            yield _without(policy, key, "add `max_retries: 1`, or remove it")


def _without(policy: Mapping, key: str, cure: str) -> Problem:
    message = f"`{key}` under `partial` would have no effect"
    return problem("SW309", message, policy.entries[key].key, cure)


def _written(node: Node | None) -> bool:
    return bool(node.items) if isinstance(node, Listing) else isinstance(node, Leaf)


def _is_own(tree: Mapping, node: Node) -> bool:
    return node.span.source is tree.span.source
