"""What a question's message says once it is decided: the buttons go, and who decided what stands below it."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, or_, select

from channels.types import Address, Button
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.questions import questions, remembered
from gateway.questions.questions import Ticket
from gateway.questions.words import arguments, asked_elsewhere, buttons_of, words
from gateway.storage.tables import Outbox

_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]


def rewrite(
    conn: Connection, ticket: Ticket, line: str, now: dt.datetime
) -> list[tuple[int, Draft]]:
    """Let the messages of a question end with this line, without buttons; the letters to send after the commit."""
    body = ticket.text.rpartition("\n\n")[0]  # how to decide it no longer matters
    return _rewritten(conn, ticket, lambda _: (f"{body}\n\n{line}", ()), now)


def show_again(
    conn: Connection, ticket: Ticket, line: str, now: dt.datetime
) -> list[tuple[int, Draft]]:
    """Let the messages of an open question show how far it is, and its arguments as they stand; the buttons stay."""
    body, _, foot = ticket.text.rpartition("\n\n")
    buttons = buttons_of(ticket.asked, ticket.id, ticket.edition)

    def made(had_buttons: bool) -> tuple[str, Sequence[Button]]:
        if had_buttons:
            return f"{body}\n\n{line}\n\n{foot}", buttons
        return asked_elsewhere(f"{body}\n\n{line}\n\n{foot}", ticket.language), ()

    return _rewritten(conn, ticket, made, now)


def _rewritten(
    conn: Connection,
    ticket: Ticket,
    made: Callable[[bool], tuple[str, Sequence[Button]]],
    now: dt.datetime,
) -> list[tuple[int, Draft]]:
    """Every message of a question, in the conversation and elsewhere, as `made` has it."""
    key = questions.key_of(ticket.id)
    keys = or_(_OUTBOX.c.key == key, _OUTBOX.c.key.startswith(f"{key}:", autoescape=True))
    query = select(_OUTBOX).where(_OUTBOX.c.turn_id == ticket.turn_id, keys)
    letters: list[tuple[int, Draft]] = []
    for row in conn.execute(query.order_by(_OUTBOX.c.id)).all():
        text, buttons = made(bool(json.loads(row.body)["buttons"]))
        draft = Draft(
            ticket.turn_id, row.key, row.owner, Address.parse(row.lane), text, buttons=buttons
        )
        row_id = outbox.rewrite(conn, draft, now)
        if row_id is not None:
            letters.append((row_id, draft))
    return letters


def decided_line(ticket: Ticket, verdict: str, name: str, answer: dict[str, Any]) -> str:
    """What was decided, by whom."""
    language = ticket.language
    if verdict == "approved" and remembered.MARK in answer:
        said = words("was_approved", language, name=name)
        return f"{said} {words('kept', language, id=ticket.id)}"
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
