"""/archive: what was condensed in this conversation, and what a reference stands for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.compaction import archive
from agent_core.compaction.archive_index import Entry, entry
from agent_core.past import Restored
from agent_core.ports import NewBlob
from agent_core.storage.sessions import dated_checkpoints
from agent_core.storage.statements import add_blob, blob_id
from agent_core.types import ArtifactRef
from gateway.inbound import sessions
from gateway.memory.archive import restore
from gateway.outbound.draft import Draft
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

Handler = Callable[[Connection, "Asked"], str]
LISTED = 15
REFS = 6  # shown of one entry
IN_CHAT = 3_000  # characters; more comes as a file


def handlers() -> dict[str, Handler]:
    """The commands of this file by name."""
    return {"archive": _archive}


def _archive(conn: Connection, asked: "Asked") -> str:
    wanted = asked.route.rest.strip()
    return _show(conn, asked, wanted) if wanted else _list(conn, asked)


def _list(conn: Connection, asked: "Asked") -> str:
    found = [
        (kept, at)
        for made, at in dated_checkpoints(conn, asked.lane.session_id)
        if (kept := entry(made)) is not None
    ]
    if not found:
        return say("archive_empty", asked.language)
    lines = [
        say(
            "archive_entry",
            asked.language,
            refs=_refs(kept),
            what=_what(kept, asked),
            at=f"{asked.local(at):%Y-%m-%d %H:%M}",
        )
        for kept, at in found[: -LISTED - 1 : -1]
    ]
    if len(found) > LISTED:
        lines.append(say("archive_more", asked.language, count=len(found) - LISTED))
    return "\n".join([say("archive_head", asked.language), "", *lines])


def _refs(kept: Entry) -> str:
    shown = " ".join(f"`{ref}`" for ref in kept.refs[:REFS])
    return shown + (f" +{len(kept.refs) - REFS}" if len(kept.refs) > REFS else "")


def _what(kept: Entry, asked: "Asked") -> str:
    words = say(f"archive_{kept.kind}", asked.language)
    topic = kept.summary.topic if kept.summary else ""
    return f"{words} ({topic})" if topic else words


def _show(conn: Connection, asked: "Asked", wanted: str) -> str:
    found = _find(conn, asked, wanted)
    if found is None:
        return say("archive_not_found", asked.language, ref=wanted[:60])
    ref, chars = found.ref.rpartition("/")[2], len(found.text)
    if chars > IN_CHAT:
        asked.also.append(_file(conn, asked, ref, found.text))
        return say("archive_file", asked.language, ref=ref, chars=chars)
    head = say("archive_shown", asked.language, ref=ref, chars=chars)
    return f"{head}\n\n{_fenced(found.text)}"


def _find(conn: Connection, asked: "Asked", wanted: str) -> Restored | None:
    """Only of this place's sessions: in a chat nobody reaches into another one by a reference."""
    ref = archive.parse(wanted)
    if ref is None:
        return None
    here = [item.id for item in sessions.of_place(conn, asked.lane)]
    session = asked.lane.session_id
    if ref.session:
        head, slash, child = ref.session.partition("/")
        fitting = [s for s in here if s == head] or [s for s in here if s.startswith(head)]
        if len(fitting) != 1:
            return None
        session = fitting[0] + slash + child
    own = archive.Ref("", ref.first, ref.last, ref.blob)
    return restore(conn, own, session, lambda s: s.partition("/")[0] in here, everything=True)


def _fenced(text: str) -> str:
    """As it was written, whatever marks it holds."""
    longest = max((len(run) for run in text.split("\n") if set(run.strip()) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _file(conn: Connection, asked: "Asked", ref: str, text: str) -> Draft:
    data = text.encode()
    owner = asked.person
    blob = NewBlob(blob_id(owner, data), f"archive-{ref}.txt", "text/plain", data)
    add_blob(conn, owner=owner, session_id=asked.lane.session_id, blob=blob, now=asked.now)
    files = (ArtifactRef(blob.id, blob.name, blob.media_type),)
    return Draft(asked.row_id, "archive", asked.person, asked.lane.address, f"`{ref}`", files)
