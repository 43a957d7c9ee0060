"""What a run of a case came to, read from the rows that it left (swarm_presets/evals.py judges it)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from agent_core.runtime import grounding
from agent_core.runtime.flow import PLAN
from agent_core.runtime.flow_again import superseded
from agent_core.runtime.numbers import held
from agent_core.runtime.outcome import denied_call
from agent_core.runtime.output import parse, read
from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.team import Status, Team
from agent_core.storage.sessions import with_children
from agent_core.storage.tables import Turn, UsageRow
from agent_core.types import Row, RowKind, ToolResult, TurnStatus, Usage
from gateway.outbound.outbox import REPLY
from gateway.storage.tables import Outbox
from swarm_presets.evals import Seen

_TURN = Turn.__table__  # type: ignore[attr-defined]
_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_GIVEN_UP = {"use_partial", "stop_and_report", "ask_user"}


@dataclass(frozen=True, slots=True)
class _Run:
    """The rows of a run: the supervisor's own, and all with those of its agents."""

    team: Team
    turn_id: int
    status: str
    own: Sequence[Row]
    whole: Sequence[Row]
    text: str

    @property
    def delegations(self) -> list[dict[str, Any]]:
        """What the supervisor got of each delegation, in order."""
        return [row.meta["delegation"] for row in self.own if "delegation" in row.meta]

    @property
    def results(self) -> list[ToolResult]:
        """Results of tools, those of agents' tools included."""
        return [
            block
            for row in self.whole
            if row.kind is RowKind.RESULT
            for block in row.message.blocks
            if isinstance(block, ToolResult)
        ]


def turn_status(conn: Connection, turn_id: int) -> str:
    """How a turn stands, a `TurnStatus`."""
    return str(conn.execute(select(_TURN.c.status).where(_TURN.c.id == turn_id)).scalar_one())


def seen(conn: Connection, team: Team, turn_id: int, seconds: float) -> Seen:
    """What the turn came to. `seconds` is how long it took."""
    turn = conn.execute(select(_TURN).where(_TURN.c.id == turn_id)).one()
    rows = list(with_children(conn, turn.session_id))
    run = _Run(
        team,
        turn_id,
        turn.status,
        [row for session, _, row in rows if session == turn.session_id],
        [row for _, _, row in rows],
        _text(conn, turn_id),
    )
    usage = _usage(conn, turn_id)
    data = _data(run)
    return Seen(
        status=_status(run, seconds),
        text=run.text,
        delegated=tuple(_delegated(run)),
        tools=_tools(run),
        next_actions={entry["agent"]: entry["next_action"] for entry in run.delegations},
        data=data,
        ungrounded=tuple(_ungrounded(run)),
        usd=usage.usd,
        tokens=usage.total_input + usage.output_tokens,
        seconds=seconds,
    )


def _text(conn: Connection, turn_id: int) -> str:
    mine = (_OUTBOX.c.turn_id == turn_id, _OUTBOX.c.key == REPLY)
    body = conn.execute(select(_OUTBOX.c.body).where(*mine)).scalar()
    return str(json.loads(body)["text"]) if body else ""


def _usage(conn: Connection, turn_id: int) -> Usage:
    total = Usage()
    for row in conn.execute(select(_USAGE).where(_USAGE.c.turn_id == turn_id)):
        total += Usage(
            row.input_tokens,
            row.output_tokens,
            row.cache_read_tokens,
            row.cache_write_tokens,
            row.usd,
        )
    return total


def _delegated(run: _Run) -> Iterable[str]:
    for entry in run.delegations:
        yield from entry.get("before", ())
        yield entry["agent"]


def _tools(run: _Run) -> frozenset[str]:
    """Tools that brought something: a call that was refused, denied or failed is none."""
    return frozenset(
        block.name
        for block in run.results
        if not block.is_error and not block.name.startswith(DELEGATE)
    )


def _status(run: _Run, seconds: float) -> str:
    """One of the nine statuses, for the run as a whole."""
    last = run.own[-1].meta if run.own else {}
    match run.status:
        case TurnStatus.WAITING:
            return "waiting"
        case TurnStatus.STOPPED:
            over = last.get("reason") == "over_budget"
            return Status.OVER_BUDGET if over else Status.CANCELLED
        case TurnStatus.FAILED:
            return Status.TIMEOUT if seconds >= run.team.supervisor.limits.time else Status.ERROR
        case _:
            return _ended(run, str(last.get("reason", "done")))


def _ended(run: _Run, reason: str) -> str:
    done = superseded(run.own)
    final = {
        row.meta["delegation"]["agent"]: row.meta["delegation"]
        for row in run.own
        if "delegation" in row.meta and row.ref not in done
    }.values()
    stopped = [e["status"] for e in final if e["next_action"] == "stop_and_report"]
    if denied_call(run.own, run.turn_id) or Status.DENIED in stopped:
        return Status.DENIED
    if Status.CANCELLED in stopped:
        return Status.CANCELLED
    if reason not in {"done", "stop_and_report"}:
        return Status.OVER_BUDGET if reason == "over_budget" else Status.ERROR
    lacks = any(_lacks(e) for e in final if e["status"] != Status.COMPLETED)
    return _answered(run, lacks=lacks or _planned(run) not in {"", Status.COMPLETED})


def _planned(run: _Run) -> str:
    """The status of the turn's fixed plan, "" for none."""
    notes = (r.meta[PLAN] for r in run.own if r.turn_id == run.turn_id and PLAN in r.meta)
    return str(next((note["status"] for note in notes if "status" in note), ""))


def _answered(run: _Run, *, lacks: bool) -> str:
    contract = run.team.supervisor.output
    if not run.text.strip():
        return Status.EMPTY
    if contract.format == "json" and read(contract, _last(run), 10**9).faults:
        return Status.INVALID_OUTPUT
    return Status.PARTIAL if lacks else Status.COMPLETED


def _lacks(entry: dict[str, Any]) -> bool:
    """Whether a part of the answer is missing for good: nobody else did what the agent did not."""
    return entry["next_action"] in _GIVEN_UP or entry["status"] == Status.PARTIAL


def _last(run: _Run) -> str:
    said = (row.message.text for row in reversed(run.own) if row.kind is RowKind.ASSISTANT)
    return next(said, "")


def _data(run: _Run) -> Any:
    """The JSON of the answer where its contract asks for JSON, else what an agent handed back last."""
    if run.team.supervisor.output.format == "json":
        try:
            return parse(_last(run))
        except ValueError:
            return None
    for row in reversed(run.own):
        for block in row.message.blocks if "delegation" in row.meta else ():
            if isinstance(block, ToolResult):
                data = json.loads(block.content).get("data")
                if data is not None:
                    return data
    return None


def _ungrounded(run: _Run) -> list[str]:
    """Numbers of the answer that neither a tool returned nor the person said."""
    texts = [block.content for block in run.results if not block.name.startswith(DELEGATE)]
    asked = [row.message.text for row in run.own if row.kind is RowKind.USER]
    given = [number for words in asked for number in held(words)]
    known = grounding.sources(texts, given=given)
    tolerance = run.team.supervisor.grounding.tolerance
    return [claim.text for claim in grounding.ungrounded(run.text, known, tolerance)]
