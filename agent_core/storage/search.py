"""The search port of recall: the postings of some words in one space. Statements; none commits.

The database finds candidates only. Everything that ranks them (frequencies, lengths, neighbours) comes back with them
and is counted in one space alone, so SQLite and PostgreSQL rank alike and other people's rows change nothing: FTS5's
own bm25 counts all rows, and `ts_rank_cd` knows no rarity (guide "recall").
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select, text

from agent_core.storage.postings import ROW_SPAN, group_of, place_of, row_low, term
from agent_core.storage.tables_recall import RecallGroup, RecallSpace

_SPACE = RecallSpace.__table__  # type: ignore[attr-defined]
_GROUP = RecallGroup.__table__  # type: ignore[attr-defined]
# A word that occurs oftener counts in its newest rows only, once in each: at 100,000 rows "buy" says nothing any more.
COMMON = 8_000

# On the path of each turn: built once.
_SPACE_OF = select(
    _SPACE.c.no, _SPACE.c.docs, _SPACE.c.tokens, _SPACE.c.sessions, _SPACE.c.pairs
).where(
    _SPACE.c.owner == bindparam("owner"),
    _SPACE.c.scope == bindparam("scope"),
    _SPACE.c.corpus == bindparam("corpus"),
)
_GROUPS = select(_GROUP.c.no, _GROUP.c.ref, _GROUP.c.tokens, _GROUP.c.around).where(
    _GROUP.c.no.in_(bindparam("groups", expanding=True))
)
# Row by row in the order of the places, whatever the planner thinks of the table's size.
_SQLITE_SEQS = text(
    "select d.id, d.seq from json_each(:lows) as l cross join recall_doc as d"
    " where d.id between l.value and l.value + :span"
)
_POSTGRES_SEQS = text(
    "select d.id, d.seq from unnest(cast(:lows as bigint[])) as l(low) cross join lateral"
    " (select id, seq from recall_doc where id between l.low and l.low + :span) as d"
)
_SQLITE_NEWEST = (
    "select json_group_array(rowid) from (select rowid from recall_fts where recall_fts match ?"
    " order by rowid desc limit ?)"
)
# The fence (offset 0) keeps PostgreSQL from walking all rows by id instead of the index of words.
_POSTGRES = text(
    "select t.term, h.id, h.times from unnest(cast(:terms as text[])) as t(term) cross join lateral"
    " (select id, cardinality(array_positions(terms, t.term)) as times from"
    " (select id, terms from recall_doc where terms @> array[t.term] offset 0) as hit"
    " order by id desc limit :most) as h"
)


class Statistics(NamedTuple):
    """A space's: its number, its rows, their words, its sessions, and the rows of all windows together."""

    no: int
    docs: int
    tokens: int
    sessions: int
    pairs: int


NOTHING = Statistics(0, 0, 0, 0, 0)


class Group(NamedTuple):
    """A session, or a part of one, or a memory: `ref` is its id. `around` as in `RecallGroup`."""

    ref: str
    tokens: int
    around: bytes


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows of one space that have some words.

    `words`: for each word, document id → how often, by ascending id; a word of more than `common` occurrences has its
    newest rows only, each once. Words that no row has are absent.
    """

    space: Statistics = NOTHING
    words: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def postings(
    conn: Connection,
    owner: str,
    scope: str,
    corpus: str,
    words: Iterable[str],
    *,
    common: int = COMMON,
) -> Postings:
    """Where an owner's rows in a scope have these words. Other owners and scopes are never read (MEM-17)."""
    key = {"owner": owner, "scope": scope, "corpus": corpus}
    row = conn.execute(_SPACE_OF, key).first()
    wanted = list(dict.fromkeys(words))
    if row is None or not wanted:
        return Postings()
    space = Statistics(*row)
    look = _in_postgres if conn.dialect.name == "postgresql" else _in_sqlite
    hits = look(conn, [term(space.no, word) for word in wanted], common)
    return Postings(space, {word: found for word, found in zip(wanted, hits, strict=True) if found})


def groups(conn: Connection, numbers: Collection[int]) -> dict[int, Group]:
    """Groups by their numbers."""
    found = conn.execute(_GROUPS, {"groups": list(numbers)})
    return {no: Group(ref, tokens, around) for no, ref, tokens, around in found}


def seqs(conn: Connection, rows: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The places in their transcripts of rows given by (group, place)."""
    lows = [row_low(group, place) for group, place in rows]
    if conn.dialect.name == "postgresql":
        found = conn.execute(_POSTGRES_SEQS, {"lows": lows, "span": ROW_SPAN})
    else:
        found = conn.execute(_SQLITE_SEQS, {"lows": json.dumps(lows), "span": ROW_SPAN})
    return {(group_of(doc), place_of(doc)): seq for doc, seq in found}


def _in_sqlite(conn: Connection, stored: Sequence[str], common: int) -> Iterator[Mapping[int, int]]:
    bound = tuple(value for word in stored for value in (word, common + 1))
    found = conn.exec_driver_sql(_sqlite(len(stored)), bound).one()
    for word, array in zip(stored, found, strict=True):
        hits: list[int] = json.loads(array)
        if len(hits) <= common:
            yield Counter(hits)
        else:
            newest = conn.exec_driver_sql(_SQLITE_NEWEST, (f'"{word}"', common)).scalar_one()
            yield dict.fromkeys(reversed(json.loads(newest)), 1)


@lru_cache(maxsize=256)
def _sqlite(words: int) -> str:
    """One statement for so many words, and one value for each: a quarter of the time of a row for each hit."""
    one = "(select json_group_array(doc) from (select doc from recall_word where term = ? limit ?))"
    return "select " + ", ".join([one] * words)


def _in_postgres(
    conn: Connection, stored: Sequence[str], common: int
) -> Iterator[Mapping[int, int]]:
    hits: dict[str, list[tuple[int, int]]] = {word: [] for word in stored}
    for word, doc, times in conn.execute(_POSTGRES, {"terms": list(stored), "most": common + 1}):
        hits[word].append((doc, times))
    for word in stored:
        found = sorted(hits[word])
        if sum(times for _, times in found) <= common:
            yield dict(found)
        else:
            yield dict.fromkeys((doc for doc, _ in found[-common:]), 1)
