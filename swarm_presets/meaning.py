"""What a whole preset must have, and what cannot hold together: SW104, SW301, SW303, SW307."""

from collections.abc import Iterator

from agent_core.runtime.team import Status
from swarm_presets.circles import circles
from swarm_presets.parts import agents, leaves, policies
from swarm_presets.positions import Leaf, Listing, Mapping, Node, Span, Unknown, at
from swarm_presets.problems import Problem, problem, suggest
from swarm_presets.scalars import seconds
from swarm_presets.shape import missing, top

NEEDED = {
    "role": "name it for people, such as `role: Market researcher`",
    "prompt": "say what the agent does: `prompt: …` or `prompt: {file: …}`",
    "tools": "list its tools; `tools: []` for none",
}
TOOLS = "fallback_to_direct_tools"


def meaning(tree: Mapping) -> Iterator[Problem]:
    """All findings about a preset that is to run."""
    if "supervisor" not in tree.entries:
        cure = "add `supervisor: {tools: […]}`; it speaks with the person"
        yield missing("supervisor", top(tree), cure)
    yield from _run_times(tree)
    for name, agent in agents(tree):
        span = _key(tree, name)
        for key in (key for key in NEEDED if key not in agent.entries):
            yield missing(key, span, NEEDED[key])
        yield from _times(tree, name, agent)
        for status, policy in policies(agent):
            yield from _policy(status, policy, _policy_key(agent, status))
            yield from _reach(tree, policy)
    yield from circles(tree)


def _key(tree: Mapping, name: str) -> Span:
    node = tree.get("agents")
    return node.entries[name].key if isinstance(node, Mapping) else tree.span


def _policy_key(agent: Mapping, status: Status) -> Span:
    node = agent.get("policy")
    return node.entries[status.value].key if isinstance(node, Mapping) else agent.span


def _leaf(node: Node | None) -> Leaf | None:
    return node if isinstance(node, Leaf) and node.value is not None else None


def _times(tree: Mapping, name: str, agent: Mapping) -> Iterator[Problem]:
    """SW303; only times that are written are compared, since default ones give way."""
    time, tool = _leaf(at(agent, "limits", "time")), _leaf(at(agent, "limits", "tool_timeout"))
    run = _leaf(at(tree, "supervisor", "limits", "time"))
    if time and tool and seconds(tool.text) > seconds(time.text):
        message = f"`tool_timeout` {tool.text} of `{name}` is longer than its `time` {time.text}"
        yield problem("SW303", message, _later(tool, time).span, f"at most `{time.text}`")
    if time and run and seconds(time.text) > seconds(run.text):
        message = f"`time` {time.text} of `{name}` is longer than the supervisor's {run.text}"
        yield problem("SW303", message, time.span, f"at most `{run.text}`")


def _run_times(tree: Mapping) -> Iterator[Problem]:
    time = _leaf(at(tree, "supervisor", "limits", "time"))
    tool = _leaf(at(tree, "supervisor", "limits", "tool_timeout"))
    if time and tool and seconds(tool.text) > seconds(time.text):
        message = (
            f"the supervisor's `tool_timeout` {tool.text} is longer than its `time` {time.text}"
        )
        yield problem("SW303", message, tool.span, f"at most `{time.text}`")


def _later(tool: Leaf, time: Leaf) -> Leaf:
    """The one of two that was written last: the other may be a default that is right for others."""
    same = tool.span.source is time.span.source
    return time if same and time.span.line > tool.span.line else tool


def _policy(status: Status, policy: Mapping, key: Span) -> Iterator[Problem]:
    """SW301: an entry must say what follows, and be able to."""
    action = policy.get("next_action")
    if action is None:
        cure = "add `next_action: …`"
        yield problem("SW301", f"the policy for `{status}` has no next action", key, cure)
    elif isinstance(action, Leaf):
        for needed, field in ((TOOLS, "fallback_tools"), ("delegate_to", "delegate_to")):
            if action.text == needed and not _written(policy.get(field)):
                message = f"`{status}` goes to `{needed}`, but `{field}` is missing"
                yield problem("SW301", message, action.span, f"add `{field}: …`")
    yield from _retries(status, policy, key)


def _written(node: Node | None) -> bool:
    """Whether something is named here; what is unknown counts, an empty list does not."""
    return bool(node.items) if isinstance(node, Listing) else node is not None


def _retries(status: Status, policy: Mapping, key: Span) -> Iterator[Problem]:
    retryable, retries = _leaf(policy.get("retryable")), _leaf(policy.get("max_retries"))
    if status == Status.CANCELLED and retryable and retryable.value is True:
        message = "what a person stopped is never retried"
        yield problem("SW301", message, retryable.span, "remove `retryable`")
    known = not isinstance(policy.get("retryable"), Unknown)
    if known and retries and retries.value and not (retryable and retryable.value):
        message = f"`{status}` has retries but is not `retryable`"
        yield problem("SW301", message, retries.span, "add `retryable: true`")


def _reach(tree: Mapping, policy: Mapping) -> Iterator[Problem]:
    """SW307: the supervisor runs the fallback tools, so it must have them."""
    direct = at(tree, "supervisor", "tools")
    if not isinstance(direct, Listing | None) or any(
        isinstance(item, Unknown) for item in (direct.items if direct else ())
    ):
        return
    allowed = [leaf.text for leaf in leaves(direct)]
    for leaf in leaves(policy.get("fallback_tools")):
        if leaf.text not in allowed:
            message = f"fallback tool `{leaf.text}` is not one of the supervisor's tools"
            cure = suggest(leaf.text, allowed, "add it to `supervisor.tools`")
            yield problem("SW307", message, leaf.span, cure)
