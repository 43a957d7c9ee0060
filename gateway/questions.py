"""Questions to people as rows: asked once for each call, decided once, parked when the talk goes on (DESIGN.md 4).

A question is `open` until somebody allowed decides it (`answered`), or it is `expired` or `cancelled`. `parked`: the
person wrote something else meanwhile, the turn ended, and a later decision is carried out in a turn of its own. All
that moves one takes the conversation's row first, so that a decision and the begin of a turn never miss each other.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import Connection, func, insert, select, update

from agent_core.ports import Answer, Ask, AskState
from agent_core.storage.tables import Turn
from channels.types import Address
from gateway import outbox, waiting
from gateway.draft import Draft
from gateway.identity import Language
from gateway.question_words import buttons_of, minutes, text_of
from gateway.tables import Conversation, Inbox, Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]

APPROVAL_VALID = dt.timedelta(minutes=5)  # TGV-6
ASK_VALID = dt.timedelta(minutes=60)
UNDECIDED = ("open", "parked")


@dataclass(frozen=True, slots=True)
class Ticket:
    """A question row. `approvers` may decide it; `answer` is what was decided, and the language it was asked in."""

    id: int
    kind: str
    conversation_id: str
    session_id: str
    turn_id: int
    call_id: str
    owner: str
    tool: str
    args: dict[str, Any]
    digest: str
    text: str
    options: tuple[str, ...]
    approvers: tuple[str, ...]
    status: str
    answer: dict[str, Any]
    answered_by: str
    expires_at: dt.datetime

    @property
    def language(self) -> Language:
        """The language in which it was asked."""
        return "zh" if self.answer.get("language") == "zh" else "en"


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the questions of one turn go, and who may answer: `person`, and `operators` for approvals.

    `posted` gets each message once it is committed, and whether it rewrites one that was there before.
    """

    address: Address
    person: str
    operators: Sequence[str]
    posted: Callable[[int, Draft, bool], None]


def key_of(question_id: int) -> str:
    """The key of the question's message in the outbox."""
    return f"question:{question_id}"


def canonical(args: dict[str, Any]) -> str:
    """The one JSON form of a call's arguments."""
    return json.dumps(args, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(tool: str, args: dict[str, Any]) -> str:
    """What an approval is bound to beside its session and call (TGV-6)."""
    return hashlib.sha256(f"{tool}\0{canonical(args)}".encode()).hexdigest()


def hold(conn: Connection, conversation_id: str) -> None:
    """Take the conversation's row until this transaction ends. SQLite has one writer anyway."""
    if conn.dialect.name == "postgresql":
        query = select(_CONVERSATION.c.id).where(_CONVERSATION.c.id == conversation_id)
        conn.execute(
            query.with_for_update(key_share=True)
        )  # an inbox row that was put in refers to it


# Asking -------------------------------------------------------------------------------------------


def put(
    conn: Connection,
    ask: Ask,
    desk: Desk,
    *,
    conversation_id: str,
    session_id: str,
    turn_id: int,
    owner: str,
    now: dt.datetime,
) -> tuple[Answer, tuple[int, Draft] | None]:
    """Ask about a call, once: how the question stands, and its message when it is new."""
    asked = _of_call(conn, session_id, ask.call_id)
    if asked is not None:
        return _standing(asked, ask, turn_id), None
    valid = ASK_VALID if ask.kind == "ask" else APPROVAL_VALID
    approvers = [owner, desk.person, *(desk.operators if ask.kind == "approval" else ())]
    values = {
        "kind": ask.kind,
        "conversation_id": conversation_id,
        "session_id": session_id,
        "turn_id": turn_id,
        "call_id": ask.call_id,
        "owner": owner,
        "tool": ask.tool,
        "args": canonical(ask.args),
        "digest": digest(ask.tool, ask.args),
        "text": "",
        "options": json.dumps(ask.options, ensure_ascii=False),
        "approvers": json.dumps(list(dict.fromkeys(approvers))),
        "status": "open",
        "answer": json.dumps({"language": ask.language}),
        "answered_by": "",
        "created_at": now,
        "expires_at": now + valid,
    }
    question_id = conn.execute(insert(_QUESTION).returning(_QUESTION.c.id), values).scalar_one()
    text = text_of(ask, question_id, minutes(valid))
    conn.execute(update(_QUESTION).where(_QUESTION.c.id == question_id).values(text=text))
    draft = Draft(
        turn_id,
        key_of(question_id),
        owner,
        desk.address,
        text,
        buttons=buttons_of(ask, question_id),
    )
    return Answer("open", question_id), (outbox.put(conn, draft, now), draft)


def _standing(ticket: Ticket, ask: Ask, turn_id: int) -> Answer:
    bound = (ticket.tool, ticket.digest, ticket.turn_id)
    if bound != (ask.tool, digest(ask.tool, ask.args), turn_id):
        return Answer("void", ticket.id)
    if ticket.status != "answered":
        state = "cancelled" if ticket.status == "parked" else ticket.status
        return Answer(cast("AskState", state), ticket.id)
    answer = ticket.answer
    return Answer(
        answer["verdict"],
        ticket.id,
        by=ticket.answered_by,
        text=answer.get("text", ""),
        args=answer.get("args", ticket.args),
    )


# Finding ------------------------------------------------------------------------------------------


def _ticket(row: Any) -> Ticket:
    fields = {name: getattr(row, name) for name in Ticket.__slots__}
    for name in ("args", "answer"):
        fields[name] = json.loads(fields[name])
    for name in ("options", "approvers"):
        fields[name] = tuple(json.loads(fields[name]))
    return Ticket(**fields)


def find(conn: Connection, question_id: int) -> Ticket | None:
    """A question, or None."""
    row = conn.execute(select(_QUESTION).where(_QUESTION.c.id == question_id)).first()
    return None if row is None else _ticket(row)


def _of_call(conn: Connection, session_id: str, call_id: str) -> Ticket | None:
    mine = (_QUESTION.c.session_id == session_id, _QUESTION.c.call_id == call_id)
    row = conn.execute(select(_QUESTION).where(*mine)).first()
    return None if row is None else _ticket(row)


def undecided(
    conn: Connection, conversation_id: str, statuses: Collection[str] = UNDECIDED
) -> list[Ticket]:
    """The questions of a conversation that nobody has decided, oldest first."""
    mine = (_QUESTION.c.conversation_id == conversation_id, _QUESTION.c.status.in_(statuses))
    return [
        _ticket(row)
        for row in conn.execute(select(_QUESTION).where(*mine).order_by(_QUESTION.c.id))
    ]


def due(conn: Connection, now: dt.datetime) -> list[int]:
    """Ids of the undecided questions whose time is over."""
    over = (_QUESTION.c.status.in_(UNDECIDED), _QUESTION.c.expires_at <= now)
    return list(
        conn.execute(select(_QUESTION.c.id).where(*over).order_by(_QUESTION.c.id)).scalars()
    )


def next_expiry(conn: Connection) -> dt.datetime | None:
    """When the next undecided question expires."""
    query = select(func.min(_QUESTION.c.expires_at)).where(_QUESTION.c.status.in_(UNDECIDED))
    found: dt.datetime | None = conn.execute(query).scalar()
    return found


def asking(conn: Connection) -> list[str]:
    """Conversations with undecided questions."""
    query = select(_QUESTION.c.conversation_id).where(_QUESTION.c.status.in_(UNDECIDED)).distinct()
    return list(conn.execute(query).scalars())


# Deciding -----------------------------------------------------------------------------------------


def settle(
    conn: Connection,
    ticket: Ticket,
    status: str,
    now: dt.datetime,
    *,
    by: str = "",
    answer: dict[str, Any] | None = None,
) -> str | None:
    """Decide a question, once: what it was before (open, parked), or None when somebody was first.

    An open one makes its turn go on (its lane is to be woken after the commit).
    """
    hold(conn, ticket.conversation_id)
    for before in UNDECIDED:
        mine = (_QUESTION.c.id == ticket.id, _QUESTION.c.status == before)
        values = {
            "status": status,
            "answered_by": by,
            "answered_at": now,
            "answer": json.dumps(ticket.answer | (answer or {}), ensure_ascii=False),
        }
        moved = conn.execute(
            update(_QUESTION).where(*mine).values(values).returning(_QUESTION.c.id)
        ).first()
        if moved is not None:
            if before == "open":
                waiting.resume(conn, ticket.turn_id)
            return before
    return None


def cancel_turn(
    conn: Connection, conversation_id: str, turn_id: int, now: dt.datetime
) -> list[Ticket]:
    """Cancel the open questions of a turn that ends; those cancelled by now, oldest first."""
    mine = (_QUESTION.c.conversation_id == conversation_id, _QUESTION.c.turn_id == turn_id)
    values = {"status": "cancelled", "answered_at": now}
    conn.execute(update(_QUESTION).where(*mine, _QUESTION.c.status == "open").values(values))
    over = select(_QUESTION).where(*mine, _QUESTION.c.status == "cancelled")
    rows = conn.execute(over.order_by(_QUESTION.c.id))
    return [_ticket(row) for row in rows]


def park(conn: Connection, turn_id: int) -> list[Ticket]:
    """The turn ends without an answer to these; they stay decidable."""
    mine = (_QUESTION.c.turn_id == turn_id, _QUESTION.c.status == "open")
    rows = list(conn.execute(select(_QUESTION).where(*mine).order_by(_QUESTION.c.id)))
    conn.execute(update(_QUESTION).where(*mine).values(status="parked"))
    return [replace(_ticket(row), status="parked") for row in rows]


def rehome(
    conn: Connection, ticket: Ticket, session_id: str, turn_id: int, call_id: str
) -> dict[str, Any]:
    """Bind an approval that came late to the call of the turn that carries it out; returns that call's arguments."""
    args: dict[str, Any] = ticket.answer.get("args", ticket.args)
    values = {
        "session_id": session_id,
        "turn_id": turn_id,
        "call_id": call_id,
        "args": canonical(args),
        "digest": digest(ticket.tool, args),
    }
    conn.execute(update(_QUESTION).where(_QUESTION.c.id == ticket.id).values(values))
    return args
