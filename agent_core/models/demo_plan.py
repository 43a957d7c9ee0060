"""What the demo planner calls next: a pure function of what is asked, what is there, and which tools are offered.

No call is made twice with the same arguments in one turn, and no tool is called again after failing twice, so a turn
always ends.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from agent_core.models.demo_ask import Ask, Errand, Want
from agent_core.models.demo_intent import understand
from agent_core.models.demo_orders import trades
from agent_core.models.demo_period import Back
from agent_core.models.demo_turn import DELEGATE, Call, Outcome, Turn
from agent_core.models.demo_words import say, task_text

MAX_CALLS = 8
MAX_FAILURES = 2
CHARTED = 2  # symbols for which charts come unasked

HISTORY, ANALYSIS, CHART = "get_market_history", "analyze_stock", "chart"
OVERVIEW, SEARCH = "get_market_overview", "search_stock_by_name"
ASK, SKILL = "ask_user", "load_skill"
MAX_OPTIONS = 8
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
    known = tuple(_resolved(ask, turn, offered) for ask in _with_skills(asks, turn))
    if turn.closed:
        return Plan(known, ())
    wanted: dict[str, Call] = {}
    if _planned(turn, offered):
        known = tuple(replace(ask, errand=None, without="") for ask in known)
        asked = (call for ask in known if ask.on_prices for call in _charts(ask))
    else:
        asked = (call for ask in known for call in _calls(ask, turn, offered))
    for call in chain(asked, trades(turn)):
        if call.name in offered and not turn.made(call):
            wanted.setdefault(call.key, call)
    calls = [c for c in wanted.values() if turn.failures(c.name) < MAX_FAILURES]
    return Plan(known, tuple(calls[:MAX_CALLS]))


def _with_skills(asks: Sequence[Ask], turn: Turn) -> Iterator[Ask]:
    """The asks, and what a skill that was loaded for one of them is to be used on."""
    for ask in asks:
        yield ask
        if ask.errand is not None and ask.errand.tool == SKILL:
            for outcome in turn.of(SKILL):
                given = outcome.call.args
                words = f"/{given.get('name')} {given.get('user_input', '')}".strip()
                if (then := understand([words])) is not None:
                    yield replace(then, language=ask.language)


def _resolved(ask: Ask, turn: Turn, offered: frozenset[str]) -> Ask:
    ask = _as_offered(ask, offered)
    if ask.query and not ask.symbols and ask.on_symbols:
        ask = replace(ask, symbols=_found(ask.query, turn))
    if isinstance(ask.period, Back) and ask.on_symbols:
        day = last_day(turn)
        if day is None and (turn.failures(OVERVIEW) or OVERVIEW not in offered):
            day = turn.today
        if day is not None:
            ask = replace(ask, period=ask.period.until(day))
    return ask


def _as_offered(ask: Ask, offered: frozenset[str]) -> Ask:
    """The errand alone where somebody here can do it, else what comes nearest."""
    errand = ask.errand
    if errand is None:
        return ask
    here = errand.tool in offered or _to_agent(errand, offered) is not None
    if here or not errand.instead:
        wants = ask.wants & {Want.CHART} if errand.on_symbols else frozenset()
        return replace(ask, wants=wants, without="" if here else errand.tool)
    without = errand.tool if errand.noted else ""
    return replace(ask, errand=None, wants=ask.wants | errand.instead, without=without)


def _found(query: str, turn: Turn) -> tuple[str, ...]:
    """The one symbol with prices that a search brought, or that the person chose; or none."""
    matches = _matches(query, turn)
    if len(matches) == 1:
        return (matches[0],)
    for outcome in turn.of(ASK):
        chosen = outcome.content.strip().partition(" ")[0]
        if chosen in matches:
            return (chosen,)
    return ()


def _matches(query: str, turn: Turn) -> list[str]:
    """The symbols with prices that a search for this name brought."""
    return [
        str(match.get("symbol", ""))
        for outcome in turn.of(SEARCH)
        if outcome.call.args.get("query") == query
        for match in outcome.data.get("matches") or ()
        if isinstance(match, dict) and match.get("has_data")
    ]


def last_day(turn: Turn) -> dt.date | None:
    """The last day of the data, as the overview has it."""
    for outcome in turn.of(OVERVIEW):
        try:
            return dt.date.fromisoformat(str(outcome.data.get("as_of"))[:10])
        except ValueError:
            continue
    return None


def _calls(ask: Ask, turn: Turn, offered: frozenset[str]) -> Iterator[Call]:
    searches = ask.query and (Want.SEARCH in ask.wants or not ask.symbols)
    if searches and (ask.on_symbols or Want.SEARCH in ask.wants):
        yield Call(SEARCH, {"query": ask.query})
        yield from _which(ask, turn)
    if Want.OVERVIEW in ask.wants:
        yield Call(OVERVIEW, {})
    asked = turn.of(OVERVIEW) or turn.failures(OVERVIEW)
    if (
        isinstance(ask.period, Back)
        and ask.on_symbols
        and ask.symbols
        and OVERVIEW in offered
        and not asked
    ):
        yield Call(OVERVIEW, {})
        return
    if ask.errand is not None:
        yield from _errand(ask, ask.errand, turn, offered)
    if ask.on_prices and ask.symbols:
        yield from _on_prices(ask, turn, offered)


def _planned(turn: Turn, offered: frozenset[str]) -> bool:
    """Whether a fixed plan has delegated and brought something: then nobody here can delegate, and charts are left."""
    return any(
        o.call.agent
        and o.call.name not in offered
        and next_action(o) in {"use_result", "use_partial"}
        for o in turn.outcomes
    )


def _which(ask: Ask, turn: Turn) -> Iterator[Call]:
    """Ask the person where a name means several shares with prices."""
    matches = _matches(ask.query, turn)
    if len(matches) > 1 and ask.on_symbols:
        question = say(ask.language, "which_of", name=ask.query)
        yield Call(ASK, {"question": question, "options": matches[:MAX_OPTIONS]})


def _errand(ask: Ask, errand: Errand, turn: Turn, offered: frozenset[str]) -> Iterator[Call]:
    """The call of its tool, or a delegation to who has it; nothing while its arguments are not known."""
    agent = _to_agent(errand, offered)
    args = errand.arguments(ask)
    if args is not None and agent is None:
        yield Call(errand.tool, args)
    elif args is not None:
        words = ask.text if ask.named else f"{ask.text} ({', '.join(ask.symbols)})"
        call = Call(f"{DELEGATE}{agent}", {"task": words})
        yield call
        yield from _passed_on(call, turn)


def _to_agent(errand: Errand, offered: frozenset[str]) -> str | None:
    """Who is given the errand, None where its tool is here or nobody has it."""
    there = bool(errand.agent) and f"{DELEGATE}{errand.agent}" in offered
    return errand.agent if there and errand.tool not in offered else None


def _passed_on(call: Call, turn: Turn) -> Iterator[Call]:
    for outcome in turn.outcomes:
        if outcome.call.key == call.key and next_action(outcome) == "delegate_to":
            yield Call(f"{DELEGATE}{outcome.data['policy'].get('delegate_to')}", call.args)


def _on_prices(ask: Ask, turn: Turn, offered: frozenset[str]) -> Iterator[Call]:
    delegated = tuple(_delegations(ask, offered))
    if delegated:
        yield from _supervised(ask, turn, offered, delegated)
    else:
        yield from _direct(ask, ask.wants, frozenset(offered))
        if ask.errand is None or Want.CHART in ask.wants:
            yield from _charts(ask)


def _delegations(ask: Ask, offered: frozenset[str]) -> Iterator[Call]:
    for agent, want in AGENTS.items():
        if want in ask.wants and f"{DELEGATE}{agent}" in offered:
            task = task_text(ask.language, want, ask.symbols, ask.days)
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
                yield Call(name, {"symbol": symbol, **ask.days})


def _charts(ask: Ask) -> Iterator[Call]:
    if ask.no_chart or (Want.CHART not in ask.wants and len(ask.symbols) > CHARTED):
        return
    for symbol in ask.symbols:
        yield Call(CHART, {"symbol": symbol, **ask.days})
