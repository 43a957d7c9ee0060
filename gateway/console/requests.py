"""The requests of a session: what each consisted of, and what it cost, from the traces and the usage beside them."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import Connection, or_, select

from agent_core.assembly.report import Report
from agent_core.storage.tables import Trace, UsageRow
from gateway.console.calls import Call, Wanted
from gateway.console.transcript import Head, head_of

_TRACE = Trace.__table__  # type: ignore[attr-defined]
_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
PAGE = 60


class Window(Wanted):
    """The newest requests before a trace's id (0: the newest of all)."""

    before: Annotated[int, Field(ge=0, lt=2**63)] = 0


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a request: estimated tokens; `cut`: something stands here in short."""

    name: str
    tokens: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Bill:
    """What the provider counted: tokens, and US dollars (None: the price is unknown); `saved` is what caching saved."""

    fresh: int
    cache_read: int
    cache_write: int
    output: int
    usd: float | None
    saved: float | None


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model. `agent` is "" for the supervisor; `bill` is None where it failed or ended without one."""

    id: int
    turn: int
    agent: str
    model: str
    at: dt.datetime
    tokens: int
    fill: float
    messages: int
    marks: int
    sections: list[Section]
    bill: Bill | None


@dataclass(frozen=True, slots=True)
class Requests:
    """The page, newest first; `earlier` is where the next page begins, 0 for none."""

    session: Head
    requests: list[Request]
    earlier: int


async def read(call: Call[Window]) -> Requests:
    """The page's data."""
    session_id, before = call.path["id"], call.wanted.before
    return await call.house.core.db.read(lambda conn: _page(conn, session_id, before))


def _page(conn: Connection, session_id: str, before: int) -> Requests:
    head = head_of(conn, session_id)
    below = _TRACE.c.session_id.startswith(f"{session_id}/", autoescape=True)
    query = (
        select(_TRACE)
        .where(or_(_TRACE.c.session_id == session_id, below), _TRACE.c.event == "request")
        .order_by(_TRACE.c.id.desc())
        .limit(PAGE + 1)
    )
    if before:
        query = query.where(_TRACE.c.id < before)
    found = conn.execute(query).all()
    bills = _bills(conn, session_id, found)
    made = [_request(row, bills.get(row.id)) for row in found[:PAGE]]
    return Requests(head, made, found[PAGE - 1].id if len(found) > PAGE else 0)


def _bills(conn: Connection, session_id: str, traces: Sequence[Any]) -> dict[int, Bill]:
    """The usage of each request: the first of its session between it and the next one."""
    if not traces:
        return {}
    below = _USAGE.c.session_id.startswith(f"{session_id}/", autoescape=True)
    query = select(_USAGE).where(
        or_(_USAGE.c.session_id == session_id, below), _USAGE.c.at >= traces[-1].at
    )
    waiting: dict[str, list[Any]] = {}
    for row in conn.execute(query.order_by(_USAGE.c.id)):
        waiting.setdefault(row.session_id, []).append(row)
    found: dict[int, Bill] = {}
    later: dict[str, dt.datetime] = {}
    for trace in traces:  # newest first
        end = later.get(trace.session_id)
        rows = waiting.get(trace.session_id, [])
        mine = [r for r in rows if r.at >= trace.at and (end is None or r.at <= end)]
        if mine:
            found[trace.id] = _bill(mine[0])
            rows.remove(mine[0])
        later[trace.session_id] = trace.at
    return found


def _bill(row: Any) -> Bill:
    return Bill(
        row.input_tokens,
        row.cache_read_tokens,
        row.cache_write_tokens,
        row.output_tokens,
        row.usd,
        None if None in (row.usd, row.usd_uncached) else row.usd_uncached - row.usd,
    )


def _request(row: Any, bill: Bill | None) -> Request:
    said = json.loads(row.body)
    report = Report.from_json(said["report"])
    return Request(
        row.id,
        row.turn_id,
        said.get("agent") or "",
        str(said.get("model", "")),
        row.at,
        report.tokens,
        round(report.fill, 4),
        report.messages,
        len(report.marks),
        [Section(s.name, s.tokens, s.cut) for s in report.sections],
        bill,
    )
