"""Searching what happened: the newest log lines of this process, and the traces of turns."""

import datetime as dt
import json
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import Connection, select

from agent_core.storage.tables import Trace
from gateway.console.calls import Call, Wanted
from gateway.redact import Redactor

_TRACE = Trace.__table__  # type: ignore[attr-defined]
PAGE = 100
LOOKED_AT = 20_000  # traces of one search without a turn
Event = Literal[
    "", "init", "request", "thinking", "tool_started", "tool_result", "compaction", "final", "error"
]


class Search(Wanted):
    """All `words` must be in a line or an event; `turn` and `session` narrow traces, `level` the log."""

    words: Annotated[str, Field(max_length=200)] = ""
    turn: Annotated[int, Field(ge=0, lt=2**63)] = 0
    session: Annotated[str, Field(max_length=200)] = ""
    event: Event = ""
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log line of this process."""

    at: dt.datetime
    level: str
    logger: str
    event: str
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class TraceLine:
    """An event of a turn; `body` is JSON."""

    id: int
    at: dt.datetime
    turn: int
    session: str
    owner: str
    event: str
    body: str


@dataclass(frozen=True, slots=True)
class Found:
    """The page, newest first."""

    logs: list[LogLine]
    traces: list[TraceLine]


async def read(call: Call[Search]) -> Found:
    """The page's data."""
    wanted, redactor = call.wanted, call.house.redactor
    narrowed = wanted.turn or wanted.session or wanted.event
    lines = [] if narrowed else call.house.logs.search(wanted.words, wanted.level, PAGE)
    logs = [LogLine(**asdict(line)) for line in lines]
    traces = await call.house.core.db.read(lambda conn: _traces(conn, wanted, redactor))
    return Found(logs, traces)


def _traces(conn: Connection, wanted: Search, redactor: Redactor) -> list[TraceLine]:
    query = select(_TRACE).order_by(_TRACE.c.id.desc())
    if wanted.turn:
        query = query.where(_TRACE.c.turn_id == wanted.turn)
    if wanted.session:
        query = query.where(_TRACE.c.session_id.startswith(wanted.session, autoescape=True))
    if wanted.event:
        query = query.where(_TRACE.c.event == wanted.event)
    if wanted.words and not (wanted.turn or wanted.session):
        newest = conn.execute(select(_TRACE.c.id).order_by(_TRACE.c.id.desc()).limit(1)).scalar()
        query = query.where(_TRACE.c.id > (newest or 0) - LOOKED_AT)
    for word in wanted.words.split():
        query = query.where(_TRACE.c.body.icontains(word, autoescape=True))
    return [
        TraceLine(
            row.id,
            row.at,
            row.turn_id,
            row.session_id,
            row.owner,
            row.event,
            _pretty(row.body, redactor),
        )
        for row in conn.execute(query.limit(PAGE))
    ]


def _pretty(body: str, redactor: Redactor) -> str:
    return json.dumps(redactor.value(json.loads(body)), ensure_ascii=False, indent=1)
