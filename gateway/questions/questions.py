"""Questions to people as rows: asked once for each call, decided once, parked when the talk goes on (DESIGN.md 4).

A question is `open` until somebody allowed decides it (`answered`), or it is `expired` or `cancelled`. `parked`: the
person wrote something else meanwhile, the turn ended, and a later decision is carried out in a turn of its own. All
that moves one takes the conversation's row first, so that a decision and the begin of a turn never miss each other.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from agent_core import approvals
from agent_core.approvals import Rule
from agent_core.ports import Ask
from agent_core.storage.prepared import Prepared
from agent_core.storage.tables import Turn
from channels.types import Address
from gateway.outbound.draft import Draft
from gateway.people.identity import Language
from gateway.questions import waiting
from gateway.settings.access import Access
from gateway.storage.tables import Conversation, Inbox, Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]

UNDECIDED = ("open", "parked")
_HOLD = Prepared(
    select(_CONVERSATION.c.id)
    .where(_CONVERSATION.c.id == bindparam("lane"))
    .with_for_update(key_share=True)  # an inbox row that was put in refers to it
)
_ASKED = (_QUESTION.c.conversation_id == bindparam("lane"), _QUESTION.c.status == "open")
_OPEN = Prepared(select(_QUESTION).where(*_ASKED).order_by(_QUESTION.c.id))
# Whether the conversation `lane` has an open question.
IS_ASKED = select(_QUESTION.c.id).where(*_ASKED).exists()


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

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that must all be satisfied; none: whoever was asked decides."""
        return approvals.from_json(self.answer.get("rules", ()))

    @property
    def ruled(self) -> tuple[Rule, ...]:
        """The rules that hold for the arguments as they are wanted now; `rules` may have more, from before a change."""
        rules = approvals.from_json(self.answer.get("all_rules", ()))
        return approvals.matching(rules, self.answer.get("values", self.wanted))

    @property
    def edition(self) -> int:
        """How often the question was shown anew, with other arguments or for a second yes: older buttons are void."""
        return int(self.answer.get("edition", 0))

    @property
    def is_edited(self) -> bool:
        """Whether an approver has changed the arguments: its number alone does not say which values were seen."""
        return "args" in self.answer

    @property
    def twice(self) -> str:
        """Why one yes of a person is not enough, "" where it is (TGV-8)."""
        return str(self.answer.get("twice", ""))

    @property
    def wanted(self) -> dict[str, Any]:
        """The arguments that a yes means now: those that were asked for, or as an approver has changed them."""
        args: dict[str, Any] = self.answer.get("args", self.args)
        return args

    @property
    def asked(self) -> Ask:
        """What its message shows, as it stands now."""
        kept = self.answer
        return Ask(
            "ask" if self.kind == "ask" else "approval",
            self.call_id,
            self.tool,
            self.wanted,
            self.language,
            title=kept.get("title", self.tool),
            options=self.options,
            agent=kept.get("agent"),
            rules=self.rules,
            values=kept.get("values", self.wanted),
            preview="" if self.is_edited else kept.get("preview", ""),
            complete=bool(kept.get("complete")),
            twice=self.twice,
            bound=kept.get("bound", ""),
        )


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the questions of one turn go, and who may answer: `person`, and `operators` for approvals.

    `posted` gets each message once it is committed, and whether it rewrites one that was there before. `access` says
    who has which role, `ops_channel` where operators are asked; approvals are bound to `preset`, a digest.
    """

    address: Address
    person: str
    operators: Sequence[str]
    posted: Callable[[int, Draft, bool], None]
    access: Access = field(default_factory=Access)
    ops_channel: str | None = None
    preset: str = ""


def key_of(question_id: int) -> str:
    """The key of the question's message in the outbox."""
    return f"question:{question_id}"


def canonical(args: dict[str, Any]) -> str:
    """The one JSON form of a call's arguments."""
    return json.dumps(args, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(tool: str, args: dict[str, Any], preset: str, rules: Sequence[Rule]) -> str:
    """What an approval is bound to beside its session, turn and call (TGV-6): a change of any of it needs a new yes."""
    bound = f"{tool}\0{canonical(args)}\0{preset}\0{approvals.digest(rules)}"
    return hashlib.sha256(bound.encode()).hexdigest()


def hold(conn: Connection, conversation_id: str) -> None:
    """Take the conversation's row until this transaction ends. SQLite has one writer anyway."""
    if conn.dialect.name == "postgresql":
        _HOLD.execute(conn, {"lane": conversation_id})


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


def of_call(conn: Connection, session_id: str, call_id: str) -> Ticket | None:
    """The question about a call, or None."""
    mine = (_QUESTION.c.session_id == session_id, _QUESTION.c.call_id == call_id)
    row = conn.execute(select(_QUESTION).where(*mine)).first()
    return None if row is None else _ticket(row)


def still_open(conn: Connection, conversation_id: str) -> list[Ticket]:
    """The open questions of a conversation, oldest first."""
    return [_ticket(row) for row in _OPEN.execute(conn, {"lane": conversation_id})]


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
    args = ticket.wanted
    rules, preset = ticket.ruled, str(ticket.answer.get("preset", ""))
    values = {
        "session_id": session_id,
        "turn_id": turn_id,
        "call_id": call_id,
        "args": canonical(args),
        "digest": digest(ticket.tool, args, preset, rules),
    }
    conn.execute(update(_QUESTION).where(_QUESTION.c.id == ticket.id).values(values))
    return args
