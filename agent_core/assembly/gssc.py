"""Gather, select, summarise, compose: from many sources to one bounded text beside the person's words (GSC-1 … GSC-6).

Each stage is a pure function from lists to lists, so that each can be tuned, watched and tested alone. What a stage
leaves out comes back with the reason. Pinned candidates (system, facts, the current message) pass Select untouched.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agent_core.models.tokens import of_text
from agent_core.text import terms

Kind = Literal["system", "facts", "examples", "context"]
Reason = Literal[
    "another owner", "empty", "duplicate", "low score", "source budget", "total budget"
]

_ORDER: Mapping[Kind, int] = {"system": 0, "facts": 1, "examples": 2, "context": 3}  # GSC-4


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could be shown. `ts` is seconds since 1970 (0: timeless); `score` is set by Select, 0 … 1."""

    id: str
    source: str
    kind: Kind
    text: str
    owner: str
    ts: float = 0.0
    credibility: str = ""
    score: float = 0.0
    pinned: bool = False

    @property
    def tokens(self) -> int:
        """Estimated tokens of the text."""
        return of_text(self.text)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that a stage left out, and why."""

    candidate: Candidate
    reason: Reason


@dataclass(frozen=True, slots=True)
class Staged:
    """What a stage let through, in order, and what it left out."""

    kept: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class Budgets:
    """Bounds, in estimated tokens and characters. A source without a budget of its own has the whole."""

    total: int = 1_200
    sources: Mapping[str, int] = field(default_factory=dict)
    item_chars: int = 400
    least_score: float = 0.05


@dataclass(frozen=True, slots=True)
class Composed:
    """The text, and what became of every candidate."""

    text: str
    kept: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]


def gather(sources: Iterable[Callable[[], Sequence[Candidate]]], owner: str) -> Staged:
    """All candidates of all sources, each text once; those of another owner never pass (GSC-1, MEM-17)."""
    kept: list[Candidate] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    for source in sources:
        for candidate in source():
            same = " ".join(candidate.text.split()).casefold()
            if candidate.owner != owner:
                dropped.append(Dropped(candidate, "another owner"))
            elif not same:
                dropped.append(Dropped(candidate, "empty"))
            elif same in seen:
                dropped.append(Dropped(candidate, "duplicate"))
            else:
                seen.add(same)
                kept.append(candidate)
    return Staged(tuple(kept), tuple(dropped))


def select(candidates: Sequence[Candidate], task: str, budgets: Budgets) -> Staged:
    """Score against the task, drop low scores, then fill the budgets from the best downwards (GSC-2).

    Equal scores: the newer first, then by id, so that the result hangs on nothing else.
    """
    weights = _weights(frozenset(terms(task)), [c.text for c in candidates])
    scored = [c if c.pinned else replace(c, score=_score(weights, c.text)) for c in candidates]
    scored.sort(key=lambda c: (not c.pinned, -c.score, -c.ts, c.id))
    kept: list[Candidate] = []
    dropped: list[Dropped] = []
    spent: dict[str, int] = {}
    total = 0
    for candidate in scored:
        cost = of_text(shortened(candidate.text, budgets.item_chars))
        used = spent.get(candidate.source, 0)
        reason = None if candidate.pinned else _refusal(candidate, cost, used, total, budgets)
        if reason is not None:
            dropped.append(Dropped(candidate, reason))
            continue
        kept.append(candidate)
        spent[candidate.source] = used + cost
        total += 0 if candidate.pinned else cost
    return Staged(tuple(kept), tuple(dropped))


def _refusal(
    candidate: Candidate, cost: int, used: int, total: int, budgets: Budgets
) -> Reason | None:
    if candidate.score < budgets.least_score:
        return "low score"
    if used + cost > budgets.sources.get(candidate.source, budgets.total):
        return "source budget"
    return "total budget" if total + cost > budgets.total else None


def _weights(wanted: frozenset[str], texts: Sequence[str]) -> dict[str, float]:
    """The task's terms that any candidate has; the fewer have it, the more it says (smoothed IDF)."""
    counts = Counter(term for text in texts for term in wanted.intersection(terms(text)))
    return {term: math.log(1 + len(texts) / count) for term, count in sorted(counts.items())}


def _score(weights: Mapping[str, float], text: str) -> float:
    """The share of the task's weight that the text has, 0 … 1."""
    whole = sum(weights.values())
    return (
        sum(weights[t] for t in sorted(weights.keys() & set(terms(text)))) / whole if whole else 0.0
    )


def summarise(candidates: Sequence[Candidate], budgets: Budgets) -> Staged:
    """Shorten long items to head and tail, with what is missing said; pinned ones stay whole (GSC-3)."""
    return Staged(
        tuple(
            c if c.pinned else replace(c, text=shortened(c.text, budgets.item_chars))
            for c in candidates
        )
    )


def shortened(text: str, chars: int) -> str:
    """At most `chars` characters: two thirds from the beginning, the rest from the end, and how many are missing."""
    if len(text) <= chars:
        return text
    room = max(0, chars - len(f" […{len(text)} characters left out…] "))
    head = room * 2 // 3
    tail = room - head
    mark = f" […{len(text) - head - tail} characters left out…] "
    return text[:head] + mark + (text[-tail:] if tail else "")


def compose(candidates: Sequence[Candidate]) -> str:
    """One line an item in the order system, facts, examples, context, each with its label (GSC-4, CRD-2)."""
    ordered = sorted(candidates, key=lambda c: _ORDER[c.kind])
    return "\n".join(f"- {_label(c)}{' '.join(c.text.split())}" for c in ordered)


def _label(candidate: Candidate) -> str:
    said = [s for s in (candidate.source, candidate.credibility) if s]
    return f"[{', '.join(said)}] " if said else ""


def pipeline(
    sources: Iterable[Callable[[], Sequence[Candidate]]],
    task: str,
    owner: str,
    budgets: Budgets | None = None,
) -> Composed:
    """All four stages; the text is empty when nothing passes."""
    limits = budgets or Budgets()
    gathered = gather(sources, owner)
    selected = select(gathered.kept, task, limits)
    shown = summarise(selected.kept, limits).kept
    return Composed(compose(shown), shown, (*gathered.dropped, *selected.dropped))
