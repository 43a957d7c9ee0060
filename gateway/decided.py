"""What a question's message says once it is decided: the buttons go, and who decided what stands below it."""

import datetime as dt
from typing import Any

from sqlalchemy import Connection

from gateway import conversation, outbox, questions
from gateway.draft import Draft
from gateway.question_words import arguments, words
from gateway.questions import Ticket


def rewrite(
    conn: Connection, ticket: Ticket, line: str, now: dt.datetime
) -> list[tuple[int, Draft]]:
    """Let the message of a question end with this line, without buttons; the letter to send after the commit."""
    lane = conversation.find(conn, ticket.conversation_id)
    if lane is None:
        return []
    body = ticket.text.rpartition("\n\n")[0]  # how to decide it no longer matters
    text = f"{body}\n\n{line}"
    draft = Draft(ticket.turn_id, questions.key_of(ticket.id), ticket.owner, lane.address, text)
    row_id = outbox.rewrite(conn, draft, now)
    return [] if row_id is None else [(row_id, draft)]


def decided_line(ticket: Ticket, verdict: str, name: str, answer: dict[str, Any]) -> str:
    """What was decided, by whom."""
    language = ticket.language
    if verdict == "approved" and "args" in answer:
        return words("was_edited", language, name=name, args=arguments(answer["args"]))
    if verdict == "answered":
        code = "was_chosen" if ticket.options else "was_answered"
        return words(code, language, name=name, text=answer.get("text", ""))
    return words(f"was_{verdict}", language, name=name)


def expired_line(ticket: Ticket) -> str:
    """Neither a yes nor a no (TGV-7)."""
    return words("ask_expired" if ticket.kind == "ask" else "was_expired", ticket.language)


def cancel_questions(
    conn: Connection, conversation_id: str, turn_id: int, now: dt.datetime
) -> list[tuple[int, Draft]]:
    """Cancel what a turn that ends has asked; the letters that say so."""
    letters: list[tuple[int, Draft]] = []
    for ticket in questions.cancel_turn(conn, conversation_id, turn_id, now):
        letters += rewrite(conn, ticket, words("was_cancelled", ticket.language), now)
    return letters
