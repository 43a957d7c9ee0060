"""Everything that comes in: stored once, committed, and only then acknowledged (DESIGN.md 3.2).

One transaction judges access, finds the conversation and inserts the row. A redelivery ends at the unique key. What
happens next is a matter of the row: a turn, a command in the lane, or something to be done at once.
"""

import datetime as dt
import json
from dataclasses import dataclass

from sqlalchemy import Connection, Row, bindparam, func, literal_column, select, update

from agent_core.storage.prepared import Change, Prepared
from agent_core.storage.upsert import insert_into
from channels.types import Attachment, Inbound, Kind
from gateway.storage.tables import Inbox, InboxStatus

QUIET = "quiet"  # Inbound.data of a heartbeat
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
# The number is written out, as in the condition of the index of open rows: a bound one keeps a prepared statement from
# using it, and a long conversation would be walked from its beginning.
_IS_OPEN = _INBOX.c.status < literal_column(str(int(InboxStatus.DONE)))
_OPEN = (_INBOX.c.conversation_id == bindparam("lane"), _IS_OPEN)

# Statements of the hot path are prepared: building and compiling them costs more than running them.
# The row to do next in the conversation `lane`: the first of an open turn, else the oldest new one.
NEXT = select(_INBOX).where(*_OPEN).order_by(_INBOX.c.status.desc(), _INBOX.c.id).limit(1)
# The highest id of an open row there: rows up to it are backlog of a turn that begins now. The sum keeps databases from
# walking all rows of the conversation backwards until one is open.
NEWEST = select(func.max(_INBOX.c.id + 0)).where(*_OPEN)
_IS_ANY_OPEN = Prepared(select(_INBOX.c.id).where(*_OPEN).limit(1))
_TAKE = Prepared(
    update(_INBOX)
    .where(_INBOX.c.id == bindparam("row"))
    .values(status=int(InboxStatus.IN_TURN), turn_id=bindparam("turn"))
)
_CLOSE_TURN = Prepared(
    update(_INBOX).where(_INBOX.c.turn_id == bindparam("turn")).values(status=int(InboxStatus.DONE))
)


_INSERT = Prepared(
    lambda dialect: (
        insert_into(dialect, _INBOX)
        .on_conflict_do_nothing(index_elements=["channel", "account", "key"])
        .returning(_INBOX.c.id)
    )
)


@dataclass(frozen=True, slots=True)
class Item:
    """An inbox row. `author` is a person id; `language` and `sent` (the time) are what the platform says.

    `files` are lines for the model, one for each of `attachments`; `album` and `again` are those of Inbound.
    """

    id: int
    conversation_id: str
    author: str
    name: str
    text: str
    kind: Kind
    private: bool
    at: dt.datetime
    key: str = ""
    language: str | None = None
    message_id: str | None = None
    callback: str | None = None
    files: tuple[str, ...] = ()
    status: int = InboxStatus.NEW
    turn_id: int | None = None
    attempts: int = 0
    sent: dt.datetime | None = None
    attachments: tuple[Attachment, ...] = ()
    album: str | None = None
    data: str | None = None
    again: str | None = None

    @property
    def quiet(self) -> bool:
        """Whether its turn is a heartbeat, which says nothing where there is nothing to say."""
        return self.kind is Kind.DUE and self.data == QUIET


def _body(inbound: Inbound) -> str:
    seldom = {"data": inbound.data, "again": inbound.again}
    more = {name: value for name, value in seldom.items() if value is not None}
    return json.dumps(
        more
        | {
            "text": inbound.text,
            "kind": inbound.kind,
            "name": inbound.author.name,
            "language": inbound.author.language,
            "private": inbound.private,
            "sent": inbound.at.isoformat(),
            "message_id": inbound.message_id,
            "callback": inbound.callback,
            "files": [f"{a.name} ({a.media_type})" for a in inbound.attachments],
            "attachments": [[a.name, a.media_type, a.ref, a.size] for a in inbound.attachments],
            "album": inbound.album,
        },
        ensure_ascii=False,
    )


def item_of(row: Row[tuple[object, ...]]) -> Item:
    """A row of the table as an Item."""
    body = json.loads(row.body)
    return Item(
        id=row.id,
        conversation_id=row.conversation_id,
        author=row.author,
        name=body["name"],
        text=body["text"],
        kind=Kind(body["kind"]),
        private=body["private"],
        at=row.at,
        key=row.key,
        language=body["language"],
        message_id=body["message_id"],
        callback=body["callback"],
        files=tuple(body["files"]),
        status=row.status,
        turn_id=row.turn_id,
        attempts=row.attempts,
        sent=dt.datetime.fromisoformat(body["sent"]) if "sent" in body else None,
        attachments=tuple(
            Attachment(name, kind, ref=ref, size=size)
            for name, kind, ref, size in body.get("attachments", ())
        ),
        album=body.get("album"),
        data=body.get("data"),
        again=body.get("again"),
    )


def insert_row(
    conn: Connection,
    inbound: Inbound,
    conversation_id: str,
    author: str,
    status: InboxStatus,
    now: dt.datetime,
) -> int | None:
    """Insert the row; None when its key is there already."""
    values = {
        "channel": inbound.address.channel,
        "account": inbound.address.account,
        "key": inbound.key,
        "conversation_id": conversation_id,
        "author": author,
        "body": _body(inbound),
        "status": int(status),
        "turn_id": None,
        "attempts": 0,
        "at": now,
    }
    found: int | None = _INSERT.execute(conn, values).scalar()
    return found


def new_rows(conn: Connection, conversation_id: str, after: int) -> list[Item]:
    """New rows of a conversation with an id above `after`, in order."""
    query = (
        select(_INBOX)
        .where(
            _INBOX.c.conversation_id == conversation_id,
            _INBOX.c.status == InboxStatus.NEW,
            _INBOX.c.id > after,
        )
        .order_by(_INBOX.c.id)
    )
    return [item_of(row) for row in conn.execute(query)]


def is_any_open(conn: Connection, conversation_id: str) -> bool:
    """Whether there is something to do in a conversation."""
    return _IS_ANY_OPEN.execute(conn, {"lane": conversation_id}).first() is not None


def take(conn: Connection, ids: list[int], turn_id: int) -> None:
    """Put rows into a turn."""
    _TAKE.execute(conn, [{"row": row_id, "turn": turn_id} for row_id in ids])


def taking(row_id: int, turn_id: int) -> Change:
    """`take` of one row, to be executed with other changes."""
    return _TAKE.given({"row": row_id, "turn": turn_id})


def clear_attempts(conn: Connection, turn_id: int) -> None:
    """No start has broken this turn so far."""
    conn.execute(update(_INBOX).where(_INBOX.c.turn_id == turn_id).values(attempts=0))


def count_attempt(conn: Connection, row_id: int, by: int = 1) -> None:
    """A turn is gone on with after a break: one more try of its first row. -1 takes back a break in good order."""
    tries = _INBOX.c.attempts + by
    conn.execute(update(_INBOX).where(_INBOX.c.id == row_id).values(attempts=tries))


def close_row(conn: Connection, row_id: int) -> None:
    """A row that is not a turn is done."""
    conn.execute(update(_INBOX).where(_INBOX.c.id == row_id).values(status=int(InboxStatus.DONE)))


def close_turn_rows(conn: Connection, turn_id: int) -> None:
    """All rows of a turn are done."""
    _CLOSE_TURN.execute(conn, {"turn": turn_id})


def open_conversations(conn: Connection) -> list[tuple[str, str]]:
    """(conversation, author of its oldest open row), oldest first."""
    first = (
        select(_INBOX.c.conversation_id, func.min(_INBOX.c.id).label("first"))
        .where(_IS_OPEN)
        .group_by(_INBOX.c.conversation_id)
        .subquery()
    )
    query = (
        select(_INBOX.c.conversation_id, _INBOX.c.author)
        .join(first, first.c.first == _INBOX.c.id)
        .order_by(_INBOX.c.id)
    )
    return [(row.conversation_id, row.author) for row in conn.execute(query)]


def waiting(conn: Connection, conversation_id: str) -> int:
    """How many rows of a conversation wait."""
    query = select(func.count()).where(*_OPEN, _INBOX.c.status == InboxStatus.NEW)
    return conn.execute(query, {"lane": conversation_id}).scalar_one()


def running_turn(conn: Connection, conversation_id: str) -> int | None:
    """The open turn of a conversation, or None."""
    query = select(_INBOX.c.turn_id).where(*_OPEN, _INBOX.c.status == InboxStatus.IN_TURN).limit(1)
    found: int | None = conn.execute(query, {"lane": conversation_id}).scalar()
    return found
