"""/remind: at a time, a message of the bot in the place where the person asked for it."""

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.tools.remind import Answer
from gateway.commands.session import how_to
from gateway.schedules import schedule
from gateway.schedules.remind_when import When, parse
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

MAX_ACTIVE = 50  # reminders of one person
MAX_CHARS = 1_000
MAX_YEARS = 5
_LIST = frozenset({"list", "列表"})
_CANCEL = frozenset({"cancel", "取消"})


def handlers() -> dict[str, Callable[[Connection, "Asked"], str]]:
    """The commands of this file by name."""
    return {"remind": lambda conn, asked: carry_out(conn, asked).text}


def carry_out(conn: Connection, asked: "Asked") -> Answer:
    """Do what the words of a command ask for, in the caller's transaction; the timer is to be waked after it."""
    first, _, rest = asked.route.rest.partition(" ")
    if first.lower() in _LIST:
        return Answer(_list(conn, asked))
    if first.lower() in _CANCEL:
        return _cancel(conn, asked, rest.strip().lstrip("#"))
    when = parse(asked.route.rest, asked.now, asked.zone)
    if when is None or not when.text:
        return Answer(how_to("remind", asked), done=False)
    if refusal := _refusal(conn, asked, when):
        return Answer(refusal, done=False)
    return Answer(_add(conn, asked, when))


def _refusal(conn: Connection, asked: "Asked", when: When) -> str:
    at = _shown(asked, when.at)
    if when.at <= asked.now:
        return say("remind_past", asked.language, at=at, zone=asked.zone)
    if when.at > asked.now + dt.timedelta(days=366 * MAX_YEARS):
        return say("remind_far", asked.language, at=at, years=MAX_YEARS)
    if len(when.text) > MAX_CHARS:
        return say("remind_long", asked.language, chars=len(when.text), limit=MAX_CHARS)
    if len(schedule.reminders(conn, asked.person)) >= MAX_ACTIVE:
        return say("remind_many", asked.language, limit=MAX_ACTIVE)
    return ""


def _add(conn: Connection, asked: "Asked", when: When) -> str:
    number = schedule.add_reminder(
        conn,
        owner=asked.person,
        conversation_id=asked.lane.id,
        text=when.text,
        at=when.at,
        timezone=asked.zone,
        now=asked.now,
    )
    at = _shown(asked, when.at)
    return say("remind_set", asked.language, at=at, zone=asked.zone, text=when.text, id=number)


def _list(conn: Connection, asked: "Asked") -> str:
    """The person's own ones of this place: what is private elsewhere is not shown in a group."""
    rows = schedule.reminders(conn, asked.person, asked.lane.id)
    if not rows:
        return say("remind_none", asked.language)
    return "\n".join(
        say(
            "remind_entry",
            asked.language,
            id=row.id,
            at=_shown(asked, row.next_at),
            text=" ".join(row.text.split()),
        )
        for row in rows
    )


def _cancel(conn: Connection, asked: "Asked", number: str) -> Answer:
    if not number:
        return Answer(how_to("remind", asked), done=False)
    fits = number.isascii() and number.isdecimal() and len(number) < 19
    if not fits or not schedule.cancel(conn, asked.person, int(number)):
        return Answer(say("remind_unknown", asked.language, id=number[:20]), done=False)
    return Answer(say("remind_cancelled", asked.language, id=number))


def _shown(asked: "Asked", at: dt.datetime) -> str:
    return f"{asked.local(at):%Y-%m-%d %H:%M}"
