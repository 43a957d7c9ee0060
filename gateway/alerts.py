"""Alerts in the database: made by a turn or a command, fired once for their bar (agent_core/finance/alert_rules.py).

A firing is an inbox row whose key names the alert and the day of its bar, so that it happens once, also across
restarts; the same transaction moves the alert on, notes the signal in the person's book (RMB-2) and puts the message
into the outbox of the conversation in which the alert was made.

States: `pending` waits; `fired` holds already and waits until it is not so; `done` was told for good.
"""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select

from agent_core.book import Alert, Event
from agent_core.finance import alert_rules, alert_words
from agent_core.finance.alert_rules import Verdict
from agent_core.storage import alerts as rows
from agent_core.storage import portfolio
from agent_core.storage.alerts import Owned
from agent_core.tools.alerts import NewAlert
from channels.types import Author, Inbound, Kind
from gateway import conversation, inbox, outbox
from gateway.draft import Draft
from gateway.identity import known, language_of
from gateway.tables import Inbox, InboxStatus
from gateway.texts import say

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
MAX_OPEN = 50  # alerts of one person
PERSON, SPOKEN = (
    "person",
    "language",
)  # beside the rule: who is told, and in which language it was asked for


@dataclass(frozen=True, slots=True)
class Place:
    """Where an alert is made, and by whom; `owner` is the principal whose book it is in."""

    conversation_id: str
    person: str
    owner: str


def place_of_turn(conn: Connection, turn_id: int) -> Place | None:
    """Where a turn runs and for whom; None for one that is not known."""
    query = select(_INBOX.c.conversation_id, _INBOX.c.author).where(_INBOX.c.id == turn_id)
    row = conn.execute(query).first()
    if row is None:
        return None
    return Place(row.conversation_id, row.author, known(conn, row.author).principal)


def add(
    conn: Connection, place: Place, new: NewAlert, language: str, now: dt.datetime
) -> Alert | None:
    """Keep an alert; None where the person has as many as may be."""
    if rows.count(conn, place.owner) >= MAX_OPEN:
        return None
    condition = new.condition | {PERSON: place.person, SPOKEN: language}
    alert = Alert(new.text, now, new.symbol.id, condition, new.state, place.conversation_id)
    return replace(alert, id=portfolio.put(conn, place.owner, alert))


def remove(conn: Connection, place: Place, alert_id: int) -> bool:
    """Take a person's own alert of this conversation off; False where there is none."""
    mine = rows.of_place(conn, place.owner, place.conversation_id)
    if not any(alert.id == alert_id for alert in mine):
        return False
    return portfolio.remove(conn, place.owner, Alert, alert_id)


def settle(
    conn: Connection, owned: Owned, verdict: Verdict, currency: str, now: dt.datetime, setting: str
) -> tuple[int, Draft] | None:
    """Move an alert to where its bars have brought it, and tell of it if it fired. Returns the outbox row."""
    alert, watch = owned.alert, verdict.watch
    kept = {name: alert.condition[name] for name in (PERSON, SPOKEN) if name in alert.condition}
    over = verdict.hit is not None and not watch.repeat
    state = "done" if over else ("pending" if watch.armed else "fired")
    changed = alert_rules.stored(watch) | kept
    if state == alert.state and changed == alert.condition:
        return None
    if not rows.change(conn, alert, state=state, condition=changed) or verdict.hit is None:
        return None
    return _tell(conn, owned, verdict, currency, now, setting)


def _tell(
    conn: Connection, owned: Owned, verdict: Verdict, currency: str, now: dt.datetime, setting: str
) -> tuple[int, Draft] | None:
    alert, hit = owned.alert, verdict.hit
    person = str(alert.condition.get(PERSON, owned.owner))
    lane, who = conversation.find(conn, alert.conversation_id), known(conn, person)
    if hit is None or lane is None or who.revoked:
        return None
    slot = f"alert:{alert.id}:{hit.day}"
    due = Inbound(
        address=lane.address,
        key=slot,
        author=Author(person.partition(":")[2]),
        text=alert.text,
        at=now,
        kind=Kind.DUE,
        private=lane.private,
    )
    row_id = inbox.insert_row(conn, due, lane.id, person, InboxStatus.DONE, now)
    if row_id is None:
        return None  # this bar was told of already
    language = language_of("", _spoken(alert.condition), setting, who.language)
    so = alert_words.told(verdict.watch, hit, language, currency)
    level = "logic tool" if verdict.watch.rule.kind == "indicator" else "objective fact"
    event = Event("signal", f"{alert.text}: {so}", now, (alert.symbol,), "alert", level)
    portfolio.put(conn, owned.owner, event)
    again = say("alert_again" if verdict.watch.repeat else "alert_over", language, id=alert.id)
    text = say("alert_fired", language, text=alert.text, so=so, more=again)
    draft = Draft(row_id, "alert", person, lane.address, text)
    return outbox.put(conn, draft, now), draft


def _spoken(condition: dict[str, Any]) -> str | None:
    found = condition.get(SPOKEN)
    return found if isinstance(found, str) else None
