"""The list of sessions: newest activity first, found by title, owner, or the beginning of an id."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection, func, or_, select

from agent_core.storage.tables import Session, Transcript, Turn
from gateway.console.calls import Call, Wanted
from gateway.storage.tables import Conversation

_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
PAGE = 50


class Search(Wanted):
    """`words` are looked for in titles, owners and places; `page` counts from 1."""

    words: Annotated[str, Field(max_length=200)] = ""
    page: Annotated[int, Field(ge=1, le=10_000)] = 1


@dataclass(frozen=True, slots=True)
class SessionItem:
    """One session. `place` is the conversation that is at it now, "" for none; `status` is its newest turn's."""

    id: str
    title: str
    owner: str
    place: str
    status: str
    rows: int
    created_at: dt.datetime
    last_at: dt.datetime


@dataclass(frozen=True, slots=True)
class SessionList:
    """One page of the list; `more`: there is another one."""

    sessions: list[SessionItem]
    page: int
    more: bool


async def read(call: Call[Search]) -> SessionList:
    """The page's data."""
    wanted = call.wanted
    found = await call.house.core.db.read(lambda conn: _rows(conn, wanted))
    return SessionList(found[:PAGE], wanted.page, len(found) > PAGE)


def _rows(conn: Connection, wanted: Search) -> list[SessionItem]:
    """Ids of turns rise with time: the newest turn of a session is its newest activity."""
    last = func.coalesce(func.max(_TURN.c.id), 0)
    query = (
        select(_SESSION, last.label("turn"))
        .outerjoin(_TURN, _TURN.c.session_id == _SESSION.c.id)
        .where(_SESSION.c.parent.is_(None))
        .group_by(*_SESSION.c)
        .order_by(last.desc(), _SESSION.c.created_at.desc())
        .limit(PAGE + 1)
        .offset((wanted.page - 1) * PAGE)
    )
    for word in wanted.words.split():
        columns = (_SESSION.c.title, _SESSION.c.owner, _SESSION.c.id)
        query = query.where(or_(*(c.icontains(word, autoescape=True) for c in columns)))
    found = conn.execute(query).all()
    ids = [row.id for row in found]
    places = select(_CONVERSATION.c.session_id, _CONVERSATION.c.id)
    lanes = conn.execute(places.where(_CONVERSATION.c.session_id.in_(ids)))
    place = {row.session_id: row.id for row in lanes}
    rows, at = func.count().label("rows"), func.max(_TRANSCRIPT.c.at).label("at")
    counted = select(_TRANSCRIPT.c.session_id, rows, at).group_by(_TRANSCRIPT.c.session_id)
    mine = conn.execute(counted.where(_TRANSCRIPT.c.session_id.in_(ids)))
    counts = {row.session_id: (row.rows, row.at) for row in mine}
    turns = select(_TURN.c.id, _TURN.c.status).where(_TURN.c.id.in_([row.turn for row in found]))
    status = {row.id: row.status for row in conn.execute(turns)}
    return [
        SessionItem(
            row.id,
            row.title,
            row.owner,
            place.get(row.id, ""),
            status.get(row.turn, ""),
            counts.get(row.id, (0, None))[0],
            row.created_at,
            counts.get(row.id, (0, None))[1] or row.created_at,
        )
        for row in found
    ]
