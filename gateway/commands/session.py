"""The commands of sessions and of how the bot speaks: /new /sessions /resume /fork /undo /retry /thinking /language."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, update

from gateway.inbound import conversation, sessions
from gateway.memory.learning_jobs import session_ends
from gateway.outbound.draft import Draft
from gateway.people.identity import language_of
from gateway.storage.tables import Person
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

_PERSON = Person.__table__  # type: ignore[attr-defined]
Handler = Callable[[Connection, "Asked"], str]
WORDS_CHARS = 80


def handlers() -> dict[str, Handler]:
    """The commands of this file by name."""
    return {
        "sessions": _sessions,
        "resume": _resume,
        "fork": _fork,
        "undo": _undo,
        "retry": _retry,
        "thinking": _thinking,
        "language": _language,
    }


def new(conn: Connection, asked: "Asked", *, archives: bool) -> str:
    """/new. `archives`: the place is a thread of the bot's own, which ends with its session and is put away."""
    session_ends(conn, asked.lane, asked.now)
    conversation.renew(conn, asked.lane, asked.person, asked.now)
    if not archives:
        return say("new", asked.language)
    place = asked.lane.address
    asked.also.append(Draft(asked.row_id, "close", asked.person, place, "", closes=True))
    return say("closed", asked.language)


def how_to(name: str, asked: "Asked") -> str:
    """The usage of a command, for who used it wrongly."""
    return say("how_to", asked.language, use=say(f"use_{name}", asked.language))


def _title(title: str, asked: "Asked") -> str:
    return title or say("untitled", asked.language)


def _sessions(conn: Connection, asked: "Asked") -> str:
    found = sessions.of_place(conn, asked.lane)
    lines = [
        say(
            "sessions_entry",
            asked.language,
            id=entry.short,
            title=_title(entry.title, asked),
            at=f"{asked.local(entry.last_at):%Y-%m-%d %H:%M}",
            here=say("sessions_here", asked.language) if entry.current else "",
        )
        for entry in found[: sessions.LISTED]
    ]
    if len(found) > sessions.LISTED:
        lines.append(say("sessions_more", asked.language, count=len(found) - sessions.LISTED))
    return "\n".join([say("sessions_head", asked.language), "", *lines])


def _resume(conn: Connection, asked: "Asked") -> str:
    wanted = asked.route.rest
    if not wanted:
        return how_to("resume", asked)
    entry = sessions.resume(conn, asked.lane, wanted)
    if entry is None:
        return say("resume_unknown", asked.language, id=wanted[: sessions.SHORT * 3])
    if not entry.current:
        session_ends(conn, asked.lane, asked.now)
    return say("resumed", asked.language, id=entry.short, title=_title(entry.title, asked))


def _fork(conn: Connection, asked: "Asked") -> str:
    old = asked.lane.session_id
    new = sessions.fork(conn, asked.lane, asked.person, asked.now)
    if new is None:
        return say("fork_empty", asked.language)
    session_ends(conn, asked.lane, asked.now)
    return say("forked", asked.language, id=new[: sessions.SHORT], old=old[: sessions.SHORT])


def _undo(conn: Connection, asked: "Asked") -> str:
    words = sessions.undo(conn, asked.lane, asked.now)
    if words is None:
        return say("nothing_to_undo", asked.language)
    first = " ".join(words.split())
    first = first if len(first) <= WORDS_CHARS else first[: WORDS_CHARS - 1] + "…"
    return say("undone", asked.language, words=_title(first, asked))


def _retry(_conn: Connection, asked: "Asked") -> str:
    """Only reached when nothing could be asked again: otherwise the row became a turn (engine/begin.py)."""
    return say("nothing_to_retry", asked.language)


def _thinking(conn: Connection, asked: "Asked") -> str:
    on = {"on": True, "开": True, "off": False, "关": False}.get(asked.route.rest.lower())
    if on is None:
        return how_to("thinking", asked)
    conversation.choose(conn, asked.lane.id, thinking=on)
    return say("thinking_on" if on else "thinking_off", asked.language)


def _language(conn: Connection, asked: "Asked") -> str:
    wanted = {"中文": "zh", "english": "en", "英文": "en", "自动": "auto"}.get(
        asked.route.rest.lower(), asked.route.rest.lower()
    )
    if wanted not in ("en", "zh", "auto"):
        return how_to("language", asked)
    own = "" if wanted == "auto" else wanted
    conn.execute(update(_PERSON).where(_PERSON.c.id == asked.person).values(language=own))
    if not own:
        return say("language_auto", asked.language)
    return say("language_set", language_of("", None, own))
