"""Searching what happened: the newest log lines of this process, and the traces of turns."""

import datetime as dt
import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Connection, select

from agent_core.storage.tables import Trace
from gateway.console.calls import Call, Wanted
from gateway.console.log_ring import LogRing
from gateway.redact import Redactor

_TRACE = Trace.__table__  # type: ignore[attr-defined]
PAGE = 100
GIST_CHARS = 140
LOOKED_AT = 20_000  # traces of one search without a turn
Event = Literal[
    "", "init", "request", "thinking", "tool_started", "tool_result", "compaction", "final", "error"
]


class Search(Wanted):
    """All `words` must be in a line or an event.

    `turn`, `session` and `hours` (0: no matter how old) narrow both, `level` the log, `person` and `event` traces
    alone, which begin below the event `before` (0: at the newest).
    """

    words: Annotated[str, Field(max_length=200)] = ""
    turn: Annotated[int, Field(ge=0, lt=2**63)] = 0
    session: Annotated[str, Field(max_length=200)] = ""
    person: Annotated[str, Field(max_length=200)] = ""
    event: Event = ""
    level: Literal["info", "warning", "error"] = "info"
    hours: Annotated[int, Field(ge=0, le=8_760)] = 0
    before: Annotated[int, Field(ge=0, lt=2**63)] = 0


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
    """An event of a turn; `body` is JSON, `gist` the beginning of what it says."""

    id: int
    at: dt.datetime
    turn: int
    session: str
    owner: str
    event: str
    gist: str
    body: str


@dataclass(frozen=True, slots=True)
class Found:
    """The page, newest first; `earlier` is where older traces begin, 0 for none."""

    logs: list[LogLine]
    traces: list[TraceLine]
    earlier: int


async def read(call: Call[Search]) -> Found:
    """The page's data."""
    wanted, redactor = call.wanted, call.house.redactor
    since = None
    if wanted.hours:
        since = call.house.core.clock.now() - dt.timedelta(hours=wanted.hours)
    narrowed = wanted.event or wanted.person or wanted.before
    logs = [] if narrowed else _logs(call.house.logs, wanted, since)
    found = await call.house.core.db.read(lambda conn: _traces(conn, wanted, since, redactor))
    return Found(logs, found[:PAGE], found[PAGE - 1].id if len(found) > PAGE else 0)


def _logs(ring: LogRing, wanted: Search, since: dt.datetime | None) -> list[LogLine]:
    about = {key: value for key, value in _about(wanted).items() if value}
    lines = ring.search(wanted.words, wanted.level, PAGE, about=about, since=since)
    return [LogLine(**asdict(line)) for line in lines]


def _about(wanted: Search) -> dict[str, str]:
    """What a line must say of what it is about (gateway/log_context.py)."""
    return {"turn": str(wanted.turn or ""), "session": wanted.session}


def _traces(
    conn: Connection, wanted: Search, since: dt.datetime | None, redactor: Redactor
) -> list[TraceLine]:
    query = select(_TRACE).order_by(_TRACE.c.id.desc())
    if wanted.before:
        query = query.where(_TRACE.c.id < wanted.before)
    if wanted.person:
        query = query.where(_TRACE.c.owner == wanted.person)
    if since is not None:
        query = query.where(_TRACE.c.at >= since)
    if wanted.turn:
        query = query.where(_TRACE.c.turn_id == wanted.turn)
    if wanted.session:
        query = query.where(_TRACE.c.session_id.startswith(wanted.session, autoescape=True))
    if wanted.event:
        query = query.where(_TRACE.c.event == wanted.event)
    if wanted.words and not (wanted.turn or wanted.session):
        newest = conn.execute(select(_TRACE.c.id).order_by(_TRACE.c.id.desc()).limit(1)).scalar()
        query = query.where(_TRACE.c.id > (wanted.before or newest or 0) - LOOKED_AT)
    for word in wanted.words.split():
        query = query.where(_TRACE.c.body.icontains(word, autoescape=True))
    return [_line(row, redactor) for row in conn.execute(query.limit(PAGE + 1))]


def _line(row: Any, redactor: Redactor) -> TraceLine:
    body = redactor.value(json.loads(row.body))
    pretty = json.dumps(body, ensure_ascii=False, indent=1)
    return TraceLine(
        row.id, row.at, row.turn_id, row.session_id, row.owner, row.event, _gist(body), pretty
    )


def _gist(body: Any) -> str:
    """The plain values of an event, as far as one line goes."""
    if not isinstance(body, dict):
        return ""
    pairs = (f"{k}={v}" for k, v in body.items() if isinstance(v, str | int | float) and v != "")
    line = " ".join(" ".join(pairs).split())
    return line if len(line) <= GIST_CHARS else f"{line[:GIST_CHARS]} …"
