"""Rows of the outbox: replies and notices, what is visible of them, letters that are ready (DESIGN.md 3.7)."""

import datetime as dt
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection, Executable, bindparam, select, update

from agent_core.ports import Clock
from agent_core.storage.prepared import Prepared
from agent_core.storage.tables import Blob
from agent_core.storage.upsert import insert_into
from gateway.outbound.draft import Draft, body_of
from gateway.storage import replica
from gateway.storage.db import Database, settled
from gateway.storage.tables import Outbox as OutboxTable
from gateway.storage.tables import OutboxStatus

_OUTBOX = OutboxTable.__table__  # type: ignore[attr-defined]
_BLOB = Blob.__table__  # type: ignore[attr-defined]
_ROW = _OUTBOX.c.id == bindparam("row")
_KEEP = Prepared(
    update(_OUTBOX).where(_ROW).values(ids=bindparam("shown"), final=bindparam("finals"))
)
REPLY = "reply"


def put(conn: Connection, draft: Draft, now: dt.datetime) -> int:
    """Store a message that is ready to go, or make ready the row that its preview opened. Returns its id."""
    return _upsert(conn, draft, OutboxStatus.READY, now)


def rewrite(conn: Connection, draft: Draft, now: dt.datetime) -> int | None:
    """Let a message of before say something else: what is visible of it is edited.

    Returns its row's id, or None when there is no row.
    """
    mine = (_OUTBOX.c.turn_id == draft.turn_id, _OUTBOX.c.key == draft.key)
    found = conn.execute(select(_OUTBOX.c.id).where(*mine)).scalar()
    if found is None:
        return None
    row_id = _upsert(conn, draft, OutboxStatus.READY, now)
    conn.execute(update(_OUTBOX).where(_OUTBOX.c.id == row_id).values(final=0))
    return row_id


def rename(conn: Connection, row_id: int, draft: Draft, now: dt.datetime) -> bool:
    """Make an open preview a message of its own, ready to go, under the key of `draft`. False: it is none."""
    mine = (_OUTBOX.c.id == row_id, _OUTBOX.c.status == int(OutboxStatus.OPEN))
    values = {
        "key": draft.key,
        "body": body_of(draft),
        "status": int(OutboxStatus.READY),
        "replica": replica.mine(conn),
        "at": now,
    }
    return conn.execute(update(_OUTBOX).where(*mine).values(values)).rowcount == 1


def _upsert(conn: Connection, draft: Draft, status: OutboxStatus, now: dt.datetime) -> int:
    values = {
        "turn_id": draft.turn_id,
        "key": draft.key,
        "owner": draft.owner,
        "lane": str(draft.address),
        "body": body_of(draft),
        "status": int(status),
        "ids": "[]",
        "final": 0,
        "attempts": 0,
        "error": "",
        "replica": replica.mine(conn),
        "at": now,
        "sent_at": None,
    }
    row_id: int = _PUT[status].execute(conn, values).one()[0]
    return row_id


def _put(status: OutboxStatus, dialect: str) -> Executable:
    """The statement of `_upsert`."""
    statement = insert_into(dialect, _OUTBOX)
    new = statement.excluded
    # a preview that becomes visible late must not open again what is ready
    kept = (
        {"key": new.key}
        if status is OutboxStatus.OPEN
        else {"body": new.body, "status": new.status, "replica": new.replica}
    )
    upsert = statement.on_conflict_do_update(index_elements=["turn_id", "key"], set_=kept)
    return upsert.returning(_OUTBOX.c.id)


_PUT = {
    status: Prepared(partial(_put, status)) for status in (OutboxStatus.OPEN, OutboxStatus.READY)
}


@dataclass(slots=True)
class Receipt:
    """channels.base.Receipt, kept in the outbox row.

    `row_id` is None until something is visible or the reply is final.
    """

    db: Database
    clock: Clock
    draft: Draft
    row_id: int | None = None
    shown_ids: list[str] = field(default_factory=list)
    finals: int = 0

    @property
    def ids(self) -> Sequence[str]:
        """See channels.base.Receipt."""
        return tuple(self.shown_ids)

    @property
    def final(self) -> int:
        """See channels.base.Receipt."""
        return self.finals

    async def shown(self, message_id: str, *, final: bool, last: bool = False) -> None:
        """See channels.base.Receipt."""
        self.shown_ids.append(message_id)
        self.finals += final
        if not last:
            await self._save()

    async def settled(self, index: int, *, last: bool = False) -> None:
        """See channels.base.Receipt."""
        self.finals = max(self.finals, index + 1)
        if not last:
            await self._save()

    async def _save(self) -> None:
        ids, finals = json.dumps(self.shown_ids), self.finals

        def work(conn: Connection) -> int:
            row_id = self.row_id
            if row_id is None:
                row_id = _upsert(conn, self.draft, OutboxStatus.OPEN, self.clock.now())
            _KEEP.execute(conn, {"row": row_id, "shown": ids, "finals": finals})
            return row_id

        self.row_id = await settled(self.db, work)  # the message is visible, so it must be known


@dataclass(slots=True)
class Letter:
    """A message that is ready, with what is visible of it.

    `rewritten`: it replaces one of the same row, whose message ids are known once that is sent.
    `again`: an earlier process may have sent parts of it. `ready`: when it was handed over, monotonic seconds.
    """

    row_id: int
    lane: str
    body: str
    receipt: Receipt
    rewritten: bool = False
    again: bool = False
    ready: float = field(default_factory=time.monotonic)


def visible(conn: Connection, turn_id: int) -> tuple[int, list[str], int] | None:
    """(row id, message ids, final) of a turn's reply, if something of it was ever visible."""
    query = select(_OUTBOX.c.id, _OUTBOX.c.ids, _OUTBOX.c.final).where(
        _OUTBOX.c.turn_id == turn_id, _OUTBOX.c.key == REPLY
    )
    row = conn.execute(query).first()
    return None if row is None else (row.id, json.loads(row.ids), row.final)
