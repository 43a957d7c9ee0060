"""Whose past conversations a turn may search, and the search itself: `agent_core.tools.history.History`.

The index of recall knows whose row each is and where it may be read (`agent_core/storage/recall_index.py`); the place
comes from the turn, never from a model. Rows of the turn that asks are not indexed yet.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, select

from agent_core.compaction import archive
from agent_core.compaction.archive import Ref
from agent_core.compaction.standing import Standing
from agent_core.memory.found import find_rows
from agent_core.memory.question import question
from agent_core.storage.prepared import Prepared
from agent_core.storage.recall_rows import Told, told
from agent_core.storage.sessions import load_checkpoints
from agent_core.storage.tables import Session
from agent_core.tools.history import PastRow, Source
from gateway.storage.db import Database
from gateway.storage.tables import Conversation, Inbox

_SESSION = Session.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
# Asked of each turn that is indexed.
_WHERE = Prepared(
    select(_CONVERSATION.c.id, _CONVERSATION.c.private, _CONVERSATION.c.session_id)
    .join(_INBOX, _INBOX.c.conversation_id == _CONVERSATION.c.id)
    .where(_INBOX.c.id == bindparam("turn"))
)
PRIVATE = "private"
# In place of a turn: a call beside all conversations, of a person by themselves (`swarmgate mcp`).
BESIDE = -1
LOOKED_AT = 400  # ranked rows that are read, at most, to find those of a time or a source
BATCH = 40


@dataclass(frozen=True, slots=True)
class Where:
    """Where a turn runs: its scope ("private", or the conversation id of its group), and the session there now."""

    scope: str
    session: str


def where_of(conn: Connection, turn_id: int) -> Where | None:
    """Where a turn runs; None for one that is not known."""
    if turn_id == BESIDE:
        return Where(PRIVATE, "")
    row = _WHERE.execute(conn, {"turn": turn_id}).first()
    if row is None:
        return None
    return Where(PRIVATE if row.private else row.id, row.session_id)


def scope_of_turn(conn: Connection, turn_id: int) -> str | None:
    """Where what is said in a turn may be recalled; None for one that is not known."""
    where = where_of(conn, turn_id)
    return None if where is None else where.scope


@dataclass(frozen=True, slots=True)
class OwnHistory:
    """See agent_core.tools.history.History. Searches beside the event loop."""

    db: Database

    async def search(
        self,
        owner: str,
        turn_id: int,
        query: str,
        *,
        source: Source,
        since: dt.datetime | None,
        limit: int,
    ) -> Sequence[PastRow]:
        """See History."""

        def work(conn: Connection) -> list[PastRow]:
            where = where_of(conn, turn_id)
            if where is None:
                return []
            found = _Search(conn, owner, where).rows(query)
            fitting = (row for row in found if _fits(row, source, since))
            return [row for row, _ in zip(fitting, range(limit), strict=False)]

        return await self.db.read(work)


def _fits(row: PastRow, source: Source, since: dt.datetime | None) -> bool:
    return (source == "all" or row.archived == (source == "archive")) and (
        since is None or row.at >= since
    )


@dataclass(slots=True)
class _Search:
    """One search: of one owner, in one scope."""

    conn: Connection
    owner: str
    where: Where
    _standing: dict[str, Standing] = field(default_factory=dict)
    _titles: dict[str, str] = field(default_factory=dict)

    def rows(self, query: str) -> Iterator[PastRow]:
        """What answers, best first, read as far as it is asked for."""
        asked = question(query)
        hits = find_rows(
            self.conn, self.owner, self.where.scope, asked, limit=LOOKED_AT, scoped=False
        )
        places = [(hit.session, hit.seq) for hit in hits]
        for at in range(0, len(places), BATCH):
            some = places[at : at + BATCH]
            standing = told(self.conn, some)
            for place in some:
                if place in standing and standing[place].text.strip():
                    yield self._row(standing[place])

    def _row(self, row: Told) -> PastRow:
        return PastRow(
            archive.full(row.session, Ref("", row.seq, row.seq)),
            row.session,
            self._title(row.session),
            "user" if row.by_person else "assistant",
            row.text,
            row.at,
            archived=_is_archived(self._standing_of(row.session), row.seq),
            here=row.session == self.where.session,
        )

    def _standing_of(self, session: str) -> Standing:
        if session not in self._standing:
            self._standing[session] = Standing.of(load_checkpoints(self.conn, session))
        return self._standing[session]

    def _title(self, session: str) -> str:
        if session not in self._titles:
            query = select(_SESSION.c.title).where(_SESSION.c.id == session)
            self._titles[session] = self.conn.execute(query).scalar() or ""
        return self._titles[session]


def _is_archived(standing: Standing, seq: int) -> bool:
    """Whether a model no longer sees the row as it was written."""
    gone = (standing.dropped, standing.cleared, standing.folded, standing.clipped)
    return seq < standing.cut or any(seq in rows for rows in gone)
