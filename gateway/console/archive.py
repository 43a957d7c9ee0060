"""What a model no longer sees of a session, and how to read it back: as `swarmgate archive` shows it."""

import datetime as dt
from dataclasses import asdict, dataclass

from sqlalchemy import Connection

from agent_core.compaction import archive as references
from agent_core.compaction.archive_index import entry
from agent_core.storage.sessions import dated_checkpoints
from gateway.console.calls import Call, Nothing, missing
from gateway.console.transcript import Head, head_of
from gateway.memory.archive import restore
from gateway.redact import Redactor

REFS = 40  # that are listed of one decision


@dataclass(frozen=True, slots=True)
class Condensed:
    """One decision about the view. `before` and `after` are estimated tokens of the request, 0 where not counted."""

    kind: str
    at: dt.datetime
    refs: list[str]
    before: int
    after: int
    topic: str
    text: str
    facts: list[str]
    keywords: list[str]


@dataclass(frozen=True, slots=True)
class Archive:
    """The page, newest first."""

    session: Head
    entries: list[Condensed]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a reference stands for, whole."""

    session: Head
    ref: str
    source: str
    credibility: str
    text: str


async def read(call: Call[Nothing]) -> Archive:
    """The list."""
    session_id, redactor = call.path["id"], call.house.redactor
    return await call.house.core.db.read(lambda conn: _page(conn, session_id, redactor))


async def show(call: Call[Nothing]) -> Restored:
    """One reference."""
    session_id, redactor = call.path["id"], call.house.redactor
    ref = references.parse(call.path["ref"])
    if ref is None or ref.session:
        raise missing()

    def work(conn: Connection) -> Restored:
        head = head_of(conn, session_id)
        found = restore(conn, ref, session_id, lambda _: True, everything=True)
        if found is None:
            raise missing()
        text = redactor.text(found.text)
        return Restored(head, found.ref, found.source, found.credibility, text)

    return await call.house.core.db.read(work)


def _page(conn: Connection, session_id: str, redactor: Redactor) -> Archive:
    head = head_of(conn, session_id)
    found = []
    for made, at in reversed(dated_checkpoints(conn, session_id)):
        kept = entry(made)
        if kept is None:
            continue
        body = kept.summary
        facts = [redactor.text(str(asdict(fact)["text"])) for fact in body.facts] if body else []
        found.append(
            Condensed(
                kept.kind,
                at,
                list(kept.refs[:REFS]),
                body.before if body else 0,
                body.after if body else 0,
                body.topic if body else "",
                redactor.text(body.text) if body else "",
                facts,
                list(body.keywords) if body else [],
            )
        )
    return Archive(head, found)
