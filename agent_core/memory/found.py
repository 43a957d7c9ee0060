"""What an owner's index finds for a question: rows of transcripts, memories. Reads only."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from agent_core.memory.bm25 import Asked, Ranked, Weights, rank
from agent_core.memory.question import looked_up
from agent_core.storage.recall_index import KEPT, SAID
from agent_core.storage.search import Group, groups, postings, seqs

# A memory stands alone: it has no neighbours and no session, and how it is put says nothing.
MEMORY_WEIGHTS = Weights(row=1.0, window=0.0, session=0.0, time=0.0, question=0.0, sessions=400)


class FoundRow(NamedTuple):
    """A row of a transcript. Scores compare within one search."""

    session: str
    seq: int
    score: float


class FoundMemory(NamedTuple):
    """A memory. Scores compare within one search; the best is 1 and its boosts."""

    id: int
    score: float


def find_rows(
    conn: Connection,
    owner: str,
    scope: str,
    asked: Asked,
    *,
    limit: int,
    weights: Weights | None = None,
    scoped: bool = True,
) -> list[FoundRow]:
    """What the owner said or was told in a scope, best first. `scoped` as in `bm25.rank`."""
    best, refs = _ranked(conn, (owner, scope, SAID), asked, weights or Weights(), limit, scoped)
    places = seqs(conn, [(hit.group, hit.place) for hit in best])
    return [FoundRow(refs[hit.group].ref, places[hit.group, hit.place], hit.score) for hit in best]


def find_memories(
    conn: Connection, owner: str, scope: str, asked: Asked, *, limit: int, scoped: bool = True
) -> list[FoundMemory]:
    """What is remembered of the owner in a scope, best first, without decay."""
    best, refs = _ranked(conn, (owner, scope, KEPT), asked, MEMORY_WEIGHTS, limit, scoped)
    return [FoundMemory(int(refs[hit.group].ref), hit.score) for hit in best]


def _ranked(
    conn: Connection,
    space: tuple[str, str, str],
    asked: Asked,
    weights: Weights,
    limit: int,
    scoped: bool,
) -> tuple[Sequence[Ranked], Mapping[int, Group]]:
    """The best, and at least the groups that they are of."""
    seen: dict[int, Group] = {}

    def load(numbers: Collection[int]) -> Mapping[int, Group]:
        seen.update(groups(conn, numbers))
        return seen

    found = postings(conn, *space, looked_up(asked))
    return rank(found, asked, load, weights, limit=limit, scoped=scoped), seen
