"""The product's own index and ranking over a corpus: how much of the evidence stands among the first rows."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from sqlalchemy import Connection

from agent_core.memory.bm25 import Asked, Load, Weights, rank
from agent_core.memory.question import looked_up, question
from agent_core.storage.recall_index import SAID, Said, add_rows
from agent_core.storage.search import Postings, groups, postings
from tests.bench.recall.sets import Corpus, Line

ALL, TOP = 10_000, 10


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what the database found for it."""

    asked: Asked
    found: Postings
    load: Load
    gold: frozenset[int]


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
        rows = [Said(line.id, line.text or " ", line.at, line.speaker) for line in said]
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


def places(lines: Iterable[Line], kept: Iterable[int]) -> dict[tuple[str, int], int]:
    """Where each line went: rows without a word are not indexed."""
    have = set(kept)
    found: dict[tuple[str, int], int] = {}
    for session, said in groupby(lines, key=lambda line: line.session):
        indexed = [line for line in said if line.id in have]
        found.update({(session, place): line.id for place, line in enumerate(indexed)})
    return found


def figures(cases: Sequence[tuple[Case, dict[tuple[str, int], int]]], weights: Weights) -> Figures:
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
    """Milliseconds of each recall, from the words of the question to the order of the rows."""
    spent = []
    for text in texts:
        start = time.perf_counter()
        asked = question(text, ())
        found = postings(conn, owner, "private", SAID, looked_up(asked))
        rank(found, asked, partial(groups, conn), weights, limit=TOP, scoped=False)
        spent.append((time.perf_counter() - start) * 1000)
    return sorted(spent)
