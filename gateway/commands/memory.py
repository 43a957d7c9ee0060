"""/memory: what is remembered of a person, in the person's own hands (MEM-16, MEM-19, OBS-1).

Owner and place are never taken from what somebody writes: a person sees and changes their own rows, in a group only
those of that group.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.ports import NewBlob
from agent_core.storage import upkeep
from agent_core.storage.statements import add_blob, blob_id
from agent_core.storage.upkeep import Entry
from agent_core.types import ArtifactRef
from gateway.memory import book as memory_book
from gateway.memory import signals as memory_signals
from gateway.memory.book import Origin, shown
from gateway.outbound.draft import Draft
from gateway.people.identity import principal_of
from gateway.texts.texts import has, say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

Handler = Callable[[Connection, "Asked"], str]
LISTED = 15
LINE_CHARS = 120
EDIT_CHARS = 500  # RMB-3: as long as what `remember` takes
VERSION_CHARS = 300
_SEARCH = frozenset({"search", "find", "搜索", "查找"})
_SHOW = frozenset({"show", "trace", "查看"})
_EDIT = frozenset({"edit", "修改", "改"})
_FORGET = frozenset({"forget", "delete", "删除", "忘记"})
_EXPORT = frozenset({"export", "导出"})


@dataclass(frozen=True, slots=True)
class Sight:
    """What may be seen of whom: in private all of the owner's scopes, in a group that one."""

    owner: str
    scope: str | None


def handlers() -> dict[str, Handler]:
    """The commands of this file by name."""
    return {"memory": _memory}


def sight(conn: Connection, asked: "Asked") -> Sight:
    """Whose memories this person sees here, linked identities as one."""
    scope = None if asked.lane.private else asked.lane.id
    return Sight(principal_of(conn, asked.person), scope)


def _memory(conn: Connection, asked: "Asked") -> str:
    name, _, rest = asked.route.rest.partition(" ")
    name, rest, here = name.lower(), rest.strip(), sight(conn, asked)
    if not name or (name == "list" and not rest):
        return _list(conn, asked, here)
    if name in _SEARCH and rest:
        return _search(conn, asked, here, rest)
    if name in _EXPORT and not rest:
        return _export(conn, asked, here)
    number, _, words = rest.partition(" ")
    for names, act in ((_SHOW, _show), (_FORGET, _delete), (_EDIT, _edit)):
        if name in names and number and (act is _edit) == bool(words.strip()):
            return _one(conn, asked, here, number, words.strip(), act)
    return say("how_to", asked.language, use=say("use_memory", asked.language))


def _list(conn: Connection, asked: "Asked", here: Sight) -> str:
    found = upkeep.entries(conn, here.owner, scope=here.scope)
    where = "" if here.scope is None else "_here"
    if not found:
        return say(f"memory_empty{where}", asked.language)
    return _lines(say(f"memory_head{where}", asked.language), found, asked)


def _search(conn: Connection, asked: "Asked", here: Sight, wanted: str) -> str:
    found = memory_book.search(upkeep.entries(conn, here.owner, scope=here.scope), wanted)
    if not found:
        return say("memory_not_found", asked.language)
    return _lines(say("memory_found", asked.language), found, asked)


def _lines(head: str, found: list[Entry], asked: "Asked") -> str:
    lines = [_line(entry, asked) for entry in found[:LISTED]]
    if len(found) > LISTED:
        lines.append(say("memory_more", asked.language, count=len(found) - LISTED))
    return "\n".join([head, "", *lines])


def _line(entry: Entry, asked: "Asked") -> str:
    marks = [code.rpartition(":")[2] for code in entry.codes[:4]]
    if entry.level != "raw":
        marks.append(_named("length", entry.level, asked))
    return say(
        "memory_entry",
        asked.language,
        id=entry.id,
        kind=_named("kind", entry.kind, asked),
        at=f"{asked.local(entry.confirmed_at or entry.created_at):%Y-%m-%d}",
        marks="".join(f" · {mark}" for mark in marks),
        text=shown(entry.text, LINE_CHARS),
    )


def _named(what: str, value: str, asked: "Asked") -> str:
    """A kind, a length or a level of belief for people; one that has no name stands as it is."""
    code = f"memory_{what}_{value.replace(' ', '_')}"
    return say(code, asked.language) if has(code) else value


Act = Callable[[Connection, "Asked", Entry, str], str]


def _one(conn: Connection, asked: "Asked", here: Sight, number: str, words: str, act: Act) -> str:
    """What concerns one memory; somebody else's is as unknown as one that does not exist."""
    number = number.removeprefix("#")
    plain = number.isascii() and number.isdecimal() and len(number) < 19
    found = upkeep.entry(conn, here.owner, int(number), scope=here.scope) if plain else None
    if found is None:
        return say("memory_unknown", asked.language, id=number[:20])
    return act(conn, asked, found, words)


def _show(conn: Connection, asked: "Asked", found: Entry, _words: str) -> str:
    language = asked.language
    facts = [
        *_origin(memory_book.origin(conn, found), asked),
        say(
            "memory_level",
            language,
            credibility=_named("belief", found.credibility, asked),
            level=_named("length", found.level, asked),
        ),
        say("memory_dates", language, at=_at(found.created_at, asked), count=found.access_count),
    ]
    if found.codes:
        facts.append(say("memory_symbols", language, codes=", ".join(found.codes)))
    if found.valid_until:
        facts.append(say("memory_until", language, at=_at(found.valid_until, asked)))
    if found.scope != "private" and asked.lane.private:
        facts.append(say("memory_place", language, scope=found.scope))
    facts += [
        say(
            "memory_version",
            language,
            level=_named("length", kept.level.partition(".")[0], asked),
            at=_at(kept.at, asked),
            text=shown(kept.text, VERSION_CHARS),
        )
        for kept in upkeep.versions(conn, found.owner, found.id)
    ]
    return say(
        "memory_shown",
        language,
        id=found.id,
        kind=_named("kind", found.kind, asked),
        state=say(f"memory_{found.state}", language),
        text=_quoted(found.text),
        facts="\n".join(facts),
    )


def _origin(origin: Origin, asked: "Asked") -> list[str]:
    """Where it comes from; a group is not told the title of a private conversation."""
    language = asked.language
    lines = []
    if origin.session and origin.at is None:
        lines.append(say("memory_source_gone", language, session=origin.session[:7]))
    elif origin.session and origin.at is not None:
        title = origin.title if asked.lane.private and origin.title else say("untitled", language)
        at = _at(origin.at, asked)
        lines.append(
            say("memory_source_chat", language, title=title, session=origin.session[:7], at=at)
        )
    else:
        lines.append(say("memory_source", language, source=origin.source))
    if origin.memories:
        ids = ", ".join(str(i) for i in origin.memories)
        lines.append(say("memory_source_layer", language, ids=ids))
    return lines


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _at(at: dt.datetime, asked: "Asked") -> str:
    return f"{asked.local(at):%Y-%m-%d %H:%M}"


def _edit(conn: Connection, asked: "Asked", found: Entry, words: str) -> str:
    if len(words) > EDIT_CHARS:
        return say("memory_edit_long", asked.language, limit=EDIT_CHARS, chars=len(words))
    upkeep.edit(conn, found, words, asked.now)
    memory_signals.note(conn, found.owner, found.id, "confirm", asked.lane.session_id)
    return say("memory_edited", asked.language, id=found.id, text=words)


def _delete(conn: Connection, asked: "Asked", found: Entry, _words: str) -> str:
    upkeep.remove(conn, found.owner, [found.id])
    return say("memory_forgotten", asked.language, id=found.id)


def _export(conn: Connection, asked: "Asked", here: Sight) -> str:
    exported = memory_book.export(conn, here.owner, scope=here.scope)
    count = len(exported["memories"])
    if not count:
        return say("memory_empty", asked.language)
    data = memory_book.dumped(exported).encode()
    blob = NewBlob(blob_id(here.owner, data), "memory.json", "application/json", data)
    add_blob(conn, owner=here.owner, session_id=asked.lane.session_id, blob=blob, now=asked.now)
    files = (ArtifactRef(blob.id, blob.name, blob.media_type),)
    said = Draft(asked.row_id, "memory", asked.person, asked.lane.address, blob.name, files)
    asked.also.append(said)
    return say("memory_exported", asked.language, count=count)
