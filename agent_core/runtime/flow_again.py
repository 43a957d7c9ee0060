"""What a plan makes again of a step that succeeded in part: the policies for `partial` (guide "presets", 4).

The order is that of every status: retries with back-off, then the fallback model once, then `delegate_to`. A stand-in
is a call of its own with a key of its own, so that a restart finds it again and pays for it once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from agent_core.runtime.flow import PLAN, Halfway
from agent_core.runtime.flow_ground import Done, Ground, Planned, again_key
from agent_core.runtime.policy import FINAL, backoff
from agent_core.runtime.team import Status
from agent_core.types import Row, RowKind

# What a person or a rule refused is not asked for again by a plan.
_SETTLED = FINAL | {Status.DENIED}


def again(
    calls: Sequence[Planned],
    ground: Ground,
    whole: Callable[[Sequence[Done]], bool] = lambda _: False,
) -> tuple[Planned, ...]:
    """The stand-ins that come next for calls of one step, all ended, of which some brought something and others not.

    None where the step is no `partial` or `whole` for its ends, a policy says `stop_and_report`, or nothing is left to
    try. They go in rounds: what a round brought is judged when all of it has ended, so that a kill within one changes
    nothing.
    """
    tried = dict.fromkeys((call.key for call in calls), 0)
    while True:
        together = _round(calls, ground, tried, whole)
        if not together:
            return ()
        if left := ground.open(together):
            return left
        for one in together:
            tried[one.of] += 1


def _round(
    calls: Sequence[Planned],
    ground: Ground,
    tried: Mapping[str, int],
    whole: Callable[[Sequence[Done]], bool],
) -> tuple[Planned, ...]:
    """The stand-ins that follow so many for each call."""
    ends = [ground.end(call, tried[call.key]) for call in calls]
    if len(ends) < 2 or not any(end.ok or end.usable for end in ends):
        return ()
    if whole(ends) or any(end.action == "stop_and_report" for end in ends):
        return ()
    lacking = [call for call, end in zip(calls, ends, strict=True) if _open(end)]
    return tuple(one for call in lacking if (one := _stand_in(call, ground, tried[call.key])))


def _open(end: Done) -> bool:
    return not end.ok and end.status not in _SETTLED and end.action != "ask_user"


def _stand_in(call: Planned, ground: Ground, tried: int) -> Planned | None:
    half = ground.halfway.get(call.agent)
    ways = [] if half is None else list(_ways(call, half))
    return ways[tried] if tried < len(ways) else None


def _ways(call: Planned, half: Halfway) -> Iterator[Planned]:
    """Every stand-in that a policy allows for a call, in order."""
    agents = [(call.agent, "", backoff(half.backoff, n)) for n in range(1, half.retries + 1)]
    if half.fallback_model:
        agents.append((call.agent, half.fallback_model, 0.0))
    if half.action == "delegate_to" and half.delegate_to not in {"", call.agent}:
        agents.append((half.delegate_to, "", 0.0))
    for n, (agent, model, wait) in enumerate(agents, 1):
        yield Planned(
            again_key(call.key, n),
            agent,
            call.task,
            call.context,
            call.item,
            model=model,
            wait=wait,
            of=call.key,
        )


def superseded(rows: Sequence[Row]) -> frozenset[str]:
    """The ids of a plan's calls of which a later one has done the work, or failed at the same after them."""
    ended = {row.ref: row.meta["delegation"] for row in rows if "delegation" in row.meta}
    return frozenset(
        made
        for chain in _chains(rows)
        for place, (made, agent) in enumerate(chain)
        if any(_takes_over(agent, ended.get(later)) for later, _ in chain[place + 1 :])
    )


def stood_in(rows: Sequence[Row]) -> dict[str, str]:
    """The agent whose part each stand-in did, by the id of its call."""
    return {made: chain[0][1] for chain in _chains(rows) for made, _ in chain[1:]}


def _chains(rows: Sequence[Row]) -> list[list[tuple[str, str]]]:
    """Each call of a plan and its stand-ins, in order: their ids and agents."""
    chains: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for row in rows:
        if row.kind is RowKind.ASSISTANT and PLAN in row.meta:
            for made, entry in row.meta[PLAN]["calls"].items():
                key = (row.turn_id, entry.get("of") or entry["key"])
                chains.setdefault(key, []).append((made, entry["agent"]))
    return list(chains.values())


def _takes_over(agent: str, end: Mapping[str, str] | None) -> bool:
    return end is not None and (end["status"] == Status.COMPLETED or end["agent"] == agent)
