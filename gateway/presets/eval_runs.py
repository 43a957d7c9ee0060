"""Runs of a preset's cases as rows: begun, told how far they are, ended, listed. Statements; none commits.

One run at a time on a database. A run that has not said anything by its `due_at` belongs to a process that has died: it
counts as lost, and the next one that begins says so in its row.
"""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from gateway.storage.tables_evals import PresetEval

_EVAL = PresetEval.__table__  # type: ignore[attr-defined]
KEPT = 30  # of each preset
CUT_OFF = "cut off: the gateway that ran it has stopped"

Status = Literal["running", "done", "stopped", "failed"]
Result = Mapping[str, Any]  # a verdict as JSON


class Busy(Exception):
    """A run is going on; `preset` names whose."""

    def __init__(self, preset: str) -> None:
        super().__init__(f"the cases of {preset} are being run")
        self.preset = preset


@dataclass(frozen=True, slots=True)
class EvalRun:
    """A row. `results` holds what is known of each case that was run, in order."""

    id: int
    owner: str
    preset: str
    digest: str
    model: str
    status: Status
    cases: int
    done: int
    passed: int
    usd: float | None
    results: Sequence[Result]
    note: str
    began_at: dt.datetime
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Begin:
    """What a run begins with."""

    owner: str
    preset: str
    digest: str
    model: str
    cases: int


def begin(conn: Connection, what: Begin, now: dt.datetime, due: dt.datetime) -> int:
    """Begin a run; returns its number. Raises Busy while another one goes on."""
    other = conn.execute(select(_EVAL.c.preset).where(_EVAL.c.status == "running")).scalar()
    if other is not None:
        raise Busy(other)
    mine = select(_EVAL.c.id).where(_EVAL.c.preset == what.preset).order_by(_EVAL.c.id.desc())
    old = conn.execute(mine.limit(1).offset(KEPT - 2)).scalar()
    if old is not None:
        conn.execute(delete(_EVAL).where(_EVAL.c.preset == what.preset, _EVAL.c.id < old))
    values = {
        "owner": what.owner,
        "preset": what.preset,
        "digest": what.digest,
        "model": what.model,
        "status": "running",
        "cases": what.cases,
        "done": 0,
        "passed": 0,
        "usd": 0.0,
        "results": "[]",
        "note": "",
        "began_at": now,
        "at": now,
        "due_at": due,
    }
    return int(conn.execute(insert(_EVAL).returning(_EVAL.c.id), values).scalar_one())


def end_lost(conn: Connection, now: dt.datetime) -> list[int]:
    """End what belongs to processes that have died; returns their numbers."""
    lost = (_EVAL.c.status == "running", _EVAL.c.due_at < now)
    ended = update(_EVAL).where(*lost).values(status="failed", note=CUT_OFF, at=now)
    return list(conn.execute(ended.returning(_EVAL.c.id)).scalars())


def add(conn: Connection, number: int, result: Result, now: dt.datetime, due: dt.datetime) -> bool:
    """Keep what came of the next case; False where the run was ended meanwhile."""
    row = conn.execute(select(_EVAL).where(_EVAL.c.id == number).with_for_update()).first()
    if row is None or row.status != "running":
        return False
    usd, paid = row.usd, result.get("usd")
    values = {
        "results": json.dumps([*json.loads(row.results), dict(result)], ensure_ascii=False),
        "done": row.done + 1,
        "passed": row.passed + int(bool(result.get("passed"))),
        "usd": None if usd is None or paid is None else usd + paid,
        "at": now,
        "due_at": due,
    }
    conn.execute(update(_EVAL).where(_EVAL.c.id == number).values(values))
    return True


def end(
    conn: Connection, number: int, status: Status, now: dt.datetime, note: str = ""
) -> str | None:
    """End a run that goes on; returns its preset, None where none does."""
    going = (_EVAL.c.id == number, _EVAL.c.status == "running")
    ended = update(_EVAL).where(*going).values(status=status, note=note, at=now)
    return conn.execute(ended.returning(_EVAL.c.preset)).scalar()


def find(conn: Connection, preset: str, number: int, now: dt.datetime) -> EvalRun | None:
    """One run of a preset."""
    row = conn.execute(select(_EVAL).where(_EVAL.c.id == number, _EVAL.c.preset == preset)).first()
    return None if row is None else _run(row, now)


def runs(conn: Connection, preset: str, now: dt.datetime) -> list[EvalRun]:
    """Those of a preset that are kept, newest first."""
    query = select(_EVAL).where(_EVAL.c.preset == preset).order_by(_EVAL.c.id.desc())
    return [_run(row, now) for row in conn.execute(query)]


def latest(conn: Connection, now: dt.datetime) -> dict[str, EvalRun]:
    """The newest run of each preset."""
    newest = select(func.max(_EVAL.c.id)).group_by(_EVAL.c.preset)
    rows = conn.execute(select(_EVAL).where(_EVAL.c.id.in_(newest)))
    return {row.preset: _run(row, now) for row in rows}


def _run(row: Any, now: dt.datetime) -> EvalRun:
    lost = row.status == "running" and row.due_at < now
    return EvalRun(
        row.id,
        row.owner,
        row.preset,
        row.digest,
        row.model,
        "failed" if lost else row.status,
        row.cases,
        row.done,
        row.passed,
        row.usd,
        json.loads(row.results),
        CUT_OFF if lost else row.note,
        row.began_at,
        row.at,
    )
