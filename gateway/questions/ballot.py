"""The state of an approval that needs several people's yes, in its row: votes, and arguments that were changed.

Each function runs in the transaction of the press, with the conversation's row taken, so that two presses at once count
both, and a yes never lands on arguments that its giver did not see.
"""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, update

from agent_core import approvals
from gateway.questions import questions, remembered
from gateway.questions.questions import UNDECIDED, Ticket
from gateway.questions.votes import Asker, Vote, author_of, lacking, may
from gateway.questions.words import minutes, text_of
from gateway.settings.access import Access
from gateway.storage.tables import Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Tally:
    """A question after a yes. `missing` more people are needed; at 0 `answer` is what decides it."""

    ticket: Ticket
    votes: tuple[Vote, ...]
    missing: int
    answer: dict[str, Any]

    @property
    def names(self) -> str:
        """Who has said yes, for people."""
        return ", ".join(vote.name or vote.person for vote in self.votes)


def asker_of(conn: Connection, ticket: Ticket) -> Asker:
    """Who asked."""
    return Asker(ticket.owner, author_of(conn, ticket.turn_id, ticket.owner))


def may_approve(conn: Connection, access: Access, ticket: Ticket, person: str) -> bool:
    """Whether this person's yes counts for at least one of the rules."""
    asker = asker_of(conn, ticket)
    return any(may(conn, access, asker, rule, Vote(person)) for rule in ticket.rules)


def cast(conn: Connection, access: Access, ticket: Ticket, vote: Vote) -> Tally | None:
    """Count a yes, each person's once; None where the question was decided or changed meanwhile."""
    fresh = _held(conn, ticket)
    if fresh is None:
        return None
    given = [vote_of(entry) for entry in fresh.answer.get("votes", ())]
    votes = (*(old for old in given if old.person != vote.person), vote)
    asker = asker_of(conn, fresh)
    missing = sum(more for _, more in lacking(conn, access, asker, fresh.rules, votes))
    answer: dict[str, Any] = {"votes": [one.to_json() for one in votes]}
    if missing:
        fresh = _write(conn, fresh, answer)
    elif all(one.keep for one in votes):
        answer |= _remembered(fresh)
    return Tally(fresh, votes, missing, answer)


def _remembered(ticket: Ticket) -> dict[str, Any]:
    scope = approvals.kept_for(ticket.rules)
    if scope == "never":
        return {}
    return dict(
        remembered.note(
            scope, ticket.session_id, ticket.turn_id, ticket.tool, ticket.wanted, ticket.ruled
        )
    )


def first_yes(conn: Connection, ticket: Ticket, person: str) -> Ticket | None:
    """Note a yes that needs another one of the same person (TGV-8); None for that other one, or where one is enough.

    The question is a new edition then: a double click on the old button gives no second yes.
    """
    fresh = _held(conn, ticket) if ticket.twice else None
    if fresh is None or person in fresh.answer.get("sure", ()):
        return None
    sure = [*fresh.answer.get("sure", ()), person]
    return _write(conn, fresh, {"sure": sure, "edition": fresh.edition + 1})


def change(
    conn: Connection, ticket: Ticket, args: dict[str, Any], values: dict[str, Any], now: dt.datetime
) -> Ticket | None:
    """Other arguments: a new question in all but its number. Each yes so far is void, no rule of before is shed."""
    fresh = _held(conn, ticket)
    if fresh is None:
        return None
    every = approvals.from_json(fresh.answer.get("all_rules", ()))
    rules = tuple(dict.fromkeys((*fresh.rules, *approvals.matching(every, values))))
    answer = {
        "args": args,
        "values": values,
        "rules": approvals.to_json(rules),
        "votes": [],
        "sure": [],
        "edition": fresh.edition + 1,
    }
    changed = replace(fresh, answer=fresh.answer | answer)
    left = minutes(fresh.expires_at - now)
    text = text_of(changed.asked, fresh.id, left, asker_of(conn, fresh).author)
    return _write(conn, replace(changed, text=text), answer)


def vote_of(entry: dict[str, Any]) -> Vote:
    """A vote as it was stored."""
    return Vote(entry["person"], entry["name"], entry["keep"], entry["local"])


def names_of(entries: Sequence[dict[str, Any]]) -> str:
    """The names of stored votes, for people."""
    return ", ".join(entry["name"] or entry["person"] for entry in entries)


def _held(conn: Connection, ticket: Ticket) -> Ticket | None:
    """The question as it stands until this transaction ends; None when it is not what was read before."""
    questions.hold(conn, ticket.conversation_id)
    fresh = questions.find(conn, ticket.id)
    if fresh is None or fresh.status not in UNDECIDED or fresh.edition != ticket.edition:
        return None
    return fresh


def _write(conn: Connection, ticket: Ticket, answer: dict[str, Any]) -> Ticket:
    whole = ticket.answer | answer
    values = {"answer": json.dumps(whole, ensure_ascii=False), "text": ticket.text}
    conn.execute(update(_QUESTION).where(_QUESTION.c.id == ticket.id).values(values))
    return replace(ticket, answer=whole)
