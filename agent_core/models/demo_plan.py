"""What the demo planner calls next: a pure function of what is asked, what is there, and which tools are offered.

No call is made twice with the same arguments in one turn, and no tool is called again after failing twice, so a turn
always ends.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent_core.models.demo_intent import Ask, Want
from agent_core.models.demo_period import Back, Period
from agent_core.models.demo_turn import DELEGATE, Call, Outcome, Turn
from agent_core.models.demo_words import task_text

MAX_CALLS = 8
MAX_FAILURES = 2
CHARTED = 2  # symbols for which charts come unasked

HISTORY, ANALYSIS, CHART = "get_market_history", "analyze_stock", "chart"
OVERVIEW, SEARCH = "get_market_overview", "search_stock_by_name"
AGENTS = {"research": Want.HISTORY, "analysis": Want.TREND}
# What comes nearest when the tool of choice is not allowed.
INSTEAD = {
    Want.HISTORY: (HISTORY, ANALYSIS, OVERVIEW),
    Want.TREND: (ANALYSIS, HISTORY, OVERVIEW),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The asks with what is known by now (symbols found by name, days of periods), and the calls that follow."""

    asks: tuple[Ask, ...]
    calls: tuple[Call, ...]


def plan(asks: Sequence[Ask], turn: Turn, offered: frozenset[str]) -> Plan:
    """Decide. No calls: it is time to answer."""
    known = tuple(_resolved(ask, turn, offered) for ask in asks)
    if turn.closed:
        return Plan(known, ())
    wanted: dict[str, Call] = {}
    for ask in known:
        for call in _calls(ask, turn, offered):
            if call.name in offered and not turn.made(call):
                wanted.setdefault(call.key, call)
    calls = [c for c in wanted.values() if turn.failures(c.name) < MAX_FAILURES]
    return Plan(known, tuple(calls[:MAX_CALLS]))


def _resolved(ask: Ask, turn: Turn, offered: frozenset[str]) -> Ask:
    if ask.query and not ask.symbols and ask.on_prices:
        ask = replace(ask, symbols=_found(ask.query, turn))
    if isinstance(ask.period, Back) and ask.on_prices:
        day = last_day(turn)
        if day is None and (turn.failures(OVERVIEW) or OVERVIEW not in offered):
            day = turn.today
        if day is not None:
            ask = replace(ask, period=ask.period.until(day))
    return ask


def _found(query: str, turn: Turn) -> tuple[str, ...]:
    """The one symbol with prices that a search brought, or none."""
    for outcome in turn.of(SEARCH):
        if outcome.call.args.get("query") == query:
            matches = outcome.data.get("matches") or ()
            with_data = [m for m in matches if isinstance(m, dict) and m.get("has_data")]
            if len(with_data) == 1:
                return (str(with_data[0].get("symbol", "")),)
    return ()


def last_day(turn: Turn) -> dt.date | None:
    """The last day of the data, as the overview has it."""
    for outcome in turn.of(OVERVIEW):
        try:
            return dt.date.fromisoformat(str(outcome.data.get("as_of"))[:10])
        except ValueError:
            continue
    return None


def _calls(ask: Ask, turn: Turn, offered: frozenset[str]) -> Iterator[Call]:
    if ask.query and (Want.SEARCH in ask.wants or not ask.symbols):
        yield Call(SEARCH, {"query": ask.query})
    if Want.OVERVIEW in ask.wants:
        yield Call(OVERVIEW, {})
    if not ask.on_prices or not ask.symbols:
        return
    asked = turn.of(OVERVIEW) or turn.failures(OVERVIEW)
    if isinstance(ask.period, Back) and OVERVIEW in offered and not asked:
        yield Call(OVERVIEW, {})
        return
    delegated = tuple(_delegations(ask, offered))
    if delegated:
        yield from _supervised(ask, turn, offered, delegated)
    else:
        yield from _direct(ask, ask.wants, frozenset(offered))
        yield from _charts(ask)


def _delegations(ask: Ask, offered: frozenset[str]) -> Iterator[Call]:
    for agent, want in AGENTS.items():
        if want in ask.wants and f"{DELEGATE}{agent}" in offered:
            task = task_text(ask.language, want, ask.symbols, days_of(ask))
            yield Call(f"{DELEGATE}{agent}", {"task": task})


def _supervised(
    ask: Ask, turn: Turn, offered: frozenset[str], delegated: Sequence[Call]
) -> Iterator[Call]:
    """First the delegations side by side, then what their policies say, then the charts."""
    yield from delegated
    mine = {call.key for call in delegated}
    outcomes = [o for o in turn.outcomes if o.call.key in mine]
    if len(outcomes) < len(delegated):
        return
    served = {AGENTS[o.call.agent or ""] for o in outcomes}
    yield from _direct(ask, ask.wants - served, offered)
    allowed = offered
    for outcome in outcomes:
        action = next_action(outcome)
        if action == "stop_and_report":
            return
        want = AGENTS[outcome.call.agent or ""]
        if action == "delegate_to":
            yield Call(f"{DELEGATE}{outcome.data['policy'].get('delegate_to')}", outcome.call.args)
        elif action == "fallback_to_direct_tools":
            tools = fallback_tools(outcome)
            allowed = allowed & tools if tools else allowed
            yield from _direct(ask, frozenset({want}), offered & tools if tools else offered)
    yield from (call for call in _charts(ask) if call.name in allowed)


def next_action(outcome: Outcome) -> str:
    """What the runtime says is to be done with a delegation's result."""
    if outcome.is_error:
        return "fallback_to_direct_tools"
    policy = outcome.data.get("policy")
    action = policy.get("next_action") if isinstance(policy, dict) else None
    return str(action or "use_result")


def fallback_tools(outcome: Outcome) -> frozenset[str]:
    """The direct tools that are left after a failed delegation; empty: no bound."""
    policy = outcome.data.get("policy")
    tools = policy.get("fallback_tools") if isinstance(policy, dict) else None
    return frozenset(map(str, tools or ()))


def _direct(ask: Ask, wants: frozenset[Want], allowed: frozenset[str]) -> Iterator[Call]:
    for want, choice in INSTEAD.items():
        if want not in wants:
            continue
        name = next((tool for tool in choice if tool in allowed), None)
        if name == OVERVIEW:
            yield Call(OVERVIEW, {"symbols": list(ask.symbols)})
        elif name:
            for symbol in ask.symbols:
                yield Call(name, {"symbol": symbol, **days_of(ask)})


def _charts(ask: Ask) -> Iterator[Call]:
    if ask.no_chart or (Want.CHART not in ask.wants and len(ask.symbols) > CHARTED):
        return
    for symbol in ask.symbols:
        yield Call(CHART, {"symbol": symbol, **days_of(ask)})


def days_of(ask: Ask) -> dict[str, str]:
    """`start` and `end` as tools take them."""
    return ask.period.args if isinstance(ask.period, Period) else {}
