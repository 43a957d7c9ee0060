"""The demo planner's answers: Markdown in which every number stands as a tool returned it.

Nothing is computed or rounded here. What sub-agents wrote is taken over whole, without its closing lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_core.models import demo_plan as tools
from agent_core.models.demo_ask import Ask, Errand, Language, Want, language_of
from agent_core.models.demo_facts import DEMO_LINE, Facts
from agent_core.models.demo_plan import next_action
from agent_core.models.demo_report import report
from agent_core.models.demo_turn import Outcome, Turn, fields_of
from agent_core.models.demo_words import ACTIONS, STATUSES, TEXTS, Key, say

HANDED = "Results of other agents:"  # begins what a sub-agent gets of others' results
_NAMED = re.compile(r"\*\*[a-z][\w-]*\*\*")
_HANDED = frozenset(texts["handed"] for texts in TEXTS.values())
# A share that nobody knows, or of which there are no prices, is told as it is: which tool was asked is nothing to a
# person, and neither is how a model should go on.
_OF_SYMBOLS = re.compile(r"no symbol is named|no prices of|没有名为|没有 \S+的价格")
_FOR_MODELS = re.compile(r"let the person choose with ask_user; |请用 ask_user 让用户选择；")
_HEAD = re.compile(r"\[([a-z][\w-]*): [a-z_]+\]")
MAX_WHY = 300  # characters of an error that are quoted
_SAID: dict[Want, Key] = {Want.HELP: "help", Want.THANKS: "thanks"}
DISCLAIMERS = frozenset(texts["disclaimer"] for texts in TEXTS.values())


def answer(asks: Sequence[Ask], turn: Turn) -> str:
    """The words that end the turn. Always carries the word demo."""
    language = language_for(asks, turn)
    if not asks and not turn.news:
        return f"{say(language, 'help')}\n\n{_last_line(language, Facts())}"
    understood = [ask for ask in asks if ask.understood]
    if asks and not turn.outcomes:
        if HANDED in turn.background and not turn.closed:
            return _handed_over(turn, language)
        plain = _plain(asks[-1], understood, turn)
        return f"{plain}\n\n{_last_line(language, Facts())}"
    facts = Facts()
    before = [say(language, "news")] if turn.news else []
    before += _before(understood, turn, language)
    body = [*_from_agents(turn, language, facts), *report(turn, understood, language, facts)]
    body += _errors(turn, understood, language)
    parts = [*before, *_once(body)] if before or body else [say(language, "nothing")]
    if facts:
        parts.append(say(language, "disclaimer"))
    return "\n\n".join([*parts, _last_line(language, facts)])


def language_for(asks: Sequence[Ask], turn: Turn) -> Language:
    """The language of what is asked now, else of what was said last."""
    if asks:
        return asks[-1].language
    if turn.spoken:
        return turn.spoken
    return language_of(turn.texts[-1]) if turn.texts else "en"


def _once(sections: Sequence[str]) -> Iterator[str]:
    """The sections without paragraphs that stood in an earlier one: several agents may report the same figures."""
    told: set[str] = set()
    for section in sections:
        paragraphs = section.split("\n\n")
        new = [words for words in paragraphs if words not in told]
        told.update(paragraphs)
        kept = [words for at, words in enumerate(new) if not _heads_nothing(new, at)]
        if set(kept) - _HANDED:
            yield "\n\n".join(kept)


def _heads_nothing(paragraphs: Sequence[str], at: int) -> bool:
    """Whether it is an agent's name with nothing under it any more."""
    if not _NAMED.fullmatch(paragraphs[at]):
        return False
    return at + 1 == len(paragraphs) or _NAMED.fullmatch(paragraphs[at + 1]) is not None


def _handed_over(turn: Turn, language: Language) -> str:
    """What other agents brought, quoted: all that there is where no tool was called."""
    facts, kept = Facts(), [say(language, "handed")]
    for line in turn.background.partition(HANDED)[2].strip().splitlines():
        if DEMO_LINE.match(line):
            facts.take_line(line)
        elif head := _HEAD.fullmatch(line.strip()):
            kept.append(f"\n**{head[1]}**\n")
        elif fields := fields_of(line) if line.startswith("{") else {}:
            kept += [f"- {words}" for words in _texts(fields)]
        elif line.strip() not in DISCLAIMERS:
            kept.append(line)
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return f"{body}\n\n{_last_line(language, facts)}"


def _texts(fields: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a result in a form: its texts, and what has a name with it."""
    for name, value in fields.items():
        listed = value if isinstance(value, list) else [value]
        for one in listed:
            if isinstance(one, Mapping):
                yield ", ".join(f"{key} {part}" for key, part in one.items())
            elif one is not None and not isinstance(one, list):
                yield str(one) if isinstance(value, list) else f"{name}: {one}"


def _plain(last: Ask, understood: Sequence[Ask], turn: Turn) -> str:
    """The answer for which no tool was called."""
    if turn.closed:
        return f"{say(last.language, 'closed')} {say(last.language, 'nothing')}"
    if not understood:
        return say(last.language, "unknown")
    ask = understood[-1]
    if ask.errand is not None:
        return _undone(ask, ask.errand)
    talk = [say(ask.language, key) for want, key in _SAID.items() if want in ask.wants]
    return talk[0] if talk else _not_found(ask)


def _not_found(ask: Ask) -> str:
    """Why nothing was asked of a tool of prices."""
    nameless = not ask.symbols and not ask.query
    if nameless and (ask.on_prices or Want.SEARCH in ask.wants):
        return say(ask.language, "which")
    if ask.on_prices and not ask.symbols:
        return say(ask.language, "no_symbol", name=ask.query)
    return say(ask.language, "no_tool")


def _undone(ask: Ask, errand: Errand) -> str:
    """Why an errand was not carried out: its tool is not here, or something is missing."""
    if ask.without:
        words = [say(ask.language, "not_here", tool=ask.without)]
        if errand.preset:
            words.append(say(ask.language, "in_preset", preset=errand.preset))
        return " ".join(words) if ask.language == "en" else "".join(words)
    if ask.query and not ask.symbols:
        return say(ask.language, "no_symbol", name=ask.query)
    return errand.lacks[ask.language == "zh"] or say(ask.language, "no_tool")


def _before(asks: Sequence[Ask], turn: Turn, language: Language) -> Iterator[str]:
    if any(ask.advice for ask in asks):
        yield say(language, "advice")
    if turn.closed:
        yield say(language, "closed")
    for ask in asks:
        if ask.on_symbols and ask.query and not ask.symbols and turn.of(tools.SEARCH):
            yield say(language, "no_symbol", name=ask.query)
        elif ask.errand is not None and (ask.without or ask.errand.arguments(ask) is None):
            yield _undone(ask, ask.errand)
        elif ask.without:
            yield "> " + say(language, "without", tool=ask.without)
    for loaded in turn.of(tools.SKILL):
        yield say(language, "skill_loaded", name=loaded.call.args.get("name"))
    for outcome in turn.outcomes:
        yield from _on_delegation(outcome, turn, language)


def _on_delegation(outcome: Outcome, turn: Turn, language: Language) -> Iterator[str]:
    agent = outcome.call.agent
    if agent is None or outcome.is_error:
        return
    status, action = str(outcome.data.get("status", "completed")), next_action(outcome)
    if status in STATUSES[language]:
        line = STATUSES[language][status].format(agent=agent)
        if error := outcome.data.get("error"):
            line += f" ({_one_line(error)})" if language == "en" else f"（{_one_line(error)}）"
        if action == "fallback_to_direct_tools" and not _stood_in(outcome, turn):
            action = "no_tools"
        if action in ACTIONS[language]:
            line += ("; " if language == "en" else "，") + ACTIONS[language][action]
        yield f"> {line}"
    if action == "ask_user":
        policy = outcome.data.get("policy") or {}
        yield "> " + say(language, "ask", agent=agent, why=_one_line(policy.get("instruction", "")))
    if outcome.data.get("result_truncated"):
        yield "> " + say(language, "shortened", agent=agent)


def _stood_in(failed: Outcome, turn: Turn) -> bool:
    allowed = tools.fallback_tools(failed)
    return any(
        not o.is_error and o.call.agent is None and (not allowed or o.call.name in allowed)
        for o in turn.outcomes
    )


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:MAX_WHY]


def _from_agents(turn: Turn, language: Language, facts: Facts) -> Iterator[str]:
    noted: set[str] = set()
    for outcome in turn.outcomes:
        agent = outcome.call.agent
        if agent is None or outcome.is_error or _is_void(outcome):
            continue
        result = outcome.data.get("result") or outcome.data.get("partial")
        result = result if outcome.data else outcome.content
        text = result if isinstance(result, str) else ""
        kept: list[str] = []
        by_demo = False
        for line in text.strip().splitlines():
            if DEMO_LINE.match(line):
                facts.take_line(line)
                by_demo = True
            elif line.strip() not in DISCLAIMERS and line not in noted:
                kept.append(line)
                noted |= {line} if line.startswith("> ") else set()
        section = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
        if section:
            facts.quoted = facts.quoted or bool(facts.sources) or not by_demo
            yield section
        elif outcome.data.get("status", "completed") in {"completed", "partial"}:
            yield say(language, "cut", tool=agent)


def _is_void(outcome: Outcome) -> bool:
    """A result that its policy says not to use."""
    return next_action(outcome) not in {"use_result", "use_partial"}


def _errors(turn: Turn, asks: Sequence[Ask], language: Language) -> Iterator[str]:
    told: set[str] = set()
    chart_asked = any(Want.CHART in ask.wants for ask in asks)
    for outcome in turn.outcomes:
        if not outcome.is_error or (
            outcome.call.name == tools.CHART
            and not chart_asked
            and (told or len(turn.outcomes) > 1)
        ):
            continue
        why = _one_line(_FOR_MODELS.sub("", outcome.content))
        if why not in told:
            told.add(why)
            what = outcome.call.agent or _what(outcome.call.name, outcome.call.args)
            names_it = _OF_SYMBOLS.match(why) is not None
            line = why[:1].upper() + why[1:]
            yield "> " + (line if names_it else say(language, "failed", what=what, why=why))


def _what(name: str, args: Mapping[str, Any]) -> str:
    symbol = args.get("symbol")
    return f"`{name}` {symbol}" if symbol else f"`{name}`"


def _last_line(language: Language, facts: Facts) -> str:
    parts = [say(language, "demo")]
    for key, values in facts.lines():
        if values:
            parts.append(say(language, key, ", ".join(values)))
    return f"*{' · '.join(parts)}*"
