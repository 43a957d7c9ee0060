"""The list of runs: each turn of each session, newest first."""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import Connection, case, func, select

from agent_core.storage.tables import Session, Turn, UsageRow
from gateway.console.calls import Call, Wanted

_TURN = Turn.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
PAGE = 50
Status = Literal["", "running", "waiting", "done", "stopped", "failed"]


class Search(Wanted):
    """`status` and `person` narrow the list; it begins below the run `before` (0: at the newest)."""

    status: Status = ""
    person: Annotated[str, Field(max_length=200)] = ""
    before: Annotated[int, Field(ge=0, lt=2**63)] = 0


@dataclass(frozen=True, slots=True)
class RunItem:
    """One run. `usd` is None where a price is unknown, `seconds` while it goes on."""

    id: int
    session: str
    title: str
    person: str
    preset: str
    status: str
    started_at: dt.datetime
    seconds: float | None
    calls: int
    tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class RunList:
    """One page; `earlier` is where the next one begins, 0 for none."""

    runs: list[RunItem]
    earlier: int


async def read(call: Call[Search]) -> RunList:
    """The page's data."""
    found = await call.house.core.db.read(lambda conn: _rows(conn, call.wanted))
    return RunList(found[:PAGE], found[PAGE - 1].id if len(found) > PAGE else 0)


def _rows(conn: Connection, wanted: Search) -> list[RunItem]:
    query = (
        select(_TURN, _SESSION.c.title)
        .join(_SESSION, _SESSION.c.id == _TURN.c.session_id)
        .order_by(_TURN.c.id.desc())
        .limit(PAGE + 1)
    )
    if wanted.status:
        query = query.where(_TURN.c.status == wanted.status)
    if wanted.person:
        query = query.where(_TURN.c.principal == wanted.person)
    if wanted.before:
        query = query.where(_TURN.c.id < wanted.before)
    found = conn.execute(query).all()
    read = _USAGE.c.input_tokens + _USAGE.c.cache_read_tokens + _USAGE.c.cache_write_tokens
    unknown = func.count(case((_USAGE.c.usd.is_(None), 1)))
    sums = (
        select(
            _USAGE.c.turn_id,
            func.count().label("calls"),
            func.sum(read + _USAGE.c.output_tokens).label("tokens"),
            func.sum(_USAGE.c.usd).label("usd"),
            unknown.label("unknown"),
        )
        .where(_USAGE.c.turn_id.in_([row.id for row in found]))
        .group_by(_USAGE.c.turn_id)
    )
    costs = {row.turn_id: row for row in conn.execute(sums)}
    made = []
    for row in found:
        cost = costs.get(row.id)
        usd = (None if cost.unknown else float(cost.usd or 0)) if cost else 0.0
        ended = row.ended_at
        made.append(
            RunItem(
                row.id,
                row.session_id,
                row.title,
                row.principal,
                row.preset,
                row.status,
                row.started_at,
                round((ended - row.started_at).total_seconds(), 3) if ended else None,
                cost.calls if cost else 0,
                int(cost.tokens or 0) if cost else 0,
                usd,
            )
        )
    return made
