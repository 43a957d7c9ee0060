"""Alerts in the database: made by a turn or a command, fired once for their bar (agent_core/finance/alert_rules.py).

A firing is an inbox row whose key names the alert and the day of its bar, so that it happens once, also across
restarts; the same transaction moves the alert on, notes the signal in the person's book (RMB-2) and puts the message
into the outbox of the conversation in which the alert was made.

States: `pending` waits; `fired` holds already and waits until it is not so; `done` was told for good.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select

from agent_core.book import Alert, Event
from agent_core.finance import alert_rules, alert_words
from agent_core.finance.alert_rules import Verdict
from agent_core.storage import alerts as rows
from agent_core.storage import portfolio
from agent_core.storage.alerts import Owned
from agent_core.tools.alerts import BLIND, NewAlert
from channels.types import Author, Inbound, Kind
from gateway.inbound import conversation, inbox
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.people.identity import Language, known, language_of
from gateway.storage.tables import Inbox, InboxStatus
from gateway.texts.texts import say

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


@dataclass(frozen=True, slots=True)
class Look:
    """What alerts of a symbol are settled by. `dead`: its prices have ended, or cannot be had any more."""

    now: dt.datetime
    currency: str = ""
    dead: bool = False
    setting: str = "auto"


def settle(
    conn: Connection, owned: Owned, verdict: Verdict, look: Look
) -> tuple[int, Draft] | None:
    """Move an alert to where its bars have brought it, and tell of it if it fired. Returns the outbox row.

    Prices that have ended are told of once, until there are newer ones.
    """
    alert, watch = owned.alert, verdict.watch
    kept = {name: alert.condition[name] for name in (PERSON, SPOKEN) if name in alert.condition}
    over = verdict.hit is not None and not watch.repeat
    state = "done" if over else ("pending" if watch.armed else "fired")
    changed = alert_rules.stored(watch) | kept | ({BLIND: True} if look.dead else {})
    if state == alert.state and changed == alert.condition:
        return None
    if not rows.change(conn, alert, state=state, condition=changed):
        return None
    if verdict.hit is not None:
        return _tell_hit(conn, owned, verdict, look)
    if look.dead and not alert.condition.get(BLIND):
        return _tell(
            conn,
            owned,
            f"blind:{watch.seen}",
            look,
            lambda language: say(
                "alert_blind", language, text=alert.text, id=alert.id, day=watch.seen
            ),
        )
    return None


def _tell_hit(
    conn: Connection, owned: Owned, verdict: Verdict, look: Look
) -> tuple[int, Draft] | None:
    alert, hit, watch = owned.alert, verdict.hit, verdict.watch
    if hit is None:
        return None

    def words(language: Language) -> str:
        so = alert_words.told(watch, hit, language, look.currency)
        again = say("alert_again" if watch.repeat else "alert_over", language, id=alert.id)
        return say("alert_fired", language, text=alert.text, so=so, more=again)

    letter = _tell(conn, owned, str(hit.day), look, words)
    if letter is not None:
        so = alert_words.told(watch, hit, "en", look.currency)
        level = "logic tool" if watch.rule.kind == "indicator" else "objective fact"
        event = Event("signal", f"{alert.text}: {so}", look.now, (alert.symbol,), "alert", level)
        portfolio.put(conn, owned.owner, event)
    return letter


def _tell(
    conn: Connection, owned: Owned, slot: str, look: Look, words: Callable[[Language], str]
) -> tuple[int, Draft] | None:
    """A message where the alert was made, once for its slot."""
    alert = owned.alert
    person = str(alert.condition.get(PERSON, owned.owner))
    lane, who = conversation.find(conn, alert.conversation_id), known(conn, person)
    if lane is None or who.revoked:
        return None
    due = Inbound(
        address=lane.address,
        key=f"alert:{alert.id}:{slot}",
        author=Author(person.partition(":")[2]),
        text=alert.text,
        at=look.now,
        kind=Kind.DUE,
        private=lane.private,
    )
    row_id = inbox.insert_row(conn, due, lane.id, person, InboxStatus.DONE, look.now)
    if row_id is None:
        return None  # it was told already
    language = language_of("", _spoken(alert.condition), look.setting, who.language)
    draft = Draft(row_id, "alert", person, lane.address, words(language))
    return outbox.put(conn, draft, look.now), draft


def _spoken(condition: dict[str, Any]) -> str | None:
    found = condition.get(SPOKEN)
    return found if isinstance(found, str) else None
