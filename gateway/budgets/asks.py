"""Asking the operators to raise a pot: once for each pot and period, by buttons, decided once.

The question is durable: it is a message in the outbox and a mark in the pot's row, and the turn that waits is tried at
each start. Only a button counts, pressed by somebody who is an operator then.
"""

import datetime as dt
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from agent_core.budget.pots import Pot
from agent_core.storage import ledger
from agent_core.storage.ledger import PotRow
from channels.types import Address, Button
from gateway.budgets.notes import Letters, key_of, size, when
from gateway.inbound import inbox
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.people.identity import Language
from gateway.people.operators import Place, places
from gateway.storage.tables import Outbox
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
BUTTON = "raise"


def ask(
    conn: Connection,
    pot: Pot,
    row: PotRow,
    unit: str,
    told: Sequence[Place],
    *,
    turn_id: int,
    now: dt.datetime,
    zone: str,
) -> Letters:
    """Ask every operator who can be reached, unless this pot was asked for before. Sent after the commit."""
    if row.asked:
        return []
    ledger.mark(conn, row.id, asked=turn_id)
    letters: Letters = []
    for place in told:
        buttons = (
            Button(say("budget_raise", place.language), f"{BUTTON}:{row.id}:yes", "primary"),
            Button(say("budget_deny", place.language), f"{BUTTON}:{row.id}:no", "danger"),
        )
        text = _question(pot, row, unit, place.language, now, zone)
        key = f"{BUTTON}:{row.id}:{row.raised}:{place.person}"
        draft = Draft(turn_id, key, place.person, place.address, text, buttons=buttons)
        letters.append((outbox.put(conn, draft, now), draft))
    return letters


def _question(
    pot: Pot, row: PotRow, unit: str, language: Language, now: dt.datetime, zone: str
) -> str:
    key, at = key_of(row, language), when(pot, now, zone)
    code = "budget_ask_run" if pot.kind == "run" else "budget_ask"
    return say(code, language, kind=row.kind, key=key, size=size(pot, unit, language), at=at)


def pressed(
    conn: Connection, asked: "Asked", operators: Sequence[str], setting: str
) -> tuple[str, Letters, list[tuple[str, str]]]:
    """An operator's button: what is said to who pressed, the messages of all operators as they are from now on.

    Then come the conversations whose turn is open (and for whom), since they may have waited for this. Whether the
    person is an operator was judged before.
    """
    language, now = asked.language, asked.now
    number, _, verdict = asked.route.rest.partition(":")
    row = ledger.pot(conn, int(number)) if number.isdecimal() and len(number) < 19 else None
    if row is None or not row.asked or verdict not in {"yes", "no"}:
        return say("budget_gone", language), [], []
    if verdict == "yes":
        ledger.mark(conn, row.id, raised=row.raised + 1, asked=0, warned=False)
    else:
        ledger.mark(conn, row.id, asked=0, denied=True)
    code = "budget_was_raised" if verdict == "yes" else "budget_was_denied"
    name = asked.name or asked.person
    letters = _rewritten(conn, row, places(conn, operators, setting), code, name, now)
    return say("budget_taken", language), letters, inbox.open_conversations(conn)


def _rewritten(
    conn: Connection,
    row: PotRow,
    told: Sequence[Place],
    code: str,
    name: str,
    now: dt.datetime,
) -> Letters:
    """Every operator's message without its buttons, with what was decided below it."""
    letters: Letters = []
    for place in told:
        key = f"{BUTTON}:{row.id}:{row.raised}:{place.person}"
        mine = (_OUTBOX.c.turn_id == row.asked, _OUTBOX.c.key == key)
        found = conn.execute(select(_OUTBOX.c.body, _OUTBOX.c.lane).where(*mine)).first()
        if found is None:
            continue
        text = f"{json.loads(found.body)['text']}\n\n{say(code, place.language, name=name)}"
        draft = Draft(row.asked, key, place.person, Address.parse(found.lane), text)
        row_id = outbox.rewrite(conn, draft, now)
        if row_id is not None:
            letters.append((row_id, draft))
    return letters
