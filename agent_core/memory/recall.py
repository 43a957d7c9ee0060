"""Recall: what an owner's memories and past conversations hold for a message (RCL-1 … RCL-14).

Pins first (newest persona, preferences, rules: not scored, RCL-7), then playbooks and memories by score and age, then
rows of past conversations. Only rows of the owner in the scope are ever read (MEM-17); in a group the scope is that
group. What is shown already is left out. Nothing here is written, and nothing found is an instruction.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar

from sqlalchemy import Connection

from agent_core import words
from agent_core.memory.block import Entry, block, language_of
from agent_core.memory.bm25 import Asked, Weights
from agent_core.memory.found import find_memories, find_rows
from agent_core.memory.lifecycle import decay
from agent_core.memory.passage import passage
from agent_core.memory.question import question
from agent_core.memory.source_recipe import source_ranking
from agent_core.past import Recalled
from agent_core.storage.recall_rows import Kept, Told, among, everything, newest, told

T = TypeVar("T")
PLAYBOOKS = frozenset({"playbook", "scenario"})
# (kind, how many are pinned, from how many of the newest)
PINS = (("persona", 1, 3), ("preference", 5, 10), ("rule", 3, 10))
PERSON = {"en": "the person said", "zh": "本人所说"}
ASSISTANT = {"en": "the assistant said", "zh": "助手所说"}


class Reads(Protocol):
    """A database: `read` runs a function in a transaction that only reads."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns."""
        ...


@dataclass(frozen=True, slots=True)
class Profile:
    """How recall ranks and how much it shows.

    `recipe` "own" is the default; "source" is the recipe of the source material for memories (0.8, 1.2, 0.25, the
    maximum, half-lives without a floor). `limit` memories (RCL-2), of them `playbooks` playbooks (RCL-8), `rows` rows
    of conversations; `line_chars` and `block_chars` as RCL-9; `floor` is what age leaves of a score at least (CAP-2).
    """

    recipe: Literal["own", "source"] = "own"
    limit: int = 8
    playbooks: int = 3
    rows: int = 4
    line_chars: int = 200
    block_chars: int = 1_200
    floor: float = 0.85
    pins: tuple[tuple[str, int, int], ...] = PINS
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True, slots=True)
class OwnRecall:
    """See agent_core.ports.Recall: one read of a few milliseconds, beside the event loop where the database has one."""

    db: Reads
    profile: Profile = field(default_factory=Profile)

    async def recall(
        self,
        owner: str,
        scope: str,
        text: str,
        *,
        symbols: Sequence[str] | None = None,
        now: dt.datetime,
        shown: frozenset[str] = frozenset(),
        limit: int | None = None,
    ) -> Recalled:
        """See Recall."""
        profile = self.profile if limit is None else _narrowed(self.profile, limit)

        def work(conn: Connection) -> Recalled:
            asked = question(text, symbols, now)
            return _Search(conn, owner, scope, now, asked, shown, profile, limit).recalled(text)

        return await self.db.read(work)


def _narrowed(profile: Profile, limit: int) -> Profile:
    """A profile that searches for no more than so many memories, and no more than so many rows."""
    return replace(profile, limit=min(profile.limit, limit), rows=min(profile.rows, limit))


def memory_id(number: int) -> str:
    """By which a memory is known in `shown` and `ids`."""
    return f"memory:{number}"


def row_id(session: str, seq: int) -> str:
    """By which a row of a transcript is known in `shown` and `ids`."""
    return f"row:{session}:{seq}"


def view_id(session: str, first: int = 1) -> str:
    """In `shown`: the rows of a session from `first` on, which the model sees anyway."""
    return f"view:{session}:{first}"


@dataclass(frozen=True, slots=True)
class _Search:
    """One recall, inside one transaction."""

    conn: Connection
    owner: str
    scope: str
    now: dt.datetime
    asked: Asked
    shown: frozenset[str]
    profile: Profile
    most: int | None = None

    def recalled(self, text: str) -> Recalled:
        language = language_of(text[: words.MAX_CHARS])
        pins = self._pins()
        known = self.shown | {memory_id(kept.id) for kept in pins}
        ranked = [kept for kept in self._memories(text) if memory_id(kept.id) not in known]
        hits = self._limited(ranked)
        shown, ids = block(
            [
                [_memory(kept) for kept in pins],
                [_memory(kept) for kept in hits if kept.kind in PLAYBOOKS],
                [_memory(kept) for kept in hits if kept.kind not in PLAYBOOKS],
                [self._row(row, language) for row in self._rows()[: self._left(hits)]],
            ],
            language,
            line_chars=self.profile.line_chars,
            block_chars=self.profile.block_chars,
        )
        return Recalled(shown, ids)

    def _left(self, hits: Sequence[Kept]) -> int | None:
        """How many rows may come beside the memories; None for all that were found."""
        return None if self.most is None else max(0, self.most - len(hits))

    def _pins(self) -> list[Kept]:
        """What holds always: never scored, but of this question's symbols or of none (RCL-7, C-31)."""
        pins: list[Kept] = []
        limits = {kind: of for kind, _, of in self.profile.pins}
        found = newest(self.conn, self.owner, self.scope, limits, self.now)
        for kind, count, _ in self.profile.pins:
            fitting = [kept for kept in found[kind] if self._in_scope(kept.codes)]
            pins += [kept for kept in fitting if memory_id(kept.id) not in self.shown][:count]
        return pins

    def _in_scope(self, codes: Collection[str]) -> bool:
        """With symbols: global ones and those that share one; without: global ones alone (RCL-5)."""
        return not codes or any(word in self.asked.symbols for word in words.symbol_words(codes))

    def _memories(self, text: str) -> list[Kept]:
        """Memories that answer, best first."""
        if self.profile.recipe == "source":
            all_ = everything(self.conn, self.owner, self.scope, self.now)
            fitting = [kept for kept in all_ if self._in_scope(kept.codes)]
            return source_ranking(fitting, text, self.asked, self.now, self.profile.limit)
        wanted = 4 * (self.profile.limit + sum(count for _, count, _ in self.profile.pins))
        found = find_memories(self.conn, self.owner, self.scope, self.asked, limit=wanted)
        by_id = {hit.id: hit.score for hit in found}
        kept = among(self.conn, self.owner, self.scope, by_id, self.now)
        fitting = [k for k in kept if self._in_scope(k.codes)]
        return sorted(fitting, key=lambda k: (-by_id[k.id] * self._age(k), -k.id))

    def _age(self, kept: Kept) -> float:
        return max(self.profile.floor, decay(kept.kind, kept.at, self.now))

    def _limited(self, ranked: Iterable[Kept]) -> list[Kept]:
        hits: list[Kept] = []
        playbooks = 0
        for kept in ranked:
            playbooks += kept.kind in PLAYBOOKS
            if kept.kind not in PLAYBOOKS or playbooks <= self.profile.playbooks:
                hits.append(kept)
        return hits[: self.profile.limit]

    def _rows(self) -> list[Told]:
        """Rows of past conversations that answer, best first."""
        if not self.profile.rows:
            return []
        found = find_rows(
            self.conn,
            self.owner,
            self.scope,
            self.asked,
            limit=8 * self.profile.rows,
            weights=self.profile.weights,
        )
        views = dict(_views(self.shown))
        new = [
            (hit.session, hit.seq)
            for hit in found
            if hit.seq < views.get(hit.session, hit.seq + 1)
            and row_id(hit.session, hit.seq) not in self.shown
        ][: 2 * self.profile.rows]
        standing = told(self.conn, new)
        return [standing[place] for place in new if place in standing][: self.profile.rows]

    def _row(self, row: Told, language: str) -> Entry:
        said = passage(row.text, set(self.asked.words), self.profile.line_chars)
        who = (PERSON if row.by_person else ASSISTANT)[language]
        return Entry(row_id(row.session, row.seq), said, f"{who} · mixed", row.at)


def _memory(kept: Kept) -> Entry:
    return Entry(memory_id(kept.id), kept.text, f"{kept.kind} · {kept.credibility}", kept.at)


def _views(shown: Iterable[str]) -> Iterable[tuple[str, int]]:
    """(session, its first row that is seen) of every view among what is shown."""
    for item in shown:
        kind, _, rest = item.partition(":")
        session, _, first = rest.rpartition(":")
        if kind == "view" and first.isdecimal():
            yield session, int(first)
