"""Asking a person about a call: once for each call, as a row with its messages, bound to all that a yes is about."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import Connection, insert, update

from agent_core import approvals
from agent_core.approvals import Rule
from agent_core.ports import Answer, Ask, AskState
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.questions import questions, remembered, votes
from gateway.questions.places import spread
from gateway.questions.questions import Desk, Ticket
from gateway.questions.votes import Asker
from gateway.questions.words import asked_elsewhere, buttons_of, minutes, text_of
from gateway.storage.tables import Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]

APPROVAL_VALID = dt.timedelta(minutes=5)  # TGV-6
ASK_VALID = dt.timedelta(minutes=60)
Letters = list[tuple[int, Draft]]


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
) -> tuple[Answer, Letters]:
    """Ask about a call, once: how the question stands, and its messages when it is new.

    A yes that was remembered for this very call answers it at once, which is kept as a row as well.
    """
    rules = approvals.matching(ask.rules, ask.values)
    bound = questions.digest(ask.tool, ask.args, desk.preset, rules)
    asked = questions.of_call(conn, session_id, ask.call_id)
    if asked is not None:
        return _standing(asked, bound, turn_id), []
    row = _row(conn, ask, desk, rules, owner, now) | {
        "conversation_id": conversation_id,
        "session_id": session_id,
        "turn_id": turn_id,
        "digest": bound,
    }
    given = remembered.find(conn, owner, session_id, turn_id, ask.tool, ask.args, rules)
    if given is not None:
        answer = _kept(ask, desk.preset, rules) | {"verdict": "approved", "as": given.question}
        row |= {"status": "answered", "answered_by": given.by, "answered_at": now}
        row["answer"] = json.dumps(answer, ensure_ascii=False)
    question_id = conn.execute(insert(_QUESTION).returning(_QUESTION.c.id), row).scalar_one()
    if given is not None:
        return Answer("approved", question_id, by=given.by, args=ask.args), []
    left = minutes(row["expires_at"] - now)
    letters = _letters(
        conn, question_id, replace(ask, rules=rules), desk, owner, turn_id, left, now
    )
    return Answer("open", question_id), letters


def _row(
    conn: Connection, ask: Ask, desk: Desk, rules: Sequence[Rule], owner: str, now: dt.datetime
) -> dict[str, Any]:
    """What the row says of the call itself, and until when whose yes is waited for."""
    default = ASK_VALID if ask.kind == "ask" else APPROVAL_VALID
    valid = dt.timedelta(seconds=approvals.valid_for(rules, default.total_seconds()))
    approvers = [owner, desk.person, *(desk.operators if ask.kind == "approval" else ())]
    if rules:
        approvers = list(votes.approvers(conn, desk.access, Asker(owner, desk.person), rules))
    return {
        "kind": ask.kind,
        "call_id": ask.call_id,
        "owner": owner,
        "tool": ask.tool,
        "args": questions.canonical(ask.args),
        "text": "",
        "options": json.dumps(ask.options, ensure_ascii=False),
        "approvers": json.dumps(list(dict.fromkeys(approvers))),
        "status": "open",
        "answer": json.dumps(_kept(ask, desk.preset, rules), ensure_ascii=False),
        "answered_by": "",
        "created_at": now,
        "expires_at": now + valid,
    }


def _kept(ask: Ask, preset: str, rules: Sequence[Rule]) -> dict[str, Any]:
    """What is kept to show the question again, and to judge it by the rules that it was asked under."""
    kept: dict[str, Any] = {"language": ask.language, "preset": preset}
    if ask.rules:
        kept |= {"title": ask.title, "agent": ask.agent, "values": ask.values}
        kept |= {"rules": approvals.to_json(rules), "all_rules": approvals.to_json(ask.rules)}
    if ask.preview:
        kept |= {"title": ask.title, "agent": ask.agent, "preview": ask.preview}
        kept |= {"complete": ask.complete}
        kept |= {"twice": ask.twice, "bound": ask.bound}
    return kept


def _letters(
    conn: Connection,
    question_id: int,
    ask: Ask,
    desk: Desk,
    owner: str,
    turn_id: int,
    left: int,
    now: dt.datetime,
) -> Letters:
    """The messages that ask; `left` is in minutes."""
    asker = Asker(owner, desk.person)
    text = text_of(ask, question_id, left, asker.author)
    conn.execute(update(_QUESTION).where(_QUESTION.c.id == question_id).values(text=text))
    places = spread(conn, ask.rules, desk.address, asker, desk.access, desk.ops_channel)
    buttons, key = buttons_of(ask, question_id), questions.key_of(question_id)
    body = text if places.here else asked_elsewhere(text, ask.language)
    first = Draft(
        turn_id, key, asker.owner, desk.address, body, buttons=buttons if places.here else ()
    )
    further = [
        Draft(turn_id, f"{key}:{place.name}", place.person, place.address, text, buttons=buttons)
        for place in places.others
    ]
    return [(outbox.put(conn, draft, now), draft) for draft in (first, *further)]


def _standing(ticket: Ticket, bound: str, turn_id: int) -> Answer:
    if (ticket.digest, ticket.turn_id) != (bound, turn_id):
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
        args=ticket.wanted,
        twice=bool(ticket.twice),
        bound="" if ticket.is_edited else answer.get("bound", ""),
    )
