"""Money and consent: what acts needs an approval, and what may run must fit its pots.

SW302 (no approval), SW303 and SW304 (more than a pot has), SW309 (no effect), SW310 (a tool of the supervisor's
alone).
"""

from collections.abc import Iterator

from swarm_presets.compile import AGENT_LIMITS, SUPERVISOR_LIMITS
from swarm_presets.meaning_fan import fan_meaning, nearest_of
from swarm_presets.parts import agents, each, number, words
from swarm_presets.positions import Leaf, Mapping, Node, at
from swarm_presets.prices import Prices
from swarm_presets.problems import Problem, problem
from swarm_presets.references import Known
from swarm_presets.scalars import seconds, tokens

_SWITCH = "fallback_model"
POTS = ("run", "user_day", "user_month", "channel_day", "day", "month")


def money_meaning(tree: Mapping, known: Known) -> Iterator[Problem]:
    """SW302, SW304 and SW310."""
    yield from _unapproved(tree, known)
    yield from _of_the_lead(tree, known)
    yield from fan_meaning(tree)
    for name in POTS:
        pot = at(tree, "budgets", name)
        if isinstance(pot, Mapping):
            yield from _one_delegation(tree, name, pot)
            yield from _one_call(tree, name, pot, Prices(tree, known))
    yield from _run_time(tree)


def _unapproved(tree: Mapping, known: Known) -> Iterator[Problem]:
    """A tool that changes something outside and that no rule covers; a supervisor's own tools ask by themselves."""
    acting = known.acting - _covered(tree)
    of_supervisor = words(tree, "supervisor.tools", "supervisor.tools.add")
    found = [leaf for leaf in of_supervisor if leaf.text in acting - known.lead]
    for leaf in (*found, *words(tree, *_TOOLS_OF_AGENTS)):
        if leaf.text in acting:
            message = f"`{leaf.text}` changes something outside and no approval covers it"
            cure = f"add an entry for `{leaf.text}` under `approvals`"
            yield problem("SW302", message, leaf.span, cure)


def _of_the_lead(tree: Mapping, known: Known) -> Iterator[Problem]:
    """A tool that only the supervisor may call, after a person's yes, in the hands of an agent (TGV-9).

    One finding for one place: what no rule covers is told as that.
    """
    told = known.acting - _covered(tree)
    for leaf in words(tree, *_TOOLS_OF_AGENTS):
        if leaf.text in known.lead - told:
            message = f"only the supervisor may call `{leaf.text}`, after a person's yes"
            cure = "remove it; let the agent propose what the supervisor then does"
            yield problem("SW310", message, leaf.span, cure)


def _covered(tree: Mapping) -> frozenset[str]:
    return frozenset(leaf.text for leaf in words(tree, "approvals.*.tool"))


_TOOLS_OF_AGENTS = ("agents.*.tools", "agents.*.tools.add")


def _one_delegation(tree: Mapping, name: str, pot: Mapping) -> Iterator[Problem]:
    """One delegation that may cost more than a whole pot."""
    size = number(pot.get("usd"))
    if size is None:
        return
    for agent, part in agents(tree):
        cost = _leaf(at(part, "limits", "usd"))
        limit = number(cost)
        if cost and limit is not None and limit > size + 1e-9:
            message = (
                f"one delegation to `{agent}` may cost ${limit:g}, the pot `{name}` has ${size:g}"
            )
            yield problem(
                "SW304", message, nearest_of(tree, cost, cost).span, f"at most `{size:g}`"
            )


def _one_call(tree: Mapping, name: str, pot: Mapping, prices: Prices) -> Iterator[Problem]:
    """A pot that is smaller than one model call can ever be answered from."""
    for key in ("usd", "tokens"):
        leaf = _leaf(pot.get(key))
        if leaf is None:
            continue
        for who, worker in _paid(tree):
            out = _tokens(at(worker, "limits", "output_tokens")) or _default_output(who)
            need = out + (_tokens(at(worker, "limits", "input_tokens")) or 0)
            if key == "tokens" and need > tokens(leaf.value):
                message = (
                    f"the pot `{name}` has {leaf.text} tokens, one call of `{who}` may need {need}"
                )
                yield problem("SW304", message, leaf.span, f"at least `{need}`")
                break
            cost = prices.cost(worker, need - out, out) if key == "usd" else None
            if cost is not None and cost > (number(leaf) or 0) + 1e-9:
                message = (
                    f"the pot `{name}` has ${leaf.text}, one call of `{who}` may cost ${cost:.4g}"
                )
                yield problem("SW304", message, leaf.span, f"at least `{cost:.4g}`")
                break


def _default_output(who: str) -> int:
    return (SUPERVISOR_LIMITS if who == "supervisor" else AGENT_LIMITS).output_tokens


def _paid(tree: Mapping) -> Iterator[tuple[str, Mapping]]:
    if isinstance(lead := tree.get("supervisor"), Mapping):
        yield "supervisor", lead
    yield from agents(tree)


def _run_time(tree: Mapping) -> Iterator[Problem]:
    """SW303: an agent that may work longer than the whole run."""
    pot = _leaf(at(tree, "budgets", "run", "time"))
    if pot is None:
        return
    for entry in (*each(tree, "agents.*.limits.time"), *each(tree, "supervisor.limits.time")):
        time = _leaf(entry.node)
        if time and seconds(time.text) > seconds(pot.text):
            message = f"`time` {time.text} is longer than the run's {pot.text}"
            place = nearest_of(tree, time, pot)
            cure = f"at most `{pot.text}`" if place is time else f"at least `{time.text}`"
            yield problem("SW303", message, place.span, cure)


def idle_pots(tree: Mapping) -> Iterator[Problem]:
    """SW309: what is said about a pot that has no size, and a model for calls that no pot hands over."""
    for name in POTS:
        pot = at(tree, "budgets", name)
        if not isinstance(pot, Mapping):
            continue
        sized = any(key in pot.entries for key in ("usd", "tokens", "runs"))
        for key in ("warn_at", "on_exceeded", "fallback_model"):
            if key in pot.entries and not sized:
                message = f"`{key}` of the pot `{name}` would have no effect: the pot has no size"
                cure = "add `usd` or `tokens`, or remove it"
                yield problem("SW309", message, pot.entries[key].key, cure)
        action = _leaf(pot.get("on_exceeded"))
        if sized and "fallback_model" in pot.entries and (not action or action.text != _SWITCH):
            message = f"`fallback_model` of the pot `{name}` would have no effect"
            cure = f"add `on_exceeded: {_SWITCH}`, or remove it"
            yield problem("SW309", message, pot.entries["fallback_model"].key, cure)


def _leaf(node: Node | None) -> Leaf | None:
    return node if isinstance(node, Leaf) and node.value is not None else None


def _tokens(node: Node | None) -> int | None:
    leaf = _leaf(node)
    return None if leaf is None else tokens(leaf.value)
