"""Who may read what of the archive: the port of the agents, and what the commands read (ARC-4, ARC-7).

A run reads its own session with those of its sub-agents, and the other sessions of its owner; in a group its own
session alone, since what is read there is read by everybody. All that is refused is "not there", in the same way as
what does not exist.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.compaction import archive
from agent_core.compaction.archive import Ref
from agent_core.past import Restored
from agent_core.storage.blobs import RESULT_TYPE, load_result, names_result, results_like
from agent_core.storage.sessions import load_checkpoints
from agent_core.storage.statements import load_rows
from agent_core.storage.tables import Session
from agent_core.types import Checkpoint, Row
from gateway.people.identity import principal_of
from gateway.storage.db import Database
from gateway.storage.tables import Conversation

_SESSION = Session.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
May = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class SessionArchive:
    """See agent_core.ports.Archive."""

    db: Database

    async def read(self, owner: str, session_id: str, ref: str) -> Restored | None:
        """See agent_core.ports.Archive. Reads and puts together beside the event loop."""
        parsed = archive.parse(ref)
        if parsed is None:
            return None

        def work(conn: Connection) -> Restored | None:
            return restore(
                conn, parsed, session_id, lambda wanted: may_read(conn, owner, session_id, wanted)
            )

        return await self.db.read(work)


def may_read(conn: Connection, owner: str, session_id: str, wanted: str) -> bool:
    """Whether a run of `owner` in `session_id` may read the session `wanted`."""
    own, other = _root(session_id), _root(wanted)
    if own == other:
        return True
    if not _is_private(conn, own):
        return False
    found = conn.execute(select(_SESSION.c.owner).where(_SESSION.c.id == other)).scalar()
    return found is not None and (found == owner or principal_of(conn, found) == owner)


def restore(
    conn: Connection, ref: Ref, session_id: str, may: May, *, everything: bool = False
) -> Restored | None:
    """What a reference stands for, looked up in `session_id` unless it names another; None where `may` says no.

    `everything`: also what was taken back by /undo.
    """
    if ref.blob:
        return _whole(conn, ref, session_id, may)
    wanted = ref.session or session_id
    if not may(wanted):
        return None
    rows = load_rows(conn, wanted, ref.first - 1, until=ref.last)
    checkpoints: tuple[Checkpoint, ...] = () if everything else load_checkpoints(conn, wanted)
    found = archive.rows_of(rows, checkpoints, ref)
    if not found:
        return None
    return _restored(conn, ref, wanted, found)


def _restored(conn: Connection, ref: Ref, session_id: str, rows: tuple[Row, ...]) -> Restored:
    name = archive.full(session_id, ref)
    if not ref.single:
        return Restored(name, archive.text_of(rows))

    def whole(blob_id: str) -> str | None:
        data = load_result(conn, blob_id)
        return None if data is None else data.decode(errors="replace")

    text = archive.text_of(rows, headed=False, whole=whole)
    return Restored(name, text, archive.tool_of(rows[0]), archive.credibility_of(rows[0]))


def _whole(conn: Connection, ref: Ref, session_id: str, may: May) -> Restored | None:
    """A large result by its blob, whichever of the readable sessions it belongs to."""
    for found in results_like(conn, ref.blob):
        if may(found.session_id) or (may(session_id) and names_result(conn, session_id, ref.blob)):
            source = found.name.removesuffix(".txt")
            level = found.media_type.removeprefix(RESULT_TYPE).partition("credibility=")[2]
            text = found.data.decode(errors="replace")
            return Restored(archive.full(found.session_id, ref), text, source, level.strip('"'))
    return None


def _root(session_id: str) -> str:
    """The session that people lead; a sub-agent's is `<session>/<call id>`."""
    return session_id.partition("/")[0]


def _is_private(conn: Connection, session_id: str) -> bool:
    """Whether no group is at this session now."""
    query = select(_CONVERSATION.c.id).where(
        _CONVERSATION.c.session_id == session_id, _CONVERSATION.c.private.is_(False)
    )
    return conn.execute(query.limit(1)).first() is None
