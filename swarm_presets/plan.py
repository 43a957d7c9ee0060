"""The worst case of a run before it is run: tokens, money and time that the limits allow (`presets plan`).

An upper bound, not a guess: each call with a full window, each retry and repair made, each task handed on as far as a
policy says. Of a fixed plan its own delegations are counted, else as many as there may be, each to the dearest agent.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent_core.runtime.policy import BACKOFF_CAP
from agent_core.runtime.team import Agent, ModelUse, Policy, Status, Team
from swarm_presets.counting import answers, fans
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

    times = _times(team, tree)
    lead = _share(team.supervisor, int(answers(tree)), cost, widest)
    hands = [
        _share(_alone(team, agent), times[name], cost, widest)
        for name, agent in team.agents.items()
    ]
    shares = [replace(share, model=team.plain_models(share.model)[0]) for share in (lead, *hands)]
    return _summed(team, shares[0], shares[1:], tree)


def _times(team: Team, tree: Mapping) -> dict[str, int]:
    """How often each agent may be delegated to."""
    most = team.delegation.max_delegations
    if not team.flow:
        return dict.fromkeys(team.agents, most)
    counted = sum((fan.times + fan.again for fan in fans(tree)), Counter[str]())
    return {name: min(counted[name], most) for name in team.agents}


def _alone(team: Team, agent: Agent) -> Agent:
    """The agent with the policies of one delegation: that of a step in part counts as further ones (`_times`)."""
    policy = {s: p for s, p in agent.policy.items() if s is not Status.PARTIAL or not team.flow}
    return replace(agent, policy=policy)


def _price(use: ModelUse, price: Price) -> tuple[float, float] | None:
    if use.name in FREE:
        return 0.0, 0.0
    return price(use.name) if use.price is None else (use.price.input, use.price.output)


def _share(agent: Agent, times: int, cost: Price, window: Window) -> Share:
    """One delegation to the end: retries with back-off, then the fallback model once."""
    limits, worst = agent.limits, max(agent.policy.values(), key=_tries, default=None)
    attempts, wait = (_tries(worst), _waits(worst)) if worst else (1, 0.0)
    calls = limits.tool_rounds + 1 + _repairs(agent)  # the round that wraps up has no tools
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


def _repairs(agent: Agent) -> int:
    """Answers that may be sent back, each of which is a call more."""
    rules, contract = agent.grounding, agent.output
    held = "required" in {rules.numbers, rules.citations}
    return contract.max_repairs * (contract.format != "markdown") + rules.max_repairs * held


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


def _summed(team: Team, lead: Share, hands: list[Share], tree: Mapping) -> Plan:
    """The supervisor, where its model is called, with as many delegations as there may be, the dearest of all."""
    own = {share.who: share for share in hands}
    ways = {name: [own[one] for one in _way(team, name)] for name in own}

    def sum_of(size: Callable[[Share], float]) -> float:
        each = [sum(map(size, way)) for name, way in ways.items() for _ in range(own[name].times)]
        most = sorted(each, reverse=True)[: team.delegation.max_delegations]
        return size(lead) * lead.times + sum(most)

    used = [share for name, way in ways.items() if own[name].times for share in way]
    known = all(share.usd is not None for share in [lead] * lead.times + used)
    total = Share(
        who="run",
        model="",
        times=1,
        attempts=1,
        calls=int(sum_of(lambda share: share.calls)),
        input_tokens=int(sum_of(lambda share: share.input_tokens)),
        output_tokens=int(sum_of(lambda share: share.output_tokens)),
        usd=sum_of(lambda share: share.usd or 0.0) if known else None,
        time=team.supervisor.limits.time,
    )
    return Plan([lead, *hands], *_capped(total, tree))


def _way(team: Team, name: str) -> list[str]:
    """An agent and all to which its task may be handed on, each of them once."""
    way = [name]
    for one in way:
        policies = _alone(team, team.agents[one]).policy.values()
        targets = [p.delegate_to for p in policies if p.next_action == "delegate_to"]
        way += [t for t in dict.fromkeys(targets) if t in team.agents and t not in way]
    return way


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
