"""/link: the same person on two platforms. The code goes one way, the confirmation comes back the other."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from channels.types import Button
from gateway.inbound import conversation
from gateway.inbound.conversation import Lane
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.people import links
from gateway.people.identity import Language, known, language_of
from gateway.storage.tables import Outbox
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
KEY = "link"  # of the outbox rows
_REMOVE = frozenset({"remove", "解除"})


def handlers() -> dict[str, Callable[[Connection, "Asked"], str]]:
    """The commands of this file by name."""
    return {"link": _link}


def _link(conn: Connection, asked: "Asked") -> str:
    if not asked.lane.private:
        return say("link_private", asked.language)
    wanted = asked.route.rest
    if wanted.lower() in _REMOVE:
        return _removed(conn, asked)
    return _claimed(conn, asked, wanted.upper()) if wanted else _code(conn, asked)


def _code(conn: Connection, asked: "Asked") -> str:
    code = links.new_code(conn, asked.person, asked.now)
    text = say("link_code", asked.language, code=code, minutes=links.MINUTES)
    others = links.linked(conn, asked.person)
    if others:
        text = say("link_now", asked.language, others=", ".join(others)) + "\n\n" + text
    return text


def _removed(conn: Connection, asked: "Asked") -> str:
    withdrawn = links.withdraw(conn, asked.person, asked.now)
    others = links.remove(conn, asked.person)
    if not others:
        return say("link_refused" if withdrawn else "link_none", asked.language)
    return say("link_removed", asked.language, others=", ".join(others))


def _claimed(conn: Connection, asked: "Asked", code: str) -> str:
    owner = links.owner_of(conn, code, asked.now)
    if owner is None:
        return say("link_unknown", asked.language)
    if owner == asked.person:
        return say("link_self", asked.language)
    if links.linked(conn, asked.person):
        return say("link_already", asked.language)
    place = _place(conn, owner)
    if place is None:
        return say("link_unknown", asked.language)
    links.claim(conn, code, asked.person, asked.now)
    asked.also.append(_question(conn, asked, code, owner, place))
    return say("link_asked", asked.language, person=owner)


def _question(conn: Connection, asked: "Asked", code: str, owner: str, place: Lane) -> Draft:
    language = _language(conn, owner, asked.language)
    name = " ".join(links.name_of(conn, asked.person).split())[:64]
    return Draft(
        asked.row_id,
        KEY,
        owner,
        place.address,
        say("link_confirm", language, name=_plain(name), person=asked.person),
        buttons=(
            Button(say("link_yes", language), f"link:{code}:yes", "primary"),
            Button(say("link_no", language), f"link:{code}:no"),
        ),
    )


def pressed(conn: Connection, asked: "Asked") -> tuple[str, tuple[tuple[int, Draft], ...]]:
    """The answer to the question above, by its button; the other side is told, too.

    Returns what the presser reads, and the question's message, rewritten to say it without buttons.
    """
    code, _, answer = asked.route.rest.partition(":")
    pair = links.settle(conn, code, asked.person, asked.now, agreed=answer == "yes")
    if pair is None:
        return say("not_open", asked.language), ()
    text = "link_done" if answer == "yes" else "link_refused"
    place = _place(conn, pair.second)
    if place is not None:
        language = _language(conn, pair.second, asked.language)
        told = say(text, language, one=pair.second, other=pair.first)
        asked.also.append(Draft(asked.row_id, KEY, pair.second, place.address, told))
    said = say(text, asked.language, one=pair.first, other=pair.second)
    return said, _rewritten(conn, asked, code, said)


def _rewritten(
    conn: Connection, asked: "Asked", code: str, said: str
) -> tuple[tuple[int, Draft], ...]:
    query = select(_OUTBOX.c.turn_id).where(
        _OUTBOX.c.lane == str(asked.lane.address),
        _OUTBOX.c.key == KEY,
        _OUTBOX.c.body.contains(f"link:{code}:", autoescape=True),
    )
    asked_by = conn.execute(query.order_by(_OUTBOX.c.id.desc()).limit(1)).scalar()
    if asked_by is None:
        return ()
    draft = Draft(asked_by, KEY, asked.person, asked.lane.address, said)
    row_id = outbox.rewrite(conn, draft, asked.now)
    return () if row_id is None else ((row_id, draft),)


def _place(conn: Connection, person: str) -> Lane | None:
    found = links.place_of(conn, person)
    return None if found is None else conversation.find(conn, found)


def _language(conn: Connection, person: str, otherwise: Language) -> Language:
    own = known(conn, person).language
    return language_of("", None, own) if own else otherwise


def _plain(name: str) -> str:
    """A name as text: nothing in it is markup or passes for an id."""
    kept = "".join(c for c in name if c.isalnum() or c in " .-_'")
    return kept.replace("_", "\\_").strip() or "?"
