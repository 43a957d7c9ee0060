"""The first transaction of a run: what is next in a conversation, and all that it needs (guide "engine", 2)."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.assembly.sections import own_words, situation
from agent_core.storage.statements import append_rows, load_rows, open_turn
from agent_core.storage.tables import Turn
from agent_core.types import Block, Message, NewRow, Row, RowKind, Text
from gateway import conversation, inbox
from gateway.conversation import Lane
from gateway.identity import language_of
from gateway.inbox import Item
from gateway.router import route
from gateway.tables import InboxStatus

_TURN = Turn.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn to run, or a lane command to carry out (`command`). `rows` is the whole session.

    `resumed`: the turn was begun before; `stopping`: a person has asked to stop it meanwhile.
    """

    lane: Lane
    item: Item
    command: bool
    session_id: str = ""
    turn_id: int = 0
    epoch: int = 0
    horizon: int = 0
    rows: tuple[Row, ...] = ()
    resumed: bool = False
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Settings that a turn's first row depends on."""

    timezone: str
    language: str


def begin(
    conn: Connection,
    conversation_id: str,
    place: Place,
    preset: Callable[[Lane], str],
    now: dt.datetime,
    known: Callable[[str], Sequence[Row]] = lambda _: (),
) -> Begun | None:
    """The next row of a conversation, begun; None when nothing is open.

    `known` gives rows of a session that are in memory already: a transcript never changes, so only
    what came after them is read.
    """
    item = inbox.next_open(conn, conversation_id)
    lane = conversation.find(conn, conversation_id)
    if item is None or lane is None:
        return None
    if item.status == InboxStatus.IN_TURN:
        return _go_on(conn, lane, item)
    if route(item.text, item.kind).to != "turn":
        return Begun(lane, item, command=True)
    earlier = _earlier(conn, lane.session_id, known(lane.session_id))
    return _open(conn, lane, item, place, preset(lane), now, earlier)


def _go_on(conn: Connection, lane: Lane, item: Item) -> Begun:
    turn_id = item.turn_id or item.id
    turn = conn.execute(select(_TURN).where(_TURN.c.id == turn_id)).one()
    inbox.count_attempt(conn, item.id)
    return Begun(
        lane,
        item,
        command=False,
        session_id=turn.session_id,
        turn_id=turn_id,
        epoch=conversation.raise_epoch(conn, lane.id),
        horizon=turn.horizon,
        rows=tuple(load_rows(conn, turn.session_id)),
        resumed=True,
        stopping=turn.status == "stopping",
    )


def _earlier(conn: Connection, session_id: str, known: Sequence[Row]) -> tuple[Row, ...]:
    return (*known, *load_rows(conn, session_id, known[-1].seq if known else 0))


def _open(
    conn: Connection,
    lane: Lane,
    item: Item,
    place: Place,
    preset: str,
    now: dt.datetime,
    earlier: tuple[Row, ...],
) -> Begun:
    epoch = conversation.raise_epoch(conn, lane.id)
    horizon = inbox.newest(conn, lane.id)
    open_turn(
        conn,
        turn_id=item.id,
        session_id=lane.session_id,
        principal=item.author,
        preset=preset,
        horizon=horizon,
        now=now,
    )
    inbox.take(conn, [item.id], item.id)
    after = earlier[-1].seq if earlier else 0
    added = append_rows(
        conn, lane.session_id, item.id, after, [first_row(item, place, lane.private, now)], now
    )
    return Begun(
        lane,
        item,
        command=False,
        session_id=lane.session_id,
        turn_id=item.id,
        epoch=epoch,
        horizon=horizon,
        rows=(*earlier, *added),
    )


def stop_asked(conn: Connection, conversation_id: str) -> bool:
    """Whether a person has asked to stop the open turn of this conversation."""
    turn_id = inbox.running_turn(conn, conversation_id)
    query = select(_TURN.c.status).where(_TURN.c.id == turn_id)
    return turn_id is not None and conn.execute(query).scalar() == "stopping"


def words(item: Item) -> Block:
    """A person's words as a block, with a line for each file that came along."""
    lines = [item.text] if item.text else []
    lines += [f"[attached file: {name}]" for name in item.files]
    return Text(own_words("\n".join(lines)))


def first_row(item: Item, place: Place, private: bool, now: dt.datetime) -> NewRow:
    """The turn's first row: the situation, then the person's own words."""
    language = language_of(item.text, item.language, place.language)
    where = "private chat" if private else "group chat"
    context = situation(now, place.timezone, place=where, language=language)
    return NewRow(RowKind.USER, Message("user", (context, words(item))), ref=str(item.id))
