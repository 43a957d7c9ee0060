"""What is known of a person for their next message, read just before its turn begins (ASM-6, ASM-7, INJ-5).

What is found is stored in the message's own row, as blocks beside the person's words, so that a request can be rebuilt
byte for byte and nothing has to be put back afterwards (INJ-1 … INJ-4). What the view shows is not recalled again.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from agent_core.assembly.gather import PATIENCE, PRIVATE, gather_context
from agent_core.book import Portfolio
from agent_core.compaction.archive_index import related
from agent_core.compaction.head import harmless
from agent_core.compaction.standing import Standing
from agent_core.memory.recall import view_id
from agent_core.past import Recall
from agent_core.ports import Clock
from agent_core.runtime.memories import MemoryRules
from agent_core.storage.known import Known, known
from agent_core.storage.statements import load_rows
from agent_core.types import Checkpoint, Context, Row, RowKind
from gateway.engine.upcoming import Upcoming
from gateway.inbound import anew
from gateway.inbound.conversation import Lane
from gateway.inbound.inbox import Item
from gateway.inbound.router import route
from gateway.storage.db import Database
from gateway.storage.tables import InboxStatus
from gateway.turns.found import Found

log = logging.getLogger(__name__)
ARCHIVED = "[archive] Condensed parts of this conversation; restore_archive gives one back by its reference."
EXPECTED = 1_000  # conversations of which it is remembered that something was there
KEYWORDS = 3  # that a message shares with an archive to be about it; one alone is found in any chat
COMPACTIONS = frozenset(
    {"clear", "fold", "summary"}
)  # after one, what was recalled before is out of the view


@dataclass(frozen=True, slots=True)
class _Next:
    """The message that a turn will begin with, and what its session has; `rows` are those that are not taken back."""

    item: Item
    lane: Lane
    owner: str
    scope: str
    rows: Sequence[Row]
    checkpoints: Sequence[Checkpoint]
    known: Known


@dataclass(frozen=True, slots=True)
class Recaller:
    """Reads before a turn begins; `known` gives rows of a session that are in memory already.

    `rules` says what a conversation's preset lets its supervisor read; in groups in lite mode that is nothing.
    `patience` is how many seconds a turn waits for each source.
    """

    db: Database
    clock: Clock
    portfolio: Portfolio
    recall: Recall
    known: Callable[[str], Sequence[Row]]
    rules: Callable[[Lane], MemoryRules] = lambda _: MemoryRules()
    patience: float = PATIENCE
    _expected: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def expects(self, conversation_id: str) -> bool:
        """Whether something was there to be recalled for the last message of a conversation: a hint, no more."""
        return conversation_id in self._expected

    def has(self, conn: Connection, upcoming: Upcoming) -> bool:
        """Whether `before` would find something to look into; for a transaction that has other things to do as well."""
        try:
            return self._next(conn, upcoming) is not None
        except Exception as e:  # noqa: BLE001 - `before` meets it again, outside of the caller's transaction
            log.debug("not known what to recall: %r", e)
            return True

    async def before(self, conversation_id: str) -> Found | None:
        """What to put beside the next message of a conversation; None where no turn would begin, or nothing is found.

        It never keeps a message back: whatever goes wrong, the turn goes without it (ASM-7).
        """
        try:
            asked = await self.db.read(
                lambda conn: self._next(conn, Upcoming(conn, conversation_id))
            )
        except Exception as e:  # noqa: BLE001 - the turn itself will say what is wrong with the database
            log.debug("nothing recalled: %r", e)
            return None
        self._expect(conversation_id, there=asked is not None)
        if asked is None:
            return None
        rules = self.rules(asked.lane)
        if not rules.reads(asked.scope):
            return None
        shown = _shown(asked)
        gathered = await gather_context(
            asked.owner,
            asked.scope,
            asked.item.text,
            _last_symbols(asked.rows),
            self.clock.now(),
            # the book's reading brings notes of memories as well
            self.portfolio if asked.known.book or asked.known.memories else None,
            self.recall,
            shown=shown,
            patience=self.patience,
            most=rules.recall,
        )
        archived, refs = _archived(asked, shown)
        ids = gathered.ids | refs
        meta: dict[str, Any] = {}
        if ids:
            meta["recalled"] = sorted(ids)
        if gathered.focus.symbols:
            meta["symbols"] = list(gathered.focus.symbols)
        contexts = (*gathered.contexts, *archived)
        return Found(asked.item.id, contexts, meta) if meta or contexts else None

    def _expect(self, conversation_id: str, *, there: bool) -> None:
        self._expected.pop(conversation_id, None)
        if there:
            self._expected[conversation_id] = None
        if len(self._expected) > EXPECTED:
            self._expected.popitem(last=False)

    def _next(self, conn: Connection, upcoming: Upcoming) -> _Next | None:
        item, lane = upcoming.item, upcoming.lane
        if item is None or lane is None or item.status == InboxStatus.IN_TURN:
            return None
        if route(item.text, item.kind).to != "turn":
            return None
        checkpoints = upcoming.checkpoints
        owner = upcoming.person(item.author).principal
        condensed = any(c.kind == "summary" for c in checkpoints)
        scope = scope_of(lane)
        there = known(conn, owner, scope, lane.session_id, book=lane.private)
        if not condensed and not any(there):
            return None
        rows = self.known(lane.session_id)
        have = rows[-1].seq if rows else 0
        newer = load_rows(conn, lane.session_id, have) if upcoming.last_seq > have else ()
        gone, until = Standing.of(checkpoints).undone, anew.first_back(conn, lane, item)
        kept = [
            r for r in (*rows, *newer) if r.seq not in gone and (until is None or r.seq < until)
        ]
        return _Next(item, lane, owner, scope, kept, checkpoints, there)


def scope_of(lane: Lane) -> str:
    """Where what is said in a conversation counts: in private, or in this group alone."""
    return PRIVATE if lane.private else lane.id


def _archived(asked: _Next, shown: frozenset[str]) -> tuple[tuple[Context, ...], frozenset[str]]:
    """Earlier compactions of this session that the message has to do with (ARC-3); not the one that is in view."""
    summaries = [c for c in asked.checkpoints if c.kind == "summary"]
    lines = related(summaries[:-1], asked.item.text, words=KEYWORDS)
    fresh = {f"archive:{line.split()[1]}": line for line in lines}
    new = {id_: line for id_, line in fresh.items() if id_ not in shown}
    if not new:
        return (), frozenset()
    told = "\n".join(map(harmless, new.values()))
    return (Context(f"{ARCHIVED}\n{told}", "recall"),), frozenset(new)


def _last_symbols(rows: Sequence[Row]) -> Sequence[str]:
    """What the last message was about, for a pronoun in this one (PDC-3)."""
    for row in reversed(rows):
        if row.kind is RowKind.USER:
            return tuple(row.meta.get("symbols", ()))
    return ()


def _shown(asked: _Next) -> frozenset[str]:
    """Ids of what the view shows anyway: recalled before and not behind a compaction, and the rows of the session."""
    until = max((c.until for c in asked.checkpoints if c.kind in COMPACTIONS), default=0)
    cut = max((c.until for c in asked.checkpoints if c.kind == "summary"), default=1)
    ids = {
        id_
        for row in asked.rows
        if row.kind is RowKind.USER and row.seq >= until
        for id_ in row.meta.get("recalled", ())
    }
    return frozenset(ids | {view_id(asked.lane.session_id, cut)})
