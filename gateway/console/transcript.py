"""One session: what was said and done, and beside it what a model sees of it now (DESIGN.md 5).

The right side is made by the very view that requests are made from; nothing here decides anything.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import Connection, select

from agent_core.compaction.view import View
from agent_core.storage.sessions import load_checkpoints
from agent_core.storage.statements import load_rows
from agent_core.storage.tables import Session
from agent_core.types import Row, RowKind
from gateway.console.calls import Call, Wanted, missing
from gateway.console.said import text_of
from gateway.redact import Redactor
from gateway.storage.tables import Conversation

_SESSION = Session.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
PAGE = 80  # rows

Fate = Literal[
    "whole", "cleared", "folded", "clipped", "summarised", "kept", "undone", "dropped", "hidden"
]


class Span(Wanted):
    """The newest rows below `before` (0: the newest of all)."""

    before: Annotated[int, Field(ge=0, lt=2**63)] = 0


@dataclass(frozen=True, slots=True)
class RowSeen:
    """One row of the transcript, and what became of it in the view.

    `seen` is what a model sees of it now: "" where that is the same, or nothing. `fate`: whole, cleared (layer 1),
    folded (layer 2), clipped, summarised (behind the cut), kept (behind it, but in the head verbatim), undone, dropped.
    """

    seq: int
    turn: int
    kind: str
    at: dt.datetime
    said: str
    fate: Fate
    seen: str


@dataclass(frozen=True, slots=True)
class Head:
    """What newer messages already know of this session."""

    id: str
    title: str
    owner: str
    place: str
    preset: str
    model: str
    created_at: dt.datetime


@dataclass(frozen=True, slots=True)
class Transcript:
    """The page. `summary` is the text that stands for the rows before `cut`; `tokens` an estimate of the whole view."""

    session: Head
    rows: list[RowSeen]
    earlier: int
    total: int
    tokens: int
    cut: int
    summary: list[str]


async def read(call: Call[Span]) -> Transcript:
    """The page's data."""
    session_id, before, redactor = call.path["id"], call.wanted.before, call.house.redactor
    return await call.house.core.db.read(lambda conn: _page(conn, session_id, before, redactor))


def head_of(conn: Connection, session_id: str) -> Head:
    """What a session is. Raises Refused (404) where there is none, also for a sub-agent's."""
    query = select(_SESSION).where(_SESSION.c.id == session_id, _SESSION.c.parent.is_(None))
    row = conn.execute(query).first()
    if row is None:
        raise missing()
    lane = conn.execute(
        select(_CONVERSATION).where(_CONVERSATION.c.session_id == session_id).limit(1)
    ).first()
    return Head(
        row.id,
        row.title,
        row.owner,
        lane.id if lane else "",
        lane.preset if lane else "",
        lane.model if lane else "",
        row.created_at,
    )


def _page(conn: Connection, session_id: str, before: int, redactor: Redactor) -> Transcript:
    head = head_of(conn, session_id)
    rows = load_rows(conn, session_id)
    view = View.of(rows, load_checkpoints(conn, session_id))
    spoken = [row for row in rows if row.kind is not RowKind.INTENT]
    wanted = [row for row in spoken if not before or row.seq < before]
    shown = wanted[-PAGE:]
    summary = [redactor.text(text_of(p.message)) for p in view.parts if p.kind == "head"]
    return Transcript(
        head,
        [_seen(view, row, redactor) for row in shown],
        shown[0].seq if len(wanted) > PAGE else 0,
        len(rows),
        view.tokens,
        view.until,
        summary,
    )


def _seen(view: View, row: Row, redactor: Redactor) -> RowSeen:
    said, fate = text_of(row.message), _fate(view, row)
    shown = view.shown(row.seq) if fate in ("cleared", "folded", "clipped") else None
    seen = text_of(shown) if shown else ""
    return RowSeen(
        row.seq,
        row.turn_id,
        row.kind.value,
        row.at,
        redactor.text(said),
        fate,
        redactor.text(seen) if seen != said else "",
    )


def _fate(view: View, row: Row) -> Fate:
    standing, seq = view.standing, row.seq
    if seq < standing.cut and seq not in standing.undone and not row.meta.get("hidden"):
        kept = view.summary is not None and seq in view.summary.words
        return "kept" if kept else "summarised"
    fates: dict[Fate, bool] = {
        "undone": seq in standing.undone,
        "hidden": bool(row.meta.get("hidden")),
        "dropped": seq in standing.dropped,
        "cleared": seq in standing.cleared,
        "folded": seq in standing.folded,
        "clipped": seq in standing.clipped,
    }
    held: list[Fate] = [fate for fate, holds in fates.items() if holds]
    return held[0] if held else "whole"
