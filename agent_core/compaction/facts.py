"""Key facts: what a person has laid down, in that person's own words, kept through every compaction (KFS-1 … KFS-6).

A chain of extractors marks where a message holds a fact. Each sees the person's own words alone: never memory that was
recalled, a quoted file, a tool's result or an answer (KFS-6, INJ-6). Facts are made anew from the transcript each time,
so nothing of them can be lost by a restart, a fallback or a bad summary. Pure: equal rows give equal facts.

Lossless copy: the row itself. Tool pairs: untouched, only texts are read. The original: `Fact.seq` names its row
(MSC-10).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_core import text
from agent_core.compaction.decisions import Fact
from agent_core.compaction.rules import amounts, key_of, keywords, rules
from agent_core.types import Row, RowKind, Text

Spans = Iterator[tuple[int, int]]

MAX_FACTS = 20  # KFS-5, as the two that follow
MAX_CHARS = 200
MAX_TOTAL = 1_500


@dataclass(frozen=True, slots=True)
class Extractor:
    """One way to see facts. `find` gives where in a text one stands; `weight` ranks it when the slot is full."""

    name: str
    find: Callable[[str], Spans]
    weight: int = 1


KEYWORDS = Extractor("keyword", keywords, 2)
RULES = Extractor("rule", rules, 2)
AMOUNTS = Extractor("amount", amounts, 1)
CHAIN = (KEYWORDS, RULES, AMOUNTS)
_ANNOUNCING_CHARS = 4  # a clause such as 对了 announces a fact and is none by itself
_LOOSE = " \t\r\n,，、;；"  # what a cut leaves at the ends of a piece
_WEIGHTS = {e.name: e.weight for e in CHAIN}

# A block that quotes somebody else: memory, situation, a file that was attached. With its content.
_QUOTED = re.compile(
    r"<(recalled-memories|relevant-memories|context|runtime-note|tool_result|quote)>.*?(?:</\1>|\Z)"
    r"|\[content of the attached file [^\]\n]*\]\n(`{3,})\n.*?(?:\n\2(?!`)|\Z)"
    r"|^\[attached file: [^\]\n]*\][^\n]*$|^[ \t]*>[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_OWN = re.compile(r"<current-user-message>(.*?)(?:</current-user-message>|\Z)", re.DOTALL)
_TAG = re.compile(r"[<‹]/?(?:current-user-message|context|runtime-note|[a-z]+-memories)[>›]")


def own_words(row: Row) -> str:
    """What the person of a USER row wrote, without tags, quotes and the content of files (INJ-6); else ""."""
    if row.kind is not RowKind.USER or row.meta.get("hidden"):
        return ""
    said = "\n".join(b.text for b in row.message.blocks if isinstance(b, Text))
    if tagged := _OWN.findall(said):
        said = "\n".join(tagged)
    return _TAG.sub("", _QUOTED.sub("", said)).strip()


def extract(rows: Sequence[Row], chain: Sequence[Extractor] = CHAIN) -> tuple[Fact, ...]:
    """The facts of the USER rows, in order; superseded ones carry the row that says it anew (KFS-4).

    A message with a fact is copied whole (KFS-1). One that is longer than a fact may be, or that sets several values
    which may change apart from each other, comes in pieces; each is verbatim.
    """
    found = [fact for row in rows for fact in _of(row, chain)]
    return tuple(_superseded(found))


def slot(
    facts: Sequence[Fact],
    *,
    limit: int = MAX_FACTS,
    chars: int = MAX_CHARS,
    total: int = MAX_TOTAL,
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """(kept, overflow) of the facts that still hold, each in order (KFS-5).

    Rules go before bare amounts, later ones before earlier ones. A text over `chars` counts and shows as its first
    `chars` characters. What overflows is for the persistent memory: the caller reports it, nothing drops it in silence.
    """
    live = [replace(f, text=f.text[:chars]) for f in facts if f.superseded_by is None]
    places = sorted(range(len(live)), key=lambda at: (_WEIGHTS.get(live[at].extractor, 1), at))
    kept: set[int] = set()
    room = total
    for at in reversed(places):
        if len(kept) < limit and len(live[at].text) <= room:
            kept.add(at)
            room -= len(live[at].text)
    return (
        tuple(f for at, f in enumerate(live) if at in kept),
        tuple(f for at, f in enumerate(live) if at not in kept),
    )


def _of(row: Row, chain: Sequence[Extractor]) -> Iterator[Fact]:
    said = own_words(row)
    hits = _hits(said, chain) if said else {}
    if not hits:
        return
    for piece, at in _pieces(said, sorted(hits)):
        first = next(e.name for e in chain if e.name in _names(hits, at, at + len(piece)))
        if shown := piece.strip(_LOOSE):
            yield Fact(row.seq, row.turn_id, shown, first, key_of(shown))


def _hits(said: str, chain: Sequence[Extractor]) -> dict[int, tuple[int, set[str]]]:
    """Where each hit begins → where it ends, and who found it."""
    hits: dict[int, tuple[int, set[str]]] = {}
    for extractor in chain:
        for start, end in extractor.find(said):
            until, names = hits.setdefault(start, (end, set()))
            names.add(extractor.name)
            hits[start] = (max(end, until), names)
    return hits


def _names(hits: dict[int, tuple[int, set[str]]], start: int, end: int) -> set[str]:
    return {name for at, (_, names) in hits.items() if start <= at < end for name in names}


def _pieces(said: str, hits: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The pieces that become facts, with where each begins; every hit lies in exactly one."""
    parts = _by_key(said, hits)
    if len(said) <= MAX_CHARS:
        yield from parts
        return
    for part, start in parts:
        if len(part) <= MAX_CHARS:
            yield part, start
        else:
            yield from _long(part, start, [at for at in hits if start <= at < start + len(part)])


def _by_key(said: str, hits: Sequence[int]) -> list[tuple[str, int]]:
    """The text whole, or cut before each clause that sets another value, so that one can change without the other."""
    cuts = [0]
    at, seen, key = 0, False, ""
    for clause in text.clauses(said):
        if any(at <= hit < at + len(clause) for hit in hits):
            if seen and key_of(clause) != key:
                cuts.append(at)
            seen, key = len(text.normal(clause)) > _ANNOUNCING_CHARS, key_of(clause)
        at += len(clause)
    ends = [*cuts[1:], len(said)]
    parts = [(said[a:b], a) for a, b in zip(cuts, ends, strict=True)]
    return parts if any(key_of(part) for part, _ in parts) else [(said, 0)]


def _long(part: str, start: int, hits: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The sentences of a long text that hold a hit; of a sentence that is too long itself, what stands about each."""
    done, at = -1, start
    for sentence in text.sentences(part):
        inside = [hit for hit in hits if at <= hit < at + len(sentence)]
        for hit in inside:
            if hit <= done:
                continue
            begin = at if len(sentence) <= MAX_CHARS else max(at, hit - MAX_CHARS // 4, done + 1)
            piece = part[begin - start : min(begin + MAX_CHARS, at + len(sentence)) - start]
            yield piece, begin
            done = begin + len(piece) - 1
        at += len(sentence)


def _superseded(found: Sequence[Fact]) -> list[Fact]:
    """Mark what a later fact says again or anew (KFS-5). The later one holds, so that a value may change back."""
    out: list[Fact] = []
    live: dict[str, int] = {}  # normalised text → place in out
    keyed: dict[str, dict[str, int]] = {}  # subject → key → place in out
    for fact in found:
        place = len(out)
        said = text.normal(fact.text)
        gone = {live[said]} if said in live else set()
        if fact.key:
            named = keyed.setdefault(_subject(fact.key), {})
            gone |= {named.pop(key) for key in _replaced(fact.key, named)}
            named[fact.key] = place
        for at in gone:
            out[at] = replace(out[at], superseded_by=fact.seq)
            live.pop(text.normal(out[at].text), None)
        live[said] = place
        out.append(fact)
    return out


def _subject(key: str) -> str:
    """A key without its qualifier: "budget:day@NVDA" is about "budget@NVDA"."""
    head, at, symbol = key.partition("@")
    return head.partition(":")[0] + at + symbol


def _replaced(key: str, named: dict[str, int]) -> list[str]:
    """The keys whose value a new one replaces: its own; or, where it is not qualified, the only one there is."""
    if key in named:
        return [key]
    return list(named) if ":" not in key and len(named) == 1 else []
