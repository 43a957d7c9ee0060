"""What is visible of a reply when its turn begins to wait for a person: it stands by itself from then on.

The question comes below it. The answer must come below the question, so it does not go on in the older message.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from channels.types import Step
from gateway.outbound import outbox
from gateway.outbound.outbox import Receipt
from gateway.outbound.sender import Sender
from gateway.people.identity import Language
from gateway.storage.db import settled
from gateway.texts.texts import say


def _text(steps: Sequence[Step], language: Language) -> str:
    """What was done so far, without the steps of sub-agents."""
    own = [f"- {step.label}" for step in steps if step.parent is None and step.state == "ok"]
    if not own:
        return say("question_follows", language)
    return "\n".join([say("done_so_far", language), "", *own])


async def set_aside(
    senders: Sender, receipt: Receipt, steps: Sequence[Step], language: Language
) -> None:
    """Let the visible preview of a reply say what was done, and be no part of the reply any more."""
    if receipt.row_id is None or not receipt.ids or receipt.final:
        return
    row_id, now = receipt.row_id, receipt.clock.now()
    aside = replace(receipt.draft, key=f"aside:{row_id}", text=_text(steps, language))

    def work(conn: Connection) -> bool:
        return outbox.rename(conn, row_id, aside, now)

    if await settled(receipt.db, work):
        kept = Receipt(receipt.db, receipt.clock, aside, row_id, list(receipt.ids))
        senders.send(senders.letter(row_id, aside, kept))
