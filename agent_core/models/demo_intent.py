"""What a person asks of the demo planner, read from words in English and Chinese.

`read` reads one text; `follow` completes a follow-up ("and in 2011?", "那谷歌呢?") from the ask before it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from agent_core import symbols
from agent_core.models import demo_vocabulary as words
from agent_core.models.demo_ask import ALONE, FULL_LOOK, PRICE_WANTS, Ask, Want, language_of
from agent_core.models.demo_errands import find_errand
from agent_core.models.demo_period import find_period

MAX_SYMBOLS = 4  # more would not fit one answer
MAX_TEXT = 1_000  # characters read of one text; a request is short
MAX_QUERY = 60


def understand(texts: Iterable[str]) -> Ask | None:
    """The last text's request, each text completed from those before it. None: no texts."""
    ask: Ask | None = None
    known: Ask | None = None
    for text in texts:
        ask = follow(read(text), known)
        if ask.errand is not None and ask.errand.acts:
            known = (
                replace(ask, errand=None) if ask.symbols else known
            )  # never done again by "and AAPL?"
        elif ask.symbols or ask.errand:
            known = ask
    return ask


@lru_cache(maxsize=64)  # earlier texts are read again at each step of a turn
def read(text: str) -> Ask:
    """What the text asks, by itself."""
    text = text[:MAX_TEXT]
    language = language_of(text)
    mentions = symbols.find(text)
    rest = text
    for mention in mentions:  # so that no word of a name is taken for a request
        rest = rest[: mention.start] + " " * (mention.end - mention.start) + rest[mention.end :]
    found = _symbols([mention.symbol.id for mention in mentions], rest)
    period = find_period(rest)
    errand = find_errand(text)
    wants = _wants(rest, bool(found))
    casual = bool(words.CASUAL.search(rest))
    advice = errand is None and bool(words.ADVICE.search(rest))
    if advice and not wants & PRICE_WANTS:
        wants = FULL_LOOK
    query = ""
    if errand is not None:
        query = (
            "" if found or not errand.on_symbols else _unknown_name(errand.pattern.sub(" ", rest))
        )
    elif Want.SEARCH in wants:
        query = mentions[0].matched if mentions else found[0] if found else _searched(rest)
    elif not found and (wants & PRICE_WANTS or ((casual or period) and not wants) or _short(text)):
        query = _unknown_name(rest)
    return Ask(
        language=language,
        symbols=found,
        period=period,
        wants=wants,
        no_chart=bool(words.NO_CHART.search(rest)),
        advice=advice,
        query=query,
        refers=casual and bool(words.PRONOUN.search(rest)),
        compares=bool(words.COMPARE.search(rest)),
        errand=errand,
        text=text,
        rest=rest,
    )


def _short(text: str) -> bool:
    """A name and nothing else, such as "Nokia"."""
    return text.istitle() and len(text.split()) <= 2


def _symbols(known: Sequence[str], rest: str) -> tuple[str, ...]:
    tickers = [match[0].lstrip("$") for match in words.TICKER.finditer(rest)]
    if len(re.findall(r"[A-Za-z]+", rest)) > 3 and rest.upper() == rest:  # somebody shouts
        tickers = [ticker for ticker in tickers if ticker[0].isdigit()]
    foreign = [t for t in tickers if t not in words.NO_TICKERS and not _is_month(t)]
    return tuple(dict.fromkeys([*known, *foreign]))[:MAX_SYMBOLS]


def _is_month(code: str) -> bool:
    """Six digits that read as a month, such as 201203."""
    return len(code) == 6 and code[:2] in ("19", "20") and "01" <= code[4:] <= "12"


def _wants(text: str, with_symbols: bool) -> frozenset[Want]:
    text = words.NO_CHART.sub(" ", text)
    wants: set[Want] = set()
    if words.CHART.search(text):
        wants.add(Want.CHART)
        text = words.CHART.sub(" ", text)
    for pattern, kinds in (
        (words.OVERVIEW, {Want.OVERVIEW}),
        (words.BOTH, FULL_LOOK),
        (words.TREND, {Want.TREND}),
        (words.HISTORY, {Want.HISTORY}),
    ):
        if pattern.search(text):
            wants |= kinds
    if Want.OVERVIEW in wants:
        if not with_symbols:
            return frozenset({Want.OVERVIEW})
        wants = wants - {Want.OVERVIEW} | {Want.HISTORY}
    if not wants and words.SEARCH.search(text):
        return frozenset({Want.SEARCH})
    if not wants and not with_symbols:
        for pattern, want in ((words.HELP, Want.HELP), (words.THANKS, Want.THANKS)):
            if pattern.search(text):
                return frozenset({want})
    return frozenset(wants)


def _searched(rest: str) -> str:
    """The name after a search word."""
    return " ".join(words.SEARCH_NOISE.sub(" ", words.SEARCH.sub(" ", rest)).split())[:MAX_QUERY]


def _unknown_name(rest: str) -> str:
    """What looks like a name, although no symbol is known for it."""
    for match in words.NAME.finditer(rest):
        kept = [w for w in match[0].split() if w.lower() not in words.NO_NAMES and w != "&"]
        if kept:
            return " ".join(kept)[:MAX_QUERY]
    for match in words.NAMED.finditer(rest):
        if match[1].lower() not in words.NO_NAMES:
            return match[1][:MAX_QUERY]
    for pattern in (
        words.NO_CHART,
        words.CHART,
        words.BOTH,
        words.TREND,
        words.HISTORY,
        words.CASUAL,
        words.ADVICE,
    ):
        rest = pattern.sub(" ", rest)
    left = words.HAN_NOISE.sub(" ", rest).split()
    return max(left, key=len)[:MAX_QUERY] if left and len(max(left, key=len)) > 1 else ""


def follow(ask: Ask, before: Ask | None) -> Ask:
    """The ask, completed from the one before it where it leaves out what that one said."""
    if ask.errand is not None:
        return _errand_on(ask, before)
    if before and before.errand and _asks_the_same(ask):
        symbols_now = ask.symbols or before.symbols
        return replace(
            before, symbols=symbols_now, period=ask.period or before.period, language=ask.language
        )
    if ask.query and not ask.wants & ALONE:
        return replace(ask, wants=ask.wants or FULL_LOOK)
    if before and ask.compares and len(ask.symbols) == 1:  # "compare with AAPL"
        both = tuple(dict.fromkeys([*before.symbols, *ask.symbols]))[:MAX_SYMBOLS]
        return replace(ask, symbols=both, period=ask.period or before.period)
    if ask.wants & ALONE or (ask.symbols and ask.wants) or not _says_something(ask):
        return ask
    return replace(
        ask,
        symbols=ask.symbols or (before.symbols if before else ()),
        period=ask.period or (before.period if before else None),
        wants=ask.wants or (before.wants & PRICE_WANTS if before else None) or FULL_LOOK,
    )


def _errand_on(ask: Ask, before: Ask | None) -> Ask:
    """An errand that names no share is about the one before it: "backtest it"."""
    lacks = ask.errand is not None and ask.errand.on_symbols and not ask.symbols and not ask.query
    return replace(ask, symbols=before.symbols, named=False) if lacks and before else ask


def _asks_the_same(ask: Ask) -> bool:
    """Whether it names nothing but another share or another period: "and AAPL?"."""
    return not ask.wants and not ask.query and bool(ask.symbols or ask.period)


def _says_something(ask: Ask) -> bool:
    return bool(ask.symbols or ask.wants or ask.period or ask.refers)
