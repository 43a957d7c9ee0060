"""Long memories grow shorter while nobody needs them: raw → daily (the best sentences) → digest (what it was about).

Pure, deterministic, no model (TIR-1 … TIR-6, TIR-9). The text before each step is kept in `memory_version`
(`agent_core/storage/upkeep.py`), so that every step can be undone to the byte.

Three questions (MSC-10). Is there a lossless copy: a version for each level, never overwritten. Can the cut split a
pair: memories hold no calls. Where is the original: /memory show, `swarmgate memory trace`, and `restore`.
"""

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_core import text as texts
from agent_core.memory.lifecycle import LASTS
from agent_core.models.tokens import of_text
from agent_core.words import STOP, STOP_HAN

Level = Literal["raw", "daily", "digest"]

# Standing constraints: they are pinned in recall and never grow weaker (CAP-2), so no word of them is left out.
STANDING = frozenset(kind for kind, days in LASTS.items() if days is None)
MIN_LATIN = (
    3  # characters of a word that counts (TIR-3); shorter ones count when they hold a figure
)
_HAN = re.compile(f"[{texts.HAN}]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]"
)  # Thai, Lao, Burmese, Khmer, Kana
# The point behind these ends no sentence: titles, Latin, companies, initials.
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|approx|inc|corp|ltd|co|no|vol|fig|e\.g|i\.e|a\.m|p\.m)"
    r"|\b[a-z](?:\.[a-z])*)\.\s*$",
    re.IGNORECASE,
)
_LABELS = {
    False: ("Keywords: ", "Context: ", "Key concepts:"),
    True: ("关键词：", "内容：", "要点："),
}


@dataclass(frozen=True, slots=True)
class Tiers:
    """When a memory is shortened, counted from its last use, and to what (TIR-1).

    `sentences` are those kept between the first and the last; `digest_tokens` bounds the whole digest.
    """

    daily_after: dt.timedelta = dt.timedelta(days=7)
    digest_after: dt.timedelta = dt.timedelta(days=30)
    sentences: int = 5
    keywords: int = 15
    digest_tokens: int = 50


DEFAULT = Tiers()


def due(level: str, used_at: dt.datetime, now: dt.datetime, tiers: Tiers = DEFAULT) -> Level | None:
    """The level to which a memory is to be brought now, None for none (TIR-2).

    One step at a time: a raw memory that is old enough for a digest becomes daily first.
    """
    idle = now - used_at
    if level == "raw" and idle > tiers.daily_after:
        return "daily"
    if level == "daily" and idle > tiers.digest_after:
        return "digest"
    return None


def shortened(text: str, level: Level, keywords: Sequence[str] = (), tiers: Tiers = DEFAULT) -> str:
    """The text at a level, made from the text at the level before it."""
    if level == "daily":
        return daily(text, keywords, tiers)
    return digest(text, tiers) if level == "digest" else text


def daily(text: str, keywords: Sequence[str] = (), tiers: Tiers = DEFAULT) -> str:
    """The first and the last sentence and the best between them, in their order (TIR-3).

    A sentence is as good as its words are rare, on the average. A text of few sentences comes back unchanged.

    Args:
        text: the raw text.
        keywords: what it is about, for the line at its head; none for no such line.
        tiers: how many sentences stay.
    """
    parts = sentences(text)
    if len(parts) <= tiers.sentences + 2:
        return text
    cut = [list(tokens(part)) for part in parts]
    rarity = _idf(cut)
    scores = {
        at: sum(rarity[word] for word in cut[at]) / len(cut[at])
        for at in range(1, len(parts) - 1)
        if cut[at]
    }
    best = sorted(scores, key=lambda at: (-scores[at], at))[: tiers.sentences]
    kept = [0, *sorted(best), len(parts) - 1]
    body = _joined([parts[at] for at in kept], text)
    labels = _LABELS[texts.is_chinese(text)]
    return f"{labels[0]}{', '.join(keywords)}\n{body}" if keywords else body


def digest(text: str, tiers: Tiers = DEFAULT) -> str:
    """What a text was about: its beginning and its heaviest words, within `digest_tokens` (TIR-5).

    It tells that there was something, and lets a search find it; it is not for reading (TIR-6).
    """
    about, body = _headed(text)
    parts = sentences(body)
    _, context, concepts = _LABELS[texts.is_chinese(text)]
    opening = _fitting(texts.one_line(parts[0]) if parts else "", tiers.digest_tokens * 2 // 5)
    head = f"{context}{opening}\n{concepts}"
    chosen: list[str] = []
    for word in [*about, *concepts_of(parts)]:
        longer = f"{head}\n{', '.join([*chosen, word])}"
        if len(chosen) < tiers.keywords and of_text(longer) <= tiers.digest_tokens:
            chosen.append(word)
    return f"{head}\n{', '.join(chosen)}" if chosen else f"{context}{opening}"


def sentences(text: str) -> list[str]:
    """The sentences of a text with their white space; joined they are the text, but for blank ones (TIR-4, defect 2).

    Chinese marks end one without a blank behind them; figures (3.5), codes and abbreviations (Dr., U.S.) do not.
    """
    found: list[str] = []
    for part in texts.sentences(text):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] += part
        elif part.strip():
            found.append(part)
    return found


def concepts_of(parts: Sequence[str]) -> list[str]:
    """The words of some sentences, the heaviest first: how often they occur times how rare they are (defect 3)."""
    cut = [list(tokens(part)) for part in parts]
    rarity = _idf(cut)
    counts = Counter(word for words in cut for word in words)
    first: dict[str, int] = {}
    for at, word in enumerate(word for words in cut for word in words):
        first.setdefault(word, at)
    return sorted(counts, key=lambda word: (-counts[word] * rarity[word], first[word]))


def tokens(text: str) -> Iterable[str]:
    """What is counted: Latin words without stop words, figures, pairs of Han characters (TIR-3, TIR-5)."""
    for word in texts.words(text):
        if _HAN.match(word):
            yield from _pairs(word)
        elif _UNSPACED.search(word):
            yield from texts.ngrams(word)
        elif word not in STOP and (
            len(word) >= MIN_LATIN or not word.isascii() or _has_figure(word)
        ):
            yield word


def retention(before: str, after: str) -> float:
    """How much of the words of a text is still there, 0 … 1; for the log, decides nothing (TIR-9)."""
    left, right = set(tokens(before)), set(tokens(after))
    if not left and not right:
        return 1.0
    if not left or not right:
        return 0.0
    return len(left & right) / len(left | right)


def _headed(text: str) -> tuple[list[str], str]:
    """The keywords at the head of a daily text, and the rest of it."""
    first, _, rest = text.partition("\n")
    for label, *_ in _LABELS.values():
        if rest and first.startswith(label):
            return [word for word in first.removeprefix(label).split(", ") if word], rest
    return [], text


def _pairs(run: str) -> Iterable[str]:
    for pair in texts.ngrams(run):
        if not any(char in STOP_HAN for char in pair):
            yield pair


def _has_figure(word: str) -> bool:
    return any(char.isdigit() for char in word)


def _idf(cut: Sequence[Sequence[str]]) -> dict[str, float]:
    """log((1 + N) / (1 + df)) + 1: never below 1, so a frequent word is never ranked down for being frequent.

    It differs from log(N / (1 + df)) by a constant, so sentences, judged by averages, rank as in the source.
    """
    seen = Counter(word for words in cut for word in set(words))
    return {word: math.log((1 + len(cut)) / (1 + count)) + 1 for word, count in seen.items()}


def _joined(parts: Sequence[str], text: str) -> str:
    """Sentences of a text as they stood; a blank where what stood between two of them is gone."""
    joined = ""
    for left, part in zip(("", *parts), parts, strict=False):
        glue = " " if left + part not in text and _needs_blank(left, part) else ""
        joined += glue + (part.lstrip() if glue else part)
    return joined.strip()


def _needs_blank(left: str, right: str) -> bool:
    """Between Chinese sentences there is none; a full stop ends a sentence only with one behind it."""
    if not left or left[-1].isspace():
        return False
    return left[-1].isascii() or not _HAN.match(right.lstrip()[:1])


def _fitting(text: str, most: int) -> str:
    """The beginning of a text that has at most so many tokens."""
    size = len(text)
    while size > 1 and of_text(texts.clip(text, size)) > most:
        size -= max(1, size // 20)
    return texts.clip(text, size)
