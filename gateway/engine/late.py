"""A turn that waits for a person when something else is written, and a decision that comes afterwards (DESIGN.md 4).

The waiting turn ends in the transaction that begins the next one: its open calls get the result "awaiting question N",
nothing more is said, and the model sees what was written. A later yes runs the stored call in a turn of its own: its
first rows are a note and the call itself, so from there on it is a turn like any other.
"""

import datetime as dt
import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from agent_core.runtime.restrict import DELEGATE
from agent_core.runtime.team import Status
from agent_core.storage.ledger import drop_holds
from agent_core.storage.statements import append_rows, close_turn, load_rows
from agent_core.storage.tables import Turn
from agent_core.types import (
    Context,
    Message,
    NewRow,
    Row,
    RowKind,
    ToolResult,
    ToolUse,
    TurnStatus,
    assistant,
)
from gateway.inbound import inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.router import LATE, Route
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.outbox import REPLY
from gateway.questions import questions
from gateway.questions.questions import Ticket
from gateway.questions.words import listed, words

_TURN = Turn.__table__  # type: ignore[attr-defined]
MOVES = frozenset(
    {"new", "resume", "fork", "undo", "retry", "compact"}
)  # commands that move or read a session

AWAITING = (
    "Awaiting question {id}: no answer yet, and the person wrote on. The question stays open; {after} "
    "Do not ask the same again."
)
AFTER = {
    "approval": "if it is approved, the stored call runs by itself and is reported.",
    "ask": "the answer, if it comes, will be a message of its own.",
}
NOT_BEGUN = "Not run: the turn ended before, awaiting question {ids}."


def ends_waiting(way: Route) -> bool:
    """Whether a row of the lane ends the wait for a person."""
    return way.to == "turn" or way.name in MOVES or is_late(way)


def is_late(way: Route) -> bool:
    """Whether the row carries out a decision that came late."""
    return way.to == "button" and way.name == LATE


def park(
    conn: Connection, lane: Lane, turn_id: int, now: dt.datetime
) -> tuple[tuple[int, Draft], ...]:
    """End the turn of a conversation that waits for a person; what its visible preview says from now on."""
    turn = conn.execute(select(_TURN).where(_TURN.c.id == turn_id)).one()
    tickets = questions.park(conn, turn_id)
    rows = load_rows(conn, turn.session_id)
    closing = _closing(rows, turn_id, turn.session_id, tickets)
    append_rows(conn, turn.session_id, turn_id, rows[-1].seq, closing, now)
    close_turn(conn, turn_id, TurnStatus.DONE, now, None)
    inbox.close_turn_rows(conn, turn_id)
    drop_holds(conn, turn_id)  # empty since it began to wait
    said = words("parked_reply", tickets[0].language, ids=listed([t.id for t in tickets]))
    draft = Draft(turn_id, REPLY, turn.principal, lane.address, said)
    row_id = outbox.rewrite(conn, draft, now)
    return () if row_id is None else ((row_id, draft),)


def _closing(
    rows: Sequence[Row], turn_id: int, session_id: str, tickets: Sequence[Ticket]
) -> list[NewRow]:
    own = [row for row in rows if row.turn_id == turn_id]
    have = {row.ref for row in own if row.kind is RowKind.RESULT}
    calls = [c for row in own if row.kind is RowKind.ASSISTANT for c in row.message.calls]
    return [_result(c, session_id, tickets) for c in calls if c.id not in have]


def _result(call: ToolUse, session_id: str, tickets: Sequence[Ticket]) -> NewRow:
    """The result of an open call: it was asked about, a sub-agent of it asked, or it never began."""
    child = f"{session_id}/{call.id}"
    mine = [t for t in tickets if (t.session_id, t.call_id) == (session_id, call.id)]
    below = [
        t
        for t in tickets
        if t.session_id == child or t.session_id.startswith((f"{child}.", f"{child}/"))
    ]
    text = " ".join(AWAITING.format(id=t.id, after=AFTER[t.kind]) for t in mine or below)
    if not text:
        text = NOT_BEGUN.format(ids=listed([t.id for t in tickets]))
    if call.name.startswith(DELEGATE):
        text = json.dumps(
            {
                "agent": call.name.removeprefix(DELEGATE),
                "status": Status.PARTIAL,
                "result": "",
                "error": text,
                "policy": {"next_action": "use_partial", "retryable": False},
            }
        )
    result = ToolResult(call.id, call.name, text, is_error=True)
    return NewRow(RowKind.RESULT, Message("user", (result,)), ref=call.id)


def ticket_of(conn: Connection, way: Route) -> Ticket:
    """The question that a late decision is about."""
    ticket = questions.find(conn, int(way.rest.partition(":")[0]))
    if ticket is None:
        raise LookupError(f"a late decision without its question: {way.rest}")
    return ticket


def first_row(ticket: Ticket, row_id: int, situation: Context) -> NewRow:
    """What the model is told first. These are no words of the person (BGT-4)."""
    if ticket.kind == "ask":
        question = json.dumps(ticket.args.get("question", ""), ensure_ascii=False)
        answer = json.dumps(ticket.answer.get("text", ""), ensure_ascii=False)
        note = f"The person has now answered question {ticket.id} ({question}): {answer}. Go on with it."
    else:
        note = f"The person has now approved question {ticket.id}; its call runs. Report what came of it."
    return NewRow(RowKind.USER, Message("user", (situation, Context(note))), ref=str(row_id))


def stored_call(conn: Connection, ticket: Ticket, session_id: str, turn_id: int) -> list[NewRow]:
    """The call that was approved, as the turn's first step; from now on the approval is bound to it."""
    if ticket.kind == "ask":
        return []
    call_id = f"question_{ticket.id}"
    args = questions.rehome(conn, ticket, session_id, turn_id, call_id)
    call = assistant("", ToolUse(call_id, ticket.tool, args))
    return [NewRow(RowKind.ASSISTANT, call, ref="runtime", meta={"question": ticket.id})]
