"""What a person wants remembered, for the tool `remember`: judged by what was said in the session (RMB-3, RMB-4).

A rule must be in the person's own words, or in an answer to which the person said yes; a view or a plan must rest on
them. The words of tools, of pages, and of others in a group are nobody's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.compaction.facts import own_words
from agent_core.compaction.rules import key_of
from agent_core.memory import trust
from agent_core.memory.dedup import offer
from agent_core.past import NewNote, Remembered
from agent_core.ports import Clock
from agent_core.storage import memories
from agent_core.storage.memories import NewMemory
from agent_core.storage.statements import load_rows
from agent_core.storage.tables import Turn
from agent_core.tools.notes import A_TURN
from agent_core.types import Row, RowKind, ToolResult
from gateway.memory.learning_jobs import scope_of, turns_of
from gateway.redact import MASK, Redactor
from gateway.storage.db import Database

_TURN = Turn.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """See agent_core.ports.Memory."""

    db: Database
    clock: Clock
    redactor: Redactor

    async def remember(
        self, owner: str, session_id: str, turn_id: int, note: NewNote
    ) -> Remembered:
        """See agent_core.ports.Memory."""
        if MASK in note.text or self.redactor.text(note.text) != note.text:
            return Remembered("secret")
        if "/" in session_id:
            return Remembered("off")  # a sub-agent speaks with nobody
        if not await self.db.read(lambda conn: _is_said(conn, owner, session_id, turn_id, note)):
            return Remembered("unsaid")

        def work(conn: Connection) -> Remembered:
            return _store(conn, owner, session_id, turn_id, note, self.clock)

        return await self.db.write(work)


def topic_of(text: str, kind: str = "", codes: Sequence[str] = ()) -> str:
    """What a memory says that a later one may say anew: a value such as "stop@NVDA", or the view of one symbol."""
    key = key_of(text)
    return f"view@{codes[0]}" if not key and kind == "view" and len(codes) == 1 else key


def _is_said(conn: Connection, owner: str, session_id: str, turn_id: int, note: NewNote) -> bool:
    rows = load_rows(conn, session_id)
    mine = turns_of(conn, owner, session_id)
    own = [said for r in rows if r.turn_id in mine and (said := own_words(r))]
    if trust.confirmed(note.text, *_exchange(rows, turn_id)):
        return True
    if note.kind == "rule":
        return trust.stated(note.text, own)
    return trust.rests(note.text, own, _others(rows, mine))


def _others(rows: Sequence[Row], mine: frozenset[int]) -> list[str]:
    """What tools answered and what other people wrote."""
    texts = [r.message.text for r in rows if r.kind is RowKind.USER and r.turn_id not in mine]
    return texts + [b.content for r in rows for b in r.message.blocks if isinstance(b, ToolResult)]


def _exchange(rows: Sequence[Row], turn_id: int) -> tuple[str, str]:
    """(the answer before this turn, what the person said to it)."""
    said = [own_words(r) for r in rows if r.turn_id == turn_id and r.kind is RowKind.USER]
    answers = [
        r.message.text
        for r in rows
        if r.turn_id < turn_id and r.kind is RowKind.ASSISTANT and r.message.text
    ]
    return answers[-1] if answers else "", said[0] if len(said) == 1 else ""


def _store(
    conn: Connection, owner: str, session_id: str, turn_id: int, note: NewNote, clock: Clock
) -> Remembered:
    if conn.execute(select(_TURN.c.id).where(_TURN.c.id == turn_id)).first() is None:
        return Remembered("off")  # its person was forgotten meanwhile (ARC-8)
    source = f"remember:{session_id}"
    earlier = memories.of_source(conn, owner, source)
    new = NewMemory(
        owner,
        note.kind,
        note.text,
        source,
        scope_of(conn, session_id),
        note.codes,
        topic_key=topic_of(note.text, note.kind, note.codes),
        meta={"turn": turn_id},
        valid_until=note.valid_until,
    )
    if sum(m.meta.get("turn") == turn_id for m in earlier) >= A_TURN:
        return Remembered("too_many")
    done = offer(conn, new, clock.now(), compared=True)
    if done.state == "storm":
        return Remembered("known", memories.of_hash(conn, owner, new.hash)[0].id)
    return Remembered("stored" if done.state == "stored" else "known", done.id)
