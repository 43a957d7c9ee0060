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

from sqlalchemy import Connection

from agent_core.approvals import kept_for, may_change
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolFailure, ToolSpec
from channels.types import Author, Inbound, Kind
from gateway.commands.commands import Asked
from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.inbound.router import LATE
from gateway.outbound.draft import Draft
from gateway.people import identity
from gateway.questions import ballot, questions, remembered
from gateway.questions.decided import decided_line, expired_line, rewrite, show_again
from gateway.questions.outcome import Outcome
from gateway.questions.questions import UNDECIDED, Ticket
from gateway.questions.votes import Vote, author_of
from gateway.questions.words import editable, how_to_edit, listed, parse_lines, value_of, words
from gateway.settings.access import Access
from gateway.storage.tables import InboxStatus

BUTTONS = frozenset({"ok", "always", "no", "ask", "edit", "fill"})
COMMANDS = frozenset({"approve", "deny"})
_NUMBERED = re.compile(r"#?(\d{1,18})(?:\s+(.*))?", re.DOTALL)
Fields = Sequence[tuple[str, str]]


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
        if ticket.kind == "ask" and asked.route.name == "fill":
            return self._filled(conn, ticket, asked, inbound)
        if ticket.kind == "ask":
            return self._choose(conn, ticket, asked, choice)
        return self._press(conn, ticket, asked, inbound)

    def _choose(self, conn: Connection, ticket: Ticket, asked: Asked, choice: str) -> Outcome:
        number = int(choice) if choice.isdecimal() and len(choice) < 3 else 0
        if asked.route.name != "ask" or not 0 < number <= len(ticket.options):
            return Outcome(words("gone", asked.language))
        return self.answer(conn, ticket, asked, ticket.options[number - 1])

    def _filled(self, conn: Connection, ticket: Ticket, asked: Asked, inbound: Inbound) -> Outcome:
        """The dialog of a template's fields as words; or, where there are no dialogs, that words will do."""
        wanted = ticket.args.get("fields") or {}
        given = [(name, " ".join(text.split())) for name, text in inbound.fields if name in wanted]
        lines = [f"{name} = {text.replace(';', ',')}" for name, text in given if text]
        if inbound.kind is not Kind.FORM or not lines:
            return Outcome(words("fill_words", asked.language))
        return self.answer(conn, ticket, asked, "; ".join(lines))

    def _press(self, conn: Connection, ticket: Ticket, asked: Asked, inbound: Inbound) -> Outcome:
        name, edition = asked.route.name, asked.route.rest.partition(":")[2]
        if name != "no" and edition != (str(ticket.edition) if ticket.edition else ""):
            return Outcome(words("stale", asked.language))
        match name:
            case "ok":
                return self._yes(conn, ticket, asked)
            case "always" if kept_for(ticket.rules) != "never":
                return self._yes(conn, ticket, asked, keep=True)
            case "no":
                return decide(conn, ticket, asked, "denied")
            case "edit":
                return self._edit(conn, ticket, asked, inbound)
            case _:
                return Outcome(words("gone", asked.language))

    def _edit(self, conn: Connection, ticket: Ticket, asked: Asked, inbound: Inbound) -> Outcome:
        """The filled form; or, where there are no dialogs, how to send other values."""
        if inbound.kind is Kind.FORM:
            return self._edited(conn, ticket, asked, inbound.fields)
        fields = editable(ticket.asked)
        if not fields:
            return Outcome(words("gone", asked.language))
        return Outcome(how_to_edit(ticket.id, fields, asked.language), aloud=True)

    def _yes(
        self, conn: Connection, ticket: Ticket, asked: Asked, *, keep: bool = False
    ) -> Outcome:
        vote = Vote(asked.person, asked.name, keep)
        return approve(conn, self.access, ticket, asked, vote)

    def command(self, conn: Connection, asked: Asked) -> Outcome:
        """`/approve [ID]`, with `name=value` lines below it to run the call with other values; `/deny [ID]`."""
        rest, name = asked.route.rest, asked.route.name
        match = _NUMBERED.fullmatch(rest)
        lines = parse_lines((match[2] if match else "") or "")
        if (rest and match is None) or lines is None or (lines and name == "deny"):
            return Outcome(words("usage", asked.language, name=name))
        if match is None:
            return self._only(conn, asked)
        if name == "deny" and (taken_back := self._revoke(conn, int(match[1]), asked)):
            return taken_back
        ticket = self._decidable(conn, match[1], asked)
        if isinstance(ticket, Outcome):
            return ticket
        return self._said(conn, ticket, asked, lines)

    def _said(
        self, conn: Connection, ticket: Ticket, asked: Asked, lines: Fields | None = None
    ) -> Outcome:
        """A command. Its number does not say which values were seen, so without its own it takes none that changed."""
        if ticket.kind != "approval":
            return Outcome(words("gone", asked.language))
        if lines:
            return self._edited(conn, ticket, asked, lines)
        if asked.route.name == "deny":
            return decide(conn, ticket, asked, "denied")
        if ticket.is_edited:
            return Outcome(words("stale", asked.language))
        return self._yes(conn, ticket, asked)

    def _revoke(self, conn: Connection, number: int, asked: Asked) -> Outcome | None:
        """Take back a yes that counts for later calls; None where this question has none."""
        ticket = questions.find(conn, number) if number < 2**63 else None
        if ticket is None or ticket.status != "answered" or remembered.MARK not in ticket.answer:
            return None
        if not (self._is_own(conn, ticket, asked.person) or self._may(conn, ticket, asked.person)):
            return Outcome(words(_not_theirs(ticket, asked.lane), asked.language))
        remembered.revoke(conn, ticket.id)
        return Outcome(words("revoked", asked.language, id=ticket.id))

    def words(self, conn: Connection, lane: Lane, person: str, now: dt.datetime) -> Ticket | None:
        """The one question without options that the next message of this person answers, or None.

        Only for a conversation in which one was open before the message came in: one that comes later it does not
        answer.
        """
        questions.hold(conn, lane.id)  # it must not expire between this look and the answer
        tickets = [t for t in questions.still_open(conn, lane.id) if t.expires_at > now]
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
        return Outcome(letters=tuple(letters), wake=wake, ended=(ticket.kind, "expired"))

    def drop_parked(self, conn: Connection, asked: Asked) -> Outcome:
        """/stop also takes back what the person may decide here and no turn waits for any more."""
        letters: list[tuple[int, Draft]] = []
        dropped: list[int] = []
        for ticket in questions.undecided(conn, asked.lane.id, ("parked",)):
            mine = self._is_own(conn, ticket, asked.person)
            if (mine or self._may(conn, ticket, asked.person)) and questions.settle(
                conn, ticket, "cancelled", asked.now, by=asked.person
            ):
                dropped.append(ticket.id)
                letters += rewrite(conn, ticket, words("was_cancelled", ticket.language), asked.now)
        said = words("cancelled", asked.language, ids=listed(dropped)) if dropped else ""
        return Outcome(said, letters=tuple(letters))

    # Shared ------------------------------------------------------------------------------------------------------

    def _may(self, conn: Connection, ticket: Ticket, person: str) -> bool:
        """Who was asked (under any linked identity); for approvals an operator of then who is one still.

        Under rules: who these name.
        """
        if ticket.rules:
            return ballot.may_approve(conn, self.access, ticket, person)
        if identity.principal_of(conn, person) == ticket.owner:
            return True
        if person not in ticket.approvers:
            return False
        return self.access.role(person) == "operator" or person == _author(conn, ticket)

    def _is_own(self, conn: Connection, ticket: Ticket, person: str) -> bool:
        """Whether the call is the person's own: whoever asked may always take it back."""
        return identity.principal_of(conn, person) == ticket.owner

    def _decidable(self, conn: Connection, number: str, asked: Asked) -> Ticket | Outcome:
        """The question of this number, or why this person cannot decide it now."""
        is_number = number.isdecimal() and len(number) < 19
        ticket = questions.find(conn, int(number)) if is_number else None
        if ticket is not None and not self._may(conn, ticket, asked.person):
            own_no = asked.route.name in {"no", "deny"} and self._is_own(conn, ticket, asked.person)
            if own_no and ticket.status in UNDECIDED and ticket.expires_at > asked.now:
                return ticket
            return Outcome(words(_not_theirs(ticket, asked.lane), asked.language))
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
        return self._said(conn, mine[0], asked)

    def _edited(self, conn: Connection, ticket: Ticket, asked: Asked, fields: Fields) -> Outcome:
        """Other arguments than were asked for: validated again, and shown as what was approved (TGV-4)."""
        spec = self.registry.get(ticket.tool)
        if spec is None:
            return Outcome(words("gone", asked.language))
        args = _changed(spec, ticket.wanted, fields)
        try:
            if ticket.rules:
                _check_changes(ticket, args, asked)
            values = spec.check(args).model_dump(mode="json")
        except ToolFailure as e:
            return Outcome(words("bad_edit", asked.language, problem=e), aloud=True)
        if args == ticket.wanted:
            return self._yes(conn, ticket, asked)
        if not ticket.rules:
            return decide(conn, ticket, asked, "approved", {"args": args, "twice": ""})
        edited = ballot.change(conn, ticket, args, values, asked.now)
        if edited is None:
            return Outcome(words("gone", asked.language))
        return self._yes(conn, edited, asked)


def _not_theirs(ticket: Ticket, here: Lane) -> str:
    """What somebody is told who may not decide: where they cannot have seen the question, as of one that is not."""
    seen = not here.private or here.id == ticket.conversation_id
    return "not_approver" if seen else "gone"


def _changed(spec: ToolSpec, before: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """The arguments with what a person typed in."""
    known = spec.arguments.model_fields
    args = dict(before)
    for name, text in fields:
        is_text = isinstance(args.get(name), str) or (
            name in known and known[name].annotation is str
        )
        value = value_of(text)
        args[name] = text if is_text and not isinstance(value, str) else value
    return args


def _check_changes(ticket: Ticket, args: dict[str, Any], asked: Asked) -> None:
    """Raise ToolFailure for a change of something that the rules do not let an approver change."""
    shown = ticket.asked.values | ticket.wanted
    for name, value in args.items():
        if value != shown.get(name) and name not in may_change(ticket.rules):
            raise ToolFailure(words("fixed", asked.language, name=name))


def approve(conn: Connection, access: Access, ticket: Ticket, asked: Asked, vote: Vote) -> Outcome:
    """One person's yes: it decides where nothing asks for another one. Whether the person may was judged before."""
    again = ballot.first_yes(conn, ticket, vote.person)
    if again is not None:
        name = vote.name or vote.person
        line = words("once_more", ticket.language, why=ticket.twice, name=name)
        letters = show_again(conn, again, line, asked.now)
        return Outcome(words("once_more_toast", asked.language), letters=tuple(letters))
    if not ticket.rules:
        return decide(conn, ticket, asked, "approved")
    tally = ballot.cast(conn, access, ticket, vote)
    if tally is None:
        return Outcome(words("gone", asked.language))
    if not tally.missing:
        return decide(conn, tally.ticket, asked, "approved", tally.answer)
    line = words("so_far", ticket.language, names=tally.names, count=tally.missing)
    letters = show_again(conn, tally.ticket, line, asked.now)
    return Outcome(words("taken", asked.language), letters=tuple(letters))


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
    whole = ticket.answer | answer
    given = ballot.names_of(whole.get("votes", ())) if verdict == "approved" else ""
    line = decided_line(ticket, verdict, given or asked.name or asked.person, whole)
    letters = rewrite(conn, ticket, line, asked.now)
    wake = (ticket.conversation_id, ticket.owner) if late or before == "open" else None
    return Outcome(
        words("taken", asked.language),
        letters=tuple(letters),
        wake=wake,
        ended=(ticket.kind, verdict),
    )


def _author(conn: Connection, ticket: Ticket) -> str:
    return author_of(conn, ticket.turn_id, ticket.owner)


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
