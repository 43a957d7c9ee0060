"""What is known of a person that a message could bring back: one statement, since most know nothing."""

from typing import NamedTuple

from sqlalchemy import BindParameter, Connection, bindparam, exists, false, or_, select
from sqlmodel import SQLModel

from agent_core.storage.prepared import Prepared
from agent_core.storage.tables_memory import (
    Alert,
    EventRow,
    Holding,
    MemoryRow,
    Profile,
    ReportNote,
)
from agent_core.storage.tables_recall import RecallGroup, RecallSpace

BOOK = (Holding, EventRow, Profile, Alert, ReportNote)
_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]
_SPACE = RecallSpace.__table__  # type: ignore[attr-defined]
_GROUP = RecallGroup.__table__  # type: ignore[attr-defined]
_BOOK = tuple(SQLModel.metadata.tables[str(t.__tablename__)] for t in BOOK)

_OWNER: BindParameter[str] = bindparam("owner")
_REMEMBERED = exists().where(_MEMORY.c.owner == _OWNER, _MEMORY.c.archived_at.is_(None))
_SAID = exists().where(
    _SPACE.c.owner == _OWNER,
    _SPACE.c.scope == bindparam("scope"),
    _GROUP.c.space == _SPACE.c.no,
    _GROUP.c.ref != bindparam("session"),
)


_NEVER = false().label("book")
_IN_BOOK = or_(*(exists().where(t.c.owner == _OWNER) for t in _BOOK)).label("book")
_WITHOUT_BOOK = Prepared(select(_REMEMBERED.label("memories"), _SAID.label("said"), _NEVER))
_WITH_BOOK = Prepared(select(_REMEMBERED.label("memories"), _SAID.label("said"), _IN_BOOK))


class Known(NamedTuple):
    """Whether the owner has memories, words in other sessions of a scope, anything in their book."""

    memories: bool
    said: bool
    book: bool


def known(conn: Connection, owner: str, scope: str, session_id: str, *, book: bool) -> Known:
    """What there is of an owner besides this session; with `book` false theirs stays closed."""
    query = _WITH_BOOK if book else _WITHOUT_BOOK
    values = {"owner": owner, "scope": scope, "session": session_id}
    return Known(*map(bool, query.execute(conn, values).one()))
