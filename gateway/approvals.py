"""Deciding questions: by an allowed approver's own press or command, once, before it expires (TGV-4 … TGV-7, C-19).

Words are never consent: only a button's data, a submitted form and the commands /approve and /deny come here, and none
of them looks for a yes in a text (FIX-4). The one exception is no consent: a question without options takes the next
message of the person who was asked as its answer.
"""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolFailure
from channels.types import Author, Inbound, Kind
from gateway import conversation, identity, inbox, questions
from gateway.commands import Asked
from gateway.conversation import Lane
from gateway.decided import decided_line, expired_line, rewrite
from gateway.draft import Draft
from gateway.engine.base import Engine
from gateway.question_words import how_to_edit, listed, parse_lines, value_of, words
from gateway.questions import UNDECIDED, Ticket
from gateway.router import LATE
from gateway.sender import Sender
from gateway.settings_access import Access
from gateway.tables import Inbox, InboxStatus

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
BUTTONS = frozenset({"ok", "always", "no", "ask", "edit"})  # "always" needs a preset that allows it
COMMANDS = frozenset({"approve", "deny"})
_NUMBERED = re.compile(r"#?(\d{1,18})(?:\s+(.*))?", re.DOTALL)
Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decision came to: `said` to who decided (`aloud`: as a message), and what is to be done after the commit.

    `letters` rewrite the question's message; `wake` is a conversation that goes on, and for whom.
    """

    said: str = ""
    aloud: bool = False
    letters: tuple[tuple[int, Draft], ...] = ()
    wake: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """All ways to decide. Each runs within the transaction of the row that it came with."""

    access: Access
    registry: Registry

    def press(self, conn: Connection, asked: Asked, inbound: Inbound) -> Outcome:
        """A button, or the form that one opened."""
        number, _, choice = asked.route.rest.partition(":")
        ticket = self._decidable(conn, number, asked)
        if isinstance(ticket, Outcome):
            return ticket
        if ticket.kind == "ask":
            return self._choose(conn, ticket, asked, choice)
        return self._press(conn, ticket, asked, inbound)

    def _choose(self, conn: Connection, ticket: Ticket, asked: Asked, choice: str) -> Outcome:
        number = int(choice) if choice.isdecimal() and len(choice) < 3 else 0
        if asked.route.name != "ask" or not 0 < number <= len(ticket.options):
            return Outcome(words("gone", asked.language))
        return self.answer(conn, ticket, asked, ticket.options[number - 1])

    def _press(self, conn: Connection, ticket: Ticket, asked: Asked, inbound: Inbound) -> Outcome:
        match asked.route.name:
            case "ok":
                return decide(conn, ticket, asked, "approved")
            case "no":
                return decide(conn, ticket, asked, "denied")
            case "edit" if inbound.kind is Kind.FORM:
                return self._edited(conn, ticket, asked, inbound.fields)
            case "edit":
                return Outcome(how_to_edit(ticket.id, ticket.args, asked.language), aloud=True)
            case _:
                return Outcome(words("gone", asked.language))

    def command(self, conn: Connection, asked: Asked) -> Outcome:
        """`/approve [ID]`, with `name=value` lines below it to run the call with other values; `/deny [ID]`."""
        rest, name = asked.route.rest, asked.route.name
        match = _NUMBERED.fullmatch(rest)
        lines = parse_lines((match[2] if match else "") or "")
        if (rest and match is None) or lines is None or (lines and name == "deny"):
            return Outcome(words("usage", asked.language, name=name))
        if match is None:
            return self._only(conn, asked)
        ticket = self._decidable(conn, match[1], asked)
        if isinstance(ticket, Outcome):
            return ticket
        if ticket.kind != "approval":
            return Outcome(words("gone", asked.language))
        if lines:
            return self._edited(conn, ticket, asked, lines)
        return decide(conn, ticket, asked, "denied" if name == "deny" else "approved")

    def words(self, conn: Connection, lane: Lane, person: str, now: dt.datetime) -> Ticket | None:
        """The one question without options that the next message of this person answers, or None."""
        questions.hold(conn, lane.id)  # it must not expire between this look and the answer
        tickets = [t for t in questions.undecided(conn, lane.id, ("open",)) if t.expires_at > now]
        if len(tickets) != 1 or tickets[0].kind != "ask" or tickets[0].options:
            return None
        return tickets[0] if self._may(conn, tickets[0], person) else None

    def answer(self, conn: Connection, ticket: Ticket, asked: Asked, text: str) -> Outcome:
        """Take a person's own words as the answer."""
        return decide(conn, ticket, asked, "answered", {"text": text})

    def expire(self, conn: Connection, question_id: int, now: dt.datetime) -> Outcome:
        """Nobody answered in time: neither approved nor refused (TGV-7)."""
        ticket = questions.find(conn, question_id)
        before = ticket and questions.settle(conn, ticket, "expired", now)
        if ticket is None or before is None:
            return Outcome()
        letters = rewrite(conn, ticket, expired_line(ticket), now)
        wake = (ticket.conversation_id, ticket.owner) if before == "open" else None
        return Outcome(letters=tuple(letters), wake=wake)

    def drop_parked(self, conn: Connection, asked: Asked) -> Outcome:
        """/stop also takes back what the person may decide here and no turn waits for any more."""
        letters: list[tuple[int, Draft]] = []
        dropped: list[int] = []
        for ticket in questions.undecided(conn, asked.lane.id, ("parked",)):
            if self._may(conn, ticket, asked.person) and questions.settle(
                conn, ticket, "cancelled", asked.now, by=asked.person
            ):
                dropped.append(ticket.id)
                letters += rewrite(conn, ticket, words("was_cancelled", ticket.language), asked.now)
        said = words("cancelled", asked.language, ids=listed(dropped)) if dropped else ""
        return Outcome(said, letters=tuple(letters))

    # Shared ------------------------------------------------------------------------------------------------------

    def _may(self, conn: Connection, ticket: Ticket, person: str) -> bool:
        """Who was asked (under any linked identity); for approvals an operator of then who is one still."""
        if identity.principal_of(conn, person) == ticket.owner:
            return True
        if person not in ticket.approvers:
            return False
        return self.access.role(person) == "operator" or person == _author(conn, ticket)

    def _decidable(self, conn: Connection, number: str, asked: Asked) -> Ticket | Outcome:
        """The question of this number, or why this person cannot decide it now."""
        is_number = number.isdecimal() and len(number) < 19
        ticket = questions.find(conn, int(number)) if is_number else None
        if ticket is not None and not self._may(conn, ticket, asked.person):
            return Outcome(words("not_approver", asked.language))
        if ticket is None or ticket.status not in UNDECIDED or ticket.expires_at <= asked.now:
            return Outcome(words("gone", asked.language))
        return ticket

    def _only(self, conn: Connection, asked: Asked) -> Outcome:
        """A command without a number: it must be plain what it is about."""
        mine = [
            t
            for t in questions.undecided(conn, asked.lane.id)
            if t.kind == "approval"
            and t.expires_at > asked.now
            and self._may(conn, t, asked.person)
        ]
        name = asked.route.name
        if not mine:
            return Outcome(words("nothing_open", asked.language))
        if len(mine) > 1:
            ids = [t.id for t in mine]
            said = words("which", asked.language, ids=listed(ids), name=name, first=ids[0])
            return Outcome(said)
        return decide(conn, mine[0], asked, "denied" if name == "deny" else "approved")

    def _edited(self, conn: Connection, ticket: Ticket, asked: Asked, fields: Fields) -> Outcome:
        """Other arguments than were asked for: validated again, and shown as what was approved (TGV-4)."""
        spec = self.registry.get(ticket.tool)
        if spec is None:
            return Outcome(words("gone", asked.language))
        properties: Any = spec.parameters.get("properties", {})
        args = dict(ticket.args)
        for name, text in fields:
            is_text = (
                isinstance(args.get(name), str) or properties.get(name, {}).get("type") == "string"
            )
            value = value_of(text)
            args[name] = text if is_text and not isinstance(value, str) else value
        try:
            spec.check(args)
        except ToolFailure as e:
            return Outcome(words("bad_edit", asked.language, problem=e), aloud=True)
        changed = {"args": args} if args != ticket.args else {}
        return decide(conn, ticket, asked, "approved", changed)


def decide(
    conn: Connection,
    ticket: Ticket,
    asked: Asked,
    verdict: str,
    answer: dict[str, Any] | None = None,
) -> Outcome:
    """One transaction: who is first decides, and what makes the turn go on is written with it.

    Whether `asked.person` may, and whether the question is still open, was judged before.
    """
    answer = answer or {}
    before = questions.settle(
        conn,
        ticket,
        "answered",
        asked.now,
        by=asked.person,
        answer=answer | {"verdict": verdict},
    )
    if before is None:
        return Outcome(words("gone", asked.language))
    late = before == "parked" and verdict != "denied"
    if late:
        _come_back(conn, ticket, asked.now)
    line = decided_line(ticket, verdict, asked.name or asked.person, answer)
    letters = rewrite(conn, ticket, line, asked.now)
    wake = (ticket.conversation_id, ticket.owner) if late or before == "open" else None
    return Outcome(words("taken", asked.language), letters=tuple(letters), wake=wake)


def carry_out(outcome: Outcome, senders: Sender, engine: Engine) -> None:
    """What follows the commit of a decision. Should it get lost, the next start does it."""
    for row_id, draft in outcome.letters:
        senders.send(senders.rewritten(row_id, draft))
    if outcome.wake is not None:
        engine.wake(*outcome.wake)


def _author(conn: Connection, ticket: Ticket) -> str:
    """Who wrote what began the turn that asked (a turn's id is that of its first inbox row)."""
    query = select(_INBOX.c.author).where(_INBOX.c.id == ticket.turn_id)
    return conn.execute(query).scalar() or ticket.owner


def _come_back(conn: Connection, ticket: Ticket, now: dt.datetime) -> None:
    """A row of the conversation that carries a late decision out in a turn of its own, once (`engine/late.py`)."""
    lane = conversation.find(conn, ticket.conversation_id)
    if lane is None:
        raise LookupError(
            f"the conversation {ticket.conversation_id} of question {ticket.id} is gone"
        )
    author = _author(conn, ticket)
    said = words("late", ticket.language, id=ticket.id)
    inbound = Inbound(
        lane.address,
        questions.key_of(ticket.id),
        Author(author.partition(":")[2]),
        f"{LATE}:{ticket.id}:{said}",
        now,
        kind=Kind.BUTTON,
        private=lane.private,
    )
    inbox.insert_row(conn, inbound, lane.id, author, InboxStatus.NEW, now)
