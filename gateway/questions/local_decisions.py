"""Approvals decided on the machine itself: listed, and approved or denied by its operator.

Whoever may open the control socket or the data folder owns the installation, and with it every approval. All else holds
as in a chat (TGV-6): one decision, in time, for exactly the stored call of its turn.
"""

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from agent_core.ports import Clock
from gateway.commands.commands import Asked
from gateway.engine.base import Engine
from gateway.inbound import conversation
from gateway.inbound.router import Route
from gateway.metrics.observer import Observers
from gateway.outbound.sender import Sender
from gateway.questions import questions
from gateway.questions.approvals import approve, decide
from gateway.questions.outcome import Outcome, carry_out
from gateway.questions.questions import UNDECIDED, Ticket
from gateway.questions.votes import Vote
from gateway.settings.access import Access
from gateway.storage.db import Database
from gateway.storage.tables import Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What came of it. `said` is one line for the operator; `outcome` is to be carried out after the commit."""

    done: bool
    said: str
    outcome: Outcome = field(default_factory=Outcome)


def listing(conn: Connection, now: dt.datetime) -> list[dict[str, Any]]:
    """Questions that wait for somebody, oldest first; what has expired is none, even before a process says so."""
    waits = (_QUESTION.c.status.in_(UNDECIDED), _QUESTION.c.expires_at > now)
    found = conn.execute(select(_QUESTION).where(*waits).order_by(_QUESTION.c.id))
    return [
        {
            "id": row.id,
            "kind": row.kind,
            "status": row.status,
            "owner": row.owner,
            "tool": row.tool,
            "args": _wanted(row),
            "needs": [_need(rule) for rule in json.loads(row.answer).get("rules", ())],
            "yes": [vote["person"] for vote in json.loads(row.answer).get("votes", ())],
            "conversation": row.conversation_id,
            "session": row.session_id,
            "approvers": json.loads(row.approvers),
            "asked_at": row.created_at,
            "expires_at": row.expires_at,
        }
        for row in found
    ]


def _wanted(row: Any) -> dict[str, Any]:
    """The arguments as they stand, perhaps changed by an approver."""
    args: dict[str, Any] = json.loads(row.answer).get("args") or json.loads(row.args)
    return args


def _need(rule: dict[str, Any]) -> str:
    """One rule in short, such as `2 of role:pm, admin, not the requester`."""
    but = ", not the requester" if rule["not_requester"] else ""
    return f"{rule['quorum']} of {', '.join(rule['by'])}{but}"


def rule(
    conn: Connection, number: int, verdict: str, who: str, now: dt.datetime, access: Access
) -> Ruling:
    """Decide one approval; `verdict` is approved or denied, `who` the operator's name on this machine.

    Where rules want several people, the operator's yes is one of them.
    """
    ticket = _held(conn, number)
    refused = _refusal(ticket, number, now)
    if refused or ticket is None:
        return Ruling(False, refused)
    lane = conversation.find(conn, ticket.conversation_id)
    if lane is None:
        return Ruling(False, f"the conversation of question {number} is gone")
    asked = Asked(lane, f"terminal:{who}", ticket.language, Route("at_once"), now, name=who)
    if verdict != "approved":
        outcome = decide(conn, ticket, asked, verdict)
    else:
        vote = Vote(asked.person, who, local=True)
        outcome = approve(conn, access, ticket, asked, vote)
    after = questions.find(conn, number)
    if after is None or after.status != "answered":
        said = f"question {number}: this yes is counted, and others are needed; see: swarmgate approvals list --json"
        if after is not None and _wants_another(ticket, after):
            said = f"question {number}: {ticket.twice} Approve it once more to confirm."
        return Ruling(False, said, outcome)
    return Ruling(True, f"question {number} is {verdict}: {ticket.tool}", outcome)


def _wants_another(before: Ticket, after: Ticket) -> bool:
    """Whether a yes was noted that needs another one of the same person (TGV-8)."""
    return len(after.answer.get("sure", ())) > len(before.answer.get("sure", ()))


def _held(conn: Connection, number: int) -> Ticket | None:
    """The question as it stands until this transaction ends: nobody else decides it meanwhile."""
    ticket = questions.find(conn, number) if 0 < number < 2**63 else None
    if ticket is None:
        return None
    questions.hold(conn, ticket.conversation_id)
    return questions.find(conn, number)


def _refusal(ticket: Ticket | None, number: int, now: dt.datetime) -> str:
    """Why it cannot be decided, in one line; empty when it can."""
    if ticket is None:
        return f"no question has the id {number}; see: swarmgate approvals list"
    if ticket.kind != "approval":
        place = ticket.conversation_id
        return f"question {number} wants an answer, not an approval; it is given in {place}"
    if ticket.status == "answered":
        verdict = ticket.answer.get("verdict", "answered")
        return f"question {number} was decided before: {verdict} by {ticket.answered_by}"
    if ticket.status == "cancelled":
        return f"question {number} was cancelled; nothing waits for it any more"
    if ticket.status == "expired" or ticket.expires_at <= now:
        at = f"{ticket.expires_at:%Y-%m-%d %H:%M} UTC"
        return f"question {number} expired at {at}, neither approved nor denied; ask for it again"
    return ""


@dataclass(frozen=True, slots=True)
class LocalDesk:
    """Decides within the process that runs the engine."""

    db: Database
    clock: Clock
    senders: Sender
    engine: Engine
    access: Access = field(default_factory=Access)
    observers: Observers = field(default_factory=Observers)

    async def decide(self, number: int, verdict: str, who: str) -> tuple[bool, str]:
        """See `rule`. The turn goes on at once."""
        now = self.clock.now()
        ruling = await self.db.write(
            lambda conn: rule(conn, number, verdict, who, now, self.access)
        )
        carry_out(ruling.outcome, self.senders, self.engine, self.observers)
        return ruling.done, ruling.said
