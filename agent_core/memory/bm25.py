"""How much rows of a space answer a question: BM25 at three grains, in our own code, with the space's own statistics.

The grains are the row, the row with its two neighbours on each side, and the session. Each is brought to its own
maximum; the score is their weighted sum, never the maximum of them, with boosts on top (guide "recall"). Pure; a pass
over the postings, so its time grows with them: `Weights.most` bounds it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from agent_core.storage.postings import (
    DATED,
    GROUP_BITS,
    MAX_AROUND,
    MAX_DOCS,
    MAX_SIZE,
    NAMED,
    NAMES,
    NEIGHBOURS,
    PLACE_BITS,
    QUESTION,
    ROW_BITS,
    unpack,
)
from agent_core.storage.search import Group, Postings

_PLACES = (1 << PLACE_BITS) - 1
_NOWHERE: frozenset[int] = frozenset()
_SLACK = 1e-9  # above what rounding takes from a sum
_FLAG_BITS = MAX_AROUND.bit_length()  # below a row's flags
_MOST_FLAGS = QUESTION | DATED | NAMED


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of the default recipe, tuned on five LoCoMo dialogues and checked on the other five.

    `row`, `window` and `session` weigh the grains, `entity` what the question names (a symbol or the row's speaker),
    `time` a row that tells a time when the question asks for one; `question` is taken from rows that only ask, and
    `reply` is what the row after such a one has of its score. `most` bounds the postings that are scored: the commonest
    words are left out first. `sessions` bounds the sessions whose rows are scored: those with the weightiest words;
    `rows` bounds their rows, so that a few long sessions cost no more than many short ones.
    """

    row: float = 0.25
    window: float = 0.5
    session: float = 0.15
    entity: float = 0.3
    time: float = 0.25
    question: float = 0.05
    reply: float = 0.15
    k1: float = 1.2
    b: float = 0.4
    window_k1: float = 0.9
    window_b: float = 0.75
    session_b: float = 0.75
    most: int = 8_000
    sessions: int = 24
    rows: int = 1_600


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `words` are scored; `entities` are words of symbols and speakers that boost the rows that have them.

    `symbols` are the words of the resolved symbols, by which rows of other symbols are left out (RCL-5).
    """

    words: tuple[str, ...]
    entities: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    when: bool = False


class Ranked(NamedTuple):
    """A row that answers: its score, its group, its place there."""

    score: float
    group: int
    place: int


# Gives groups by their numbers.
Load = Callable[[Collection[int]], Mapping[int, Group]]


def rank(
    found: Postings,
    asked: Asked,
    load: Load,
    weights: Weights,
    *,
    limit: int,
    scoped: bool = True,
) -> list[Ranked]:
    """The `limit` best rows that answer, best first; equal ones newest first.

    `scoped`: with symbols in the question, rows of other symbols are left out of every grain; without, rows that name
    any (RCL-5).
    """
    space = _Space(found, asked, weights, scoped=scoped)
    hits = space.weightiest()
    if not hits:
        return []
    loaded = load(hits.keys())
    graded: list[_Graded] = []
    left = weights.rows
    for no in hits:  # the weightiest first
        if no in loaded and left > 0:
            graded.append(space.grade(no, loaded[no], hits[no]))
            left -= len(graded[-1].rows)
    return [Ranked(*best) for best in space.best(graded, limit)]


def rarity(having: float, of: int) -> float:
    """The weight of a word that so many of all have; never negative (defect 3)."""
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


class _Word(NamedTuple):
    """What a word weighs in each grain."""

    row: float
    window: float
    session: float


# Rows of a group that have a word so many times, in order of place: (place, size, times). Plain: there are thousands.
_Hits = list[tuple[int, int, int]]


class _Graded(NamedTuple):
    """A group's BM25: of its rows, of what is around each, and of the whole. `known` is `around` of the group.

    `row` and `window` are the largest of each.
    """

    no: int
    known: tuple[int, ...]
    rows: list[float]
    windows: list[float]
    session: float
    row: float
    window: float


class _Scale(NamedTuple):
    """By what the BM25 of each grain is multiplied; `reply`: that of the row before."""

    row: float
    window: float
    session: float
    reply: float


class _Space:
    """A question's postings, and the statistics of the space that they are from."""

    def __init__(self, found: Postings, asked: Asked, weights: Weights, *, scoped: bool) -> None:
        self.found = found
        self.asked = asked
        self.weights = weights
        self.docs = max(found.space.docs, 1)
        self.tokens = max(found.space.tokens, 1)
        self.sessions = max(found.space.sessions, 1)
        self.allowed = self._having(asked.symbols) if scoped else None
        self.words: list[_Word] = []
        # the mean number of words in a window, taking all rows as of mean length
        mean_window = max(found.space.pairs, 1) * self.tokens / self.docs / self.docs
        self.flat = weights.window_k1 * (1 - weights.window_b)
        self.steep = weights.window_k1 * weights.window_b / mean_window

    def best(self, graded: Sequence[_Graded], limit: int) -> list[tuple[float, int, int]]:
        """The `limit` best (score, group, place) of all rows, best first.

        Groups go by what a row of theirs can reach; those that cannot reach the best any more are not looked at.
        """
        scale = self._scale(graded)
        named = self._having(self.asked.entities)
        told = self._told()
        most = max(told)
        reach = [
            (
                scale.session * g.session
                + scale.window * g.window
                + (scale.row + scale.reply) * g.row
                + (most + self.weights.entity * (g.no in named) + _SLACK),
                at,
            )
            for at, g in enumerate(graded)
        ]
        best: list[tuple[float, int, int]] = []
        for reached, at in sorted(reach, reverse=True):
            if len(best) == limit and reached < best[-1][0]:
                break
            entities = named.get(graded[at].no, _NOWHERE)
            # Sorting some dozens of rows is quicker than a heap of Python's own.
            rows = (*best, *self._scores(graded[at], scale, told, entities))
            best = sorted(rows, reverse=True)[:limit]
        return best

    def _scale(self, graded: Sequence[_Graded]) -> _Scale:
        """What brings each grain to its own maximum, times its weight."""
        weights, best_row = self.weights, max((g.row for g in graded), default=0.0)
        return _Scale(
            _share(weights.row, best_row),
            _share(weights.window, max((g.window for g in graded), default=0.0)),
            _share(weights.session, max((g.session for g in graded), default=0.0)),
            _share(weights.reply, best_row),
        )

    def _scores(
        self, graded: _Graded, scale: _Scale, told: Sequence[float], entities: Collection[int]
    ) -> Iterator[tuple[float, int, int]]:
        """(score, group, place) of the rows of a group that have a word, or a neighbour that has one."""
        group, known, rows, windows = graded.no, graded.known, graded.rows, graded.windows
        base, row, window = scale.session * graded.session, scale.row, scale.window
        asked, before = 0, 0.0  # whether the row before only asks, and what it has itself
        for place, value in enumerate(windows):
            flags, own = known[place], rows[place]
            if value and not (flags & NAMED and self._left_out(group, place)):
                score = base + window * value + row * own + told[flags >> _FLAG_BITS]
                if asked:
                    score += scale.reply * before
                if place in entities:
                    score += self.weights.entity
                yield score, group, place
            asked, before = flags & QUESTION, own

    def _told(self) -> list[float]:
        """By a row's flags: what it gains by telling a time and loses by being a question."""
        weights = self.weights
        gains: list[float] = []
        for flags in range(0, _MOST_FLAGS + 1, 1 << _FLAG_BITS):
            told = weights.time if flags & DATED and self.asked.when else 0.0
            gains.append(told - weights.question if flags & QUESTION else told)
        return gains

    def _having(self, words: Iterable[str]) -> dict[int, set[int]]:
        """The places of the rows that have any of these words, by group."""
        places: dict[int, set[int]] = defaultdict(set)
        for word in words:
            for doc in self.found.words.get(word, ()):
                places[doc >> GROUP_BITS].add(doc >> ROW_BITS & _PLACES)
        return places

    def _left_out(self, group: int, place: int) -> bool:
        """Whether a row that names symbols names none that the question does."""
        return self.allowed is not None and place not in self.allowed.get(group, _NOWHERE)

    def weightiest(self) -> dict[int, list[tuple[int, _Hits]]]:
        """The hits of the groups with the weightiest words, by the number of the word."""
        hits: dict[int, list[tuple[int, _Hits]]] = defaultdict(list)
        mass: dict[int, float] = defaultdict(float)
        for number, docs in enumerate(_chosen(self.found, self.asked.words, self.weights.most)):
            weight = rarity(len(docs), self.docs)
            having, windows = self._spread(number, docs, hits)
            for group in having:
                mass[group] += weight
            self.words.append(self._weigh(len(docs), windows, len(having)))
        best = nlargest(self.weights.sessions, ((weight, group) for group, weight in mass.items()))
        return {group: hits[group] for _, group in best}

    def _spread(
        self, number: int, docs: Mapping[int, int], into: dict[int, list[tuple[int, _Hits]]]
    ) -> tuple[set[int], int]:
        """Give a word's hits to their groups; which groups those are, and how many windows have the word."""
        having, windows = set[int](), 0
        own: _Hits = []  # of the group at hand
        last, end = (
            -1,
            0,
        )  # that group, and the first place behind the windows that were counted in it
        for doc, times in docs.items():
            group, place = doc >> GROUP_BITS, doc >> ROW_BITS & _PLACES
            if doc & NAMES and self._left_out(group, place):
                continue
            if group != last:
                having.add(group)
                last, end, own = group, 0, []
                into[group].append((number, own))
            own.append((place, doc & MAX_SIZE, times))
            windows += place + NEIGHBOURS + 1 - max(end, place - NEIGHBOURS)
            end = place + NEIGHBOURS + 1
        return having, windows

    def _weigh(self, rows: int, windows: int, groups: int) -> _Word:
        """A word's weights."""
        weights = self.weights
        return _Word(
            rarity(rows, self.docs) * (weights.k1 + 1),
            rarity(min(windows, self.docs), self.docs) * (weights.window_k1 + 1),
            rarity(groups, self.sessions) * (weights.k1 + 1),
        )

    def grade(self, no: int, group: Group, hits: Sequence[tuple[int, _Hits]]) -> _Graded:
        """BM25 of a group at the three grains."""
        weights, known = self.weights, unpack(group.around)
        rows, windows, session = [0.0] * len(known), [0.0] * len(known), 0.0
        spans, room = _spans(len(known)), [self.steep * (size & MAX_AROUND) for size in known]
        flat, steep = weights.k1 * (1 - weights.b), weights.k1 * weights.b * self.docs / self.tokens
        length = group.tokens * self.sessions / self.tokens
        whole = weights.k1 * (1 - weights.session_b + weights.session_b * length)
        for number, own in hits:
            word, total = self.words[number], 0
            for place, size, times in own:
                rows[place] += word.row * times / (times + flat + steep * size)
                total += times
            session += word.session * total / (total + whole)
            near: dict[int, int] = {}  # how often the word stands around a place
            for place, _, times in own:
                for at in spans[place]:
                    near[at] = near.get(at, 0) + times
            weight, flat_around = word.window, self.flat
            for at, times in near.items():
                windows[at] += weight * times / (times + flat_around + room[at])
        return _Graded(no, known, rows, windows, session, max(rows), max(windows))


@lru_cache(maxsize=MAX_DOCS + 1)
def _spans(rows: int) -> tuple[range, ...]:
    """The places around each place of a group of so many rows."""
    return tuple(
        range(max(place - NEIGHBOURS, 0), min(place + NEIGHBOURS + 1, rows))
        for place in range(rows)
    )


def _share(weight: float, best: float) -> float:
    """What brings values of which the best is this to their own maximum, times a weight."""
    return weight / (best or 1.0)


def _chosen(found: Postings, words: Iterable[str], most: int) -> Iterator[Mapping[int, int]]:
    """The postings to score, rarest word first, as far as the bound goes; the first always."""
    known = sorted((found.words[w] for w in dict.fromkeys(words) if w in found.words), key=len)
    spent = 0
    for docs in known:
        if spent and spent + len(docs) > most:
            return
        spent += len(docs)
        yield docs
