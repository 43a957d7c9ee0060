"""The worst case of a run before it is run: tokens, money and time that the limits allow (`presets plan`).

An upper bound, not a guess: each call with a full window, each retry made, each delegation to the dearest agent.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent_core.runtime.policy import BACKOFF_CAP
from agent_core.runtime.team import Agent, ModelUse, Policy, Team
from swarm_presets.parts import number
from swarm_presets.positions import Leaf, Mapping, at
from swarm_presets.prices import FREE
from swarm_presets.scalars import seconds, tokens

Price = Callable[[str], tuple[float, float] | None]
Window = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker may use at most. `usd` is None where a price is not known; `time` is in seconds.

    `times` counts how often it may run in one run; the numbers are those of one time, all attempts included.
    """

    who: str
    model: str
    times: int
    attempts: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    time: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The shares, and the run as a whole; `capped_by` names what ends a run before its shares are used up."""

    shares: list[Share]
    total: Share
    capped_by: str = ""


def plan(team: Team, tree: Mapping, price: Price, window: Window) -> Plan:
    """The worst case of one run of a team.

    Args:
        team: the compiled preset.
        tree: the same as a resolved tree, for the pot of a run.
        price: dollars for a million tokens in and out of a model, or None.
        window: tokens that one call of a model may read.
    """

    def cost(model: str) -> tuple[float, float] | None:
        """The dearest of those that may answer; one whose price is not known leaves the whole open."""
        found = [_price(use, price) for use in team.models.get(model, (ModelUse(model),))]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return max(into for into, _ in known), max(out for _, out in known)

    def widest(model: str) -> int:
        return max(map(window, team.plain_models(model)))

    times = team.delegation.max_delegations
    lead = _share(team.supervisor, 1, cost, widest)
    hands = [_share(agent, times, cost, widest) for agent in team.agents.values()]
    shares = [replace(share, model=team.plain_models(share.model)[0]) for share in (lead, *hands)]
    return _summed(shares[0], shares[1:], times if hands else 0, team.supervisor.limits.time, tree)


def _price(use: ModelUse, price: Price) -> tuple[float, float] | None:
    if use.name in FREE:
        return 0.0, 0.0
    return price(use.name) if use.price is None else (use.price.input, use.price.output)


def _share(agent: Agent, times: int, cost: Price, window: Window) -> Share:
    """One delegation to the end: retries with back-off, then the fallback model once."""
    limits, worst = agent.limits, max(agent.policy.values(), key=_tries, default=None)
    attempts, wait = (_tries(worst), _waits(worst)) if worst else (1, 0.0)
    calls = limits.tool_rounds + 1  # the round that wraps up has no tools
    models = {agent.model, *(p.fallback_model for p in agent.policy.values() if p.fallback_model)}
    into = min(max(window(model) for model in models), agent.reads or sys.maxsize)
    dear = [_dollars(cost(m), calls, into, agent) for m in models]
    usd = None if None in dear else max(d for d in dear if d is not None) * attempts
    return Share(
        who=agent.id,
        model=agent.model,
        times=times,
        attempts=attempts,
        calls=calls * attempts,
        input_tokens=calls * into * attempts,
        output_tokens=calls * limits.output_tokens * attempts,
        usd=usd,
        time=limits.time * attempts + wait,
    )


def _tries(policy: Policy) -> int:
    retries = policy.max_retries if policy.retryable else 0
    return 1 + retries + (policy.fallback_model is not None)


def _waits(policy: Policy) -> float:
    retries = policy.max_retries if policy.retryable else 0
    return sum(min(policy.backoff * 2.0**n, BACKOFF_CAP) for n in range(retries))


def _dollars(
    price: tuple[float, float] | None, calls: int, into: int, agent: Agent
) -> float | None:
    """All calls at full size, or the agent's own limit with the one call that may pass it."""
    if price is None:
        return None
    one = (into * price[0] + agent.limits.output_tokens * price[1]) / 1_000_000
    limit = agent.limits.usd
    return calls * one if limit is None else min(calls * one, limit + one)


def _summed(lead: Share, hands: list[Share], times: int, time: float, tree: Mapping) -> Plan:
    """The supervisor with as many delegations as there may be, each to the agent that uses most."""
    dear = [h.usd for h in hands]
    usd = None if lead.usd is None or None in dear else lead.usd
    if usd is not None and hands:
        usd += times * max(d for d in dear if d is not None)
    total = Share(
        who="run",
        model="",
        times=1,
        attempts=1,
        calls=lead.calls + times * max((h.calls for h in hands), default=0),
        input_tokens=lead.input_tokens + times * max((h.input_tokens for h in hands), default=0),
        output_tokens=lead.output_tokens + times * max((h.output_tokens for h in hands), default=0),
        usd=usd,
        time=time,
    )
    return Plan([lead, *hands], *_capped(total, tree))


def _capped(total: Share, tree: Mapping) -> tuple[Share, str]:
    """Not more than the pot of a run, where the preset has one."""
    pot = number(at(tree, "budgets", "run", "usd"))
    time = at(tree, "budgets", "run", "time")
    longest = seconds(time.text) if isinstance(time, Leaf) else total.time
    usd, why = total.usd, []
    if pot is not None and (usd is None or usd > pot):
        usd = pot
        why.append("budgets.run.usd")
    read, written = total.input_tokens, total.output_tokens
    most = at(tree, "budgets", "run", "tokens")
    if isinstance(most, Leaf) and (size := tokens(most.value)) < read + written:
        read, written = min(read, size), min(written, size)
        why.append("budgets.run.tokens")
    if isinstance(time, Leaf) and longest <= total.time:
        why.append("budgets.run.time")
    least = min(longest, total.time)
    capped = replace(total, usd=usd, time=least, input_tokens=read, output_tokens=written)
    return capped, ", ".join(why)
