"""One run as a timeline: the supervisor, its sub-agents and everybody's tools, as the transcripts have it.

A call's span is from its intent to its result; a delegation's is that of the call that made it, and what its child
sessions did stands below it.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, or_, select

from agent_core.storage.statements import load_rows
from agent_core.storage.tables import Session, Turn, UsageRow
from agent_core.types import Row, RowKind, ToolResult
from gateway.console.calls import Call, Nothing, missing
from gateway.console.said import text_of
from gateway.redact import Redactor

_TURN = Turn.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
DETAIL_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class Spent:
    """Model calls of one worker. `usd` is None where a price is unknown."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A worker or a call of a tool. `begin` and `end` are seconds from the run's start, `end` None while it goes on.

    `kind`: supervisor, agent or tool; `depth` counts from 0. `policy` is what the preset said to do with the outcome of
    a delegation (use_result, retry …), `attempts` how often it was tried.
    """

    kind: str
    name: str
    depth: int
    begin: float
    end: float | None
    status: str
    policy: str = ""
    attempts: int = 0
    task: str = ""
    result: str = ""
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Run:
    """The page."""

    id: int
    session: str
    person: str
    preset: str
    status: str
    error_id: str
    started_at: dt.datetime
    seconds: float
    asked: str
    answer: str
    spent: Spent
    steps: list[Step]


async def read(call: Call[Nothing]) -> Run:
    """The page's data."""
    number, now, redactor = call.number(), call.house.core.clock.now(), call.house.redactor
    return await call.house.core.db.read(lambda conn: _run(conn, number, now, redactor))


@dataclass(frozen=True, slots=True)
class _Family:
    """The rows of a turn in every session that had part in it, and what each paid."""

    start: dt.datetime
    rows: dict[str, list[Row]]
    agents: dict[str, str]
    spent: dict[str, Spent]
    redactor: Redactor

    def since(self, at: dt.datetime) -> float:
        return round(max(0.0, (at - self.start).total_seconds()), 3)


def _run(conn: Connection, number: int, now: dt.datetime, redactor: Redactor) -> Run:
    turn = conn.execute(select(_TURN).where(_TURN.c.id == number)).first()
    if turn is None:
        raise missing()
    family = _family(conn, turn, redactor)
    own = family.rows.get(turn.session_id, [])
    over = turn.ended_at or (now if turn.status == "running" else _last(own, turn.started_at))
    total = _sum(list(family.spent.values()))
    lead = Step(
        "supervisor",
        turn.preset or "supervisor",
        0,
        0.0,
        family.since(over) if turn.ended_at or turn.status != "running" else None,
        turn.status,
        spent=family.spent.get(turn.session_id, Spent()),
    )
    asked = next((row for row in own if row.kind is RowKind.USER), None)
    said = [row for row in own if row.kind is RowKind.ASSISTANT and not row.message.calls]
    return Run(
        turn.id,
        turn.session_id,
        turn.principal,
        turn.preset,
        turn.status,
        turn.error_id or "",
        turn.started_at,
        family.since(over),
        redactor.text(asked.message.text[:DETAIL_CHARS]) if asked else "",
        redactor.text(text_of(said[-1].message, DETAIL_CHARS)) if said else "",
        total,
        [lead, *_steps(family, turn.session_id, 1)],
    )


def _family(conn: Connection, turn: Any, redactor: Redactor) -> _Family:
    below = _SESSION.c.id.startswith(f"{turn.session_id}/", autoescape=True)
    query = select(_SESSION.c.id, _SESSION.c.agent)
    sessions = query.where(or_(_SESSION.c.id == turn.session_id, below)).order_by(
        _SESSION.c.created_at, _SESSION.c.id
    )
    rows: dict[str, list[Row]] = {}
    agents: dict[str, str] = {}
    for session in conn.execute(sessions).all():
        mine = [row for row in load_rows(conn, session.id) if row.turn_id == turn.id]
        if mine:
            rows[session.id], agents[session.id] = mine, session.agent or ""
    return _Family(turn.started_at, rows, agents, _spent(conn, turn.id), redactor)


def _spent(conn: Connection, turn_id: int) -> dict[str, Spent]:
    found: dict[str, Spent] = {}
    for row in conn.execute(select(_USAGE).where(_USAGE.c.turn_id == turn_id)):
        tokens = row.input_tokens + row.cache_read_tokens + row.cache_write_tokens
        one = Spent(1, tokens + row.output_tokens, row.usd, (row.model,))
        found[row.session_id] = _sum([found.get(row.session_id, Spent()), one])
    return found


def _sum(parts: Sequence[Spent]) -> Spent:
    made = Spent()
    for part in parts:
        usd = None if made.usd is None or part.usd is None else made.usd + part.usd
        models = tuple(dict.fromkeys((*made.models, *part.models)))
        made = Spent(made.calls + part.calls, made.tokens + part.tokens, usd, models)
    return made


def _steps(family: _Family, session_id: str, depth: int) -> list[Step]:
    """The calls of one session in the order in which they began, each with what lies below it."""
    rows = family.rows.get(session_id, [])
    results = {row.ref: row for row in rows if row.kind is RowKind.RESULT}
    made: list[Step] = []
    for row in rows:
        if row.kind is not RowKind.INTENT:
            continue
        made += _call(family, session_id, row, results.get(row.ref), depth)
    return made


def _call(
    family: _Family, session_id: str, intent: Row, result: Row | None, depth: int
) -> list[Step]:
    call = next((c for c in intent.message.calls if c.id == intent.ref), None)
    block = (
        next((b for b in result.message.blocks if isinstance(b, ToolResult)), None)
        if result
        else None
    )
    failed = bool(block and block.is_error)
    step = Step(
        "tool",
        call.name if call else intent.ref,
        depth,
        family.since(intent.at),
        family.since(result.at) if result else None,
        "running" if result is None else "failed" if failed else "ok",
        task=family.redactor.text(text_of(intent.message, DETAIL_CHARS)),
        result=family.redactor.text(block.content[:DETAIL_CHARS]) if block else "",
    )
    children = [
        one
        for one in family.rows
        if one.startswith(f"{session_id}/{intent.ref}") and one != session_id
    ]
    told = result.meta.get("delegation") if result else None
    if not children and told is None:
        return [step]
    return [_delegation(family, step, children, told or {}), *_below(family, children, depth)]


def _delegation(family: _Family, step: Step, children: Sequence[str], told: dict[str, Any]) -> Step:
    agent = str(told.get("agent") or next((family.agents[c] for c in children), step.name))
    spent = _sum([family.spent[c] for c in children if c in family.spent])
    return replace(
        step,
        kind="agent",
        name=agent,
        status=str(told.get("status") or step.status),
        policy=str(told.get("next_action") or ""),
        attempts=int(told.get("attempts") or 0),
        spent=spent,
    )


def _below(family: _Family, children: Sequence[str], depth: int) -> list[Step]:
    return [step for child in children for step in _steps(family, child, depth + 1)]


def _last(rows: Sequence[Row], start: dt.datetime) -> dt.datetime:
    return rows[-1].at if rows else start
