"""Whether anything is known of a person that a message could bring back: one statement, since most know nothing."""

from typing import Any

from sqlalchemy import (
    BindParameter,
    Connection,
    Exists,
    Select,
    bindparam,
    exists,
    literal,
    or_,
    select,
)
from sqlmodel import SQLModel

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


def _any(*conditions: Exists) -> Select[Any]:
    return select(literal(1)).where(or_(*conditions))


_WITHOUT_BOOK = _any(_REMEMBERED, _SAID)
_WITH_BOOK = _any(_REMEMBERED, _SAID, *(exists().where(t.c.owner == _OWNER) for t in _BOOK))


def anything_known(
    conn: Connection, owner: str, scope: str, session_id: str, *, book: bool
) -> bool:
    """Whether the owner has memories, words in other sessions of this scope, or (`book`) anything in their book."""
    query = _WITH_BOOK if book else _WITHOUT_BOOK
    values = {"owner": owner, "scope": scope, "session": session_id}
    return conn.execute(query, values).first() is not None
