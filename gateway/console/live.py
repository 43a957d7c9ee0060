"""The few numbers that tell whether something changed: beside menu entries, and by which open pages look again."""

import datetime as dt

from sqlalchemy import Connection, func, select

from agent_core.storage import orders_halt
from agent_core.storage.tables import Trace, Turn
from gateway.console.house import House
from gateway.outbound import parked
from gateway.questions.questions import UNDECIDED
from gateway.storage.tables import Inbox, Outbox, Pairing, Question
from gateway.storage.tables_console import ConsoleAudit
from gateway.storage.tables_evals import PresetEval
from gateway.trading.halt import FILE

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_TRACE = Trace.__table__  # type: ignore[attr-defined]
_QUESTION = Question.__table__  # type: ignore[attr-defined]
_PAIRING = Pairing.__table__  # type: ignore[attr-defined]
_EVAL = PresetEval.__table__  # type: ignore[attr-defined]
_AUDIT = ConsoleAudit.__table__  # type: ignore[attr-defined]


async def state(house: House) -> dict[str, object]:
    """The present state. Every value is a number or a yes."""
    now = house.core.clock.now()
    found = await house.core.db.read(lambda conn: _rows(conn, now))
    file = (house.settings.data_dir / FILE).exists()
    return found | {
        "running": house.core.engine.busy(),
        "broken": len(house.core.turns.teams.first_problems()),
        "halted": bool(found["halted"]) or file,
    }


def _rows(conn: Connection, now: dt.datetime) -> dict[str, object]:
    waits = (_QUESTION.c.status.in_(UNDECIDED), _QUESTION.c.expires_at > now)

    def one(column: object, *where: object) -> int:
        return int(conn.execute(select(column).where(*where)).scalar() or 0)  # type: ignore[call-overload]

    return {
        "approvals": one(func.count(_QUESTION.c.id), *waits),
        "pairing": one(func.count(_PAIRING.c.code), _PAIRING.c.expires_at > now),
        "parked": parked.count(conn),
        "halted": orders_halt.read(conn).halted,
        "inbox": one(func.max(_INBOX.c.id)),
        "outbox": one(func.max(_OUTBOX.c.id)),
        "turn": one(func.max(_TURN.c.id)),
        "trace": one(func.max(_TRACE.c.id)),
        "audit": one(func.max(_AUDIT.c.id)),
        "evals": one(func.max(_EVAL.c.id)),
        "evaluated": one(func.sum(_EVAL.c.done)),
        "evaluating": one(func.count(_EVAL.c.id), _EVAL.c.status == "running"),
    }
