"""The product's own index and ranking over a corpus: how much of the evidence stands among the first rows."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from sqlalchemy import Connection

from agent_core import words
from agent_core.memory.bm25 import Asked, Load, Weights, rank
from agent_core.memory.question import looked_up, question
from agent_core.storage.recall_index import SAID, Said, add_rows
from agent_core.storage.search import Postings, groups, postings
from tests.bench.recall.sets import Corpus, Line

ALL, TOP = 10_000, 10
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what the database found for it."""

    asked: Asked
    found: Postings
    load: Load
    gold: frozenset[int]


# A case and its corpus' rows by (session, place in it).
Placed = tuple[Case, dict[tuple[str, int], int]]


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over questions: the share of gold rows among the first 5 and 10, one over the first gold row's place."""

    questions: int
    r5: float
    r10: float
    mrr: float
    any10: float


def fill(conn: Connection, owner: str, lines: Iterable[Line]) -> None:
    """Index the lines as the sessions that they are."""
    for session, said in groupby(lines, key=lambda line: line.session):
        rows = [Said(line.id, line.text, line.at, line.speaker) for line in said]
        add_rows(conn, owner, "private", session, rows)


def look_up(conn: Connection, corpus: Corpus) -> list[Case]:
    """What the database finds for each question."""
    cases = []
    for item in corpus.questions:
        asked = question(item.text, ())
        cases.append(
            Case(
                asked,
                postings(conn, corpus.owner, "private", SAID, looked_up(asked)),
                partial(groups, conn),
                item.gold,
            )
        )
    return cases


def ranking(case: Case, rows: dict[tuple[str, int], int], weights: Weights) -> list[int]:
    """The corpus' rows, best first. `rows`: (session, place in it) → row."""
    best = rank(case.found, case.asked, case.load, weights, limit=ALL, scoped=False)
    session = {no: group.ref for no, group in case.load({r.group for r in best}).items()}
    return [rows[session[r.group], r.place] for r in best]


def placed(corpus: Corpus, cases: Iterable[Case]) -> list[Placed]:
    """The cases, each with where the corpus' lines went."""
    rows: dict[tuple[str, int], int] = {}
    for session, said in groupby(corpus.lines, key=lambda line: line.session):
        indexed = [line for line in said if words.words(line.text)]  # others are passed over
        rows.update({(session, place): line.id for place, line in enumerate(indexed)})
    return [(case, rows) for case in cases]


def figures(cases: Sequence[Placed], weights: Weights) -> Figures:
    """The figures of some questions."""
    r5 = r10 = mrr = any10 = 0.0
    for case, rows in cases:
        best = ranking(case, rows, weights)
        gold = case.gold
        r5 += len(gold.intersection(best[:5])) / len(gold)
        r10 += len(gold.intersection(best[:10])) / len(gold)
        any10 += bool(gold.intersection(best[:10]))
        mrr += next((1 / n for n, row in enumerate(best, 1) if row in gold), 0.0)
    n = max(len(cases), 1)
    return Figures(len(cases), r5 / n, r10 / n, mrr / n, any10 / n)


def times(conn: Connection, owner: str, texts: Iterable[str], weights: Weights) -> list[float]:
    """Milliseconds of each recall, from the words of the question to the order of the rows, sorted.

    Each is done `REPEATS` times and the quickest counts: what is measured is recall, not who else uses the machine.
    """
    return sorted(min(_time(conn, owner, text, weights) for _ in range(REPEATS)) for text in texts)


def _time(conn: Connection, owner: str, text: str, weights: Weights) -> float:
    start = time.perf_counter()
    asked = question(text, ())
    found = postings(conn, owner, "private", SAID, looked_up(asked))
    rank(found, asked, partial(groups, conn), weights, limit=TOP, scoped=False)
    return (time.perf_counter() - start) * 1000
