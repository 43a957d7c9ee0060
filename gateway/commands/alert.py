"""/alert: be told here when a price, a move or an indicator gets there.

Prices are asked for before the transaction of the command (`AlertDesk.look`); what they say comes in `Asked.looked`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.storage import alerts as rows
from agent_core.tools.alerts import NewAlert
from gateway.alerts import alerts
from gateway.alerts.alerts import MAX_OPEN, Place
from gateway.commands.session import how_to
from gateway.people import identity
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

LIST = frozenset({"", "list", "列表"})
_REMOVE = frozenset({"remove", "cancel", "delete", "删除", "取消"})
_ADD = frozenset({"add", "添加", "新增"})


def handlers() -> dict[str, Callable[[Connection, "Asked"], str]]:
    """The commands of this file by name."""
    return {"alert": _alert}


def rule_in(rest: str) -> str:
    """The words of a new alert in what follows /alert; "" where none is asked for."""
    first, _, more = rest.partition(" ")
    if first.lower() in LIST or first.lower() in _REMOVE:
        return ""
    return more.strip() if first.lower() in _ADD else rest


def _alert(conn: Connection, asked: "Asked") -> str:
    first, _, rest = asked.route.rest.partition(" ")
    place = Place(asked.lane.id, asked.person, identity.principal_of(conn, asked.person))
    if first.lower() in LIST:
        return _list(conn, asked, place)
    if first.lower() in _REMOVE:
        return _remove(conn, asked, place, rest.strip().lstrip("#"))
    if isinstance(asked.looked, str):
        return asked.looked
    if not isinstance(asked.looked, NewAlert):
        return how_to("alert", asked)
    return _add(conn, asked, place, asked.looked)


def _add(conn: Connection, asked: "Asked", place: Place, new: NewAlert) -> str:
    kept = alerts.add(conn, place, new, asked.language, asked.now)
    if kept is None:
        return say("alert_many", asked.language, limit=MAX_OPEN)
    last = new.series.history
    code = "alert_set_repeat" if kept.condition.get("repeat") else "alert_set"
    now = f"{new.last_close:,.2f} {last.currency} ({last.as_of})"
    text = say(code, asked.language, text=kept.text, now=now, id=kept.id)
    return f"{text}\n\n⚠️ {new.remarks}" if new.remarks else text


def _list(conn: Connection, asked: "Asked", place: Place) -> str:
    """The person's own ones of this place: what is private elsewhere is not shown in a group."""
    mine = rows.of_place(conn, place.owner, place.conversation_id)
    if not mine:
        return say("alert_none", asked.language)
    lines = []
    for one in mine:
        marks = [say("alert_repeats", asked.language)] if one.condition.get("repeat") else []
        marks += [say("alert_holds", asked.language)] if one.state == "fired" else []
        lines.append(f"- {one.id} · {' · '.join([one.text, *marks])}")
    return "\n".join(lines)


def _remove(conn: Connection, asked: "Asked", place: Place, number: str) -> str:
    if not number:
        return how_to("alert", asked)
    fits = number.isascii() and number.isdecimal() and len(number) < 19
    if not fits or not alerts.remove(conn, place, int(number)):
        return say("alert_unknown", asked.language, id=number[:20])
    return say("alert_removed", asked.language, id=number)
