"""Sections that list: the market overview, names that were searched for, and what errands brought."""

from collections.abc import Iterator, Sequence

from agent_core.models import demo_plan as tools
from agent_core.models.demo_ask import Ask, Language, Want
from agent_core.models.demo_facts import Facts, Fields, good, listed, table_row
from agent_core.models.demo_told import told
from agent_core.models.demo_told_table import ANY, TELLINGS
from agent_core.models.demo_turn import Turn
from agent_core.models.demo_words import say

MAX_MATCHES = 8
# These have sections of their own.
TOLD_HERE = frozenset({tools.HISTORY, tools.ANALYSIS, tools.CHART, tools.OVERVIEW, tools.SEARCH})


def errands(turn: Turn, language: Language, facts: Facts) -> Iterator[str]:
    """What each errand's tool brought, or that it still runs in the background."""
    for outcome in turn.outcomes:
        name = outcome.call.name
        if outcome.is_error or outcome.call.agent or name in {*TOLD_HERE, tools.ASK}:
            continue
        if outcome.task:
            yield say(language, "begun", id=outcome.task)
        elif name != tools.SKILL:
            telling = TELLINGS.get(name, ANY)
            if section := told(telling, outcome, language):
                yield section
            elif outcome.cut:
                yield say(language, "cut", tool=f"`{name}`")
            if note := outcome.data.get("note"):
                yield f"> {note}"
            if telling.figures and section:
                facts.take(outcome.data)
            else:
                facts.take_source(outcome.data)


def overviews(turn: Turn, asks: Sequence[Ask], language: Language, facts: Facts) -> Iterator[str]:
    """The overview, unless it was only called for the last day of the data."""
    asked = any(Want.OVERVIEW in ask.wants for ask in asks)
    for outcome in good(turn, tools.OVERVIEW):
        if not asked and not outcome.call.args.get("symbols"):
            continue
        items = [i for i in outcome.data.get("items") or () if isinstance(i, dict)]
        rows = [say(language, "table_overview"), "|---|---:|---:|---:|---:|---:|"]
        rows += [table_row(_overview_cells(item)) for item in items]
        facts.take(outcome.data)
        yield say(language, "overview", day=outcome.data.get("as_of")) + "\n\n" + "\n".join(rows)


def _overview_cells(item: Fields) -> list[object]:
    keys = ("day_change_pct", "return_1m_pct", "return_3m_pct", "return_1y_pct")
    changes = [None if item.get(key) is None else f"{item[key]} %" for key in keys]
    return [item.get("symbol"), item.get("last_close"), *changes]


def names(turn: Turn, asks: Sequence[Ask], language: Language, facts: Facts) -> Iterator[str]:
    """What was found by name, unless it only led to the symbol that was meant."""
    resolved = {ask.query for ask in asks if ask.symbols and Want.SEARCH not in ask.wants}
    for outcome in turn.of(tools.SEARCH):
        name = outcome.call.args.get("query")
        matches = [m for m in outcome.data.get("matches") or () if isinstance(m, dict)]
        if name in resolved or outcome.cut:
            continue
        if not matches:
            if all(Want.SEARCH in ask.wants for ask in asks if ask.query == name):
                yield say(language, "no_matches", name=name)
            continue
        facts.take_source(outcome.data)
        lines = [say(language, "matches", name=name)]
        lines += [_match(match, language) for match in matches[:MAX_MATCHES]]
        yield listed(lines)


def _match(match: Fields, language: Language) -> str:
    names = [str(match[k]) for k in ("name", "name_zh") if match.get(k)]
    place = [str(match[k]) for k in ("market", "currency") if match.get(k)]
    data = say(language, "has_data" if match.get("has_data") else "no_data")
    return f"- **{match.get('symbol')}**: {' / '.join(dict.fromkeys(names))} ({', '.join([*place, data])})"
