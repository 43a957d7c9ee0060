"""Which jobs of learning there are, where they are put, and what each is about (MEM-5, MEM-12, MEM-13, MEM-14).

A job is put in the transaction that makes it due: the one that leaves a session, or that stores a summary. The
transcript never changes, so it can be read later; `last` bounds it, so that what is said meanwhile is a job of its own.
"""

import datetime as dt
import json

from sqlalchemy import Connection, bindparam, select

from agent_core.compaction.view import View
from agent_core.memory.learn import Material
from agent_core.storage import pending
from agent_core.storage.memories import PRIVATE
from agent_core.storage.pending import Job
from agent_core.storage.prepared import Prepared
from agent_core.storage.sessions import load_checkpoints
from agent_core.storage.statements import last_seq, load_rows
from agent_core.storage.tables import Transcript, Turn
from agent_core.types import Checkpoint
from gateway.inbound.conversation import Lane
from gateway.people.identity import principal_of
from gateway.storage.tables import Conversation
from gateway.turns.found import UNLEARNT

_TURN = Turn.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
# Asked of each turn that is indexed.
_FIRST_META = Prepared(
    select(_TRANSCRIPT.c.meta)
    .where(
        _TRANSCRIPT.c.session_id == bindparam("session"), _TRANSCRIPT.c.turn_id == bindparam("turn")
    )
    .order_by(_TRANSCRIPT.c.seq)
    .limit(1)
)


def session_ends(conn: Connection, lane: Lane, now: dt.datetime) -> None:
    """Put what is to be learnt of the session that a conversation leaves, in the transaction that leaves it."""
    put_session(conn, lane.session_id, PRIVATE if lane.private else lane.id, now)


def put_session(
    conn: Connection, session_id: str, scope: str, at: dt.datetime, *, layers: bool = True
) -> None:
    """A job for each person whose turns the session has; none where nothing was said."""
    query = select(_TURN.c.principal).where(_TURN.c.session_id == session_id).distinct()
    found = sorted({principal_of(conn, p) for p in conn.execute(query).scalars().all()})
    body = {"session": session_id, "layers": layers, "last": last_seq(conn, session_id)}
    for owner in found:
        pending.put(conn, Job(owner, "extract", body, scope), at)


def condensed(
    conn: Connection, owner: str, session_id: str, made: Checkpoint, now: dt.datetime
) -> None:
    """Put what is to be learnt of the rows that a summary stands for; commits with it, or not at all (MEM-14).

    Only the rows of `owner` are read; a sub-agent's session has none.
    """
    if made.kind == "summary" and "/" not in session_id:
        body = {"session": session_id, "last": made.until - 1, "head": True}
        pending.put(conn, Job(owner, "extract", body, scope_of(conn, session_id)), now)


def material_of(conn: Connection, job: Job) -> Material:
    """What an "extract" job is about: rows of the owner's turns, without what /undo took back.

    Turns whose preset let nothing be remembered are left out.
    """
    session_id: str = job.body["session"]
    last: int = job.body["last"]
    made = load_checkpoints(conn, session_id)
    rows = load_rows(conn, session_id, until=last)
    mine = turns_of(conn, job.owner, session_id) - {r.turn_id for r in rows if UNLEARNT in r.meta}
    view = View.of(rows, [c for c in made if c.kind == "undo"])
    kept = [r for r in view.visible if r.turn_id in mine]
    after = _condensed_before(made, last) if job.body.get("head") else None
    return Material(job.owner, job.scope, session_id, kept, after)


def is_unlearnt(conn: Connection, session_id: str, turn_id: int) -> bool:
    """Whether the preset of a turn let nothing of it be remembered."""
    first = _FIRST_META.execute(conn, {"session": session_id, "turn": turn_id}).scalar()
    return first is not None and UNLEARNT in json.loads(first)


def scope_of(conn: Connection, session_id: str) -> str:
    """Where what is said in a session is recalled: in its group, else wherever its owner is in private."""
    query = select(_CONVERSATION.c.id).where(
        _CONVERSATION.c.session_id == session_id, _CONVERSATION.c.private.is_(False)
    )
    found: str | None = conn.execute(query.limit(1)).scalar()
    return found or PRIVATE


def is_current(conn: Connection, session_id: str) -> bool:
    """Whether a conversation is at this session now."""
    query = select(_CONVERSATION.c.id).where(_CONVERSATION.c.session_id == session_id)
    return conn.execute(query.limit(1)).first() is not None


def turns_of(conn: Connection, owner: str, session_id: str) -> frozenset[int]:
    """The turns whose rows a session has, copied ones among them, that were one person's."""
    here = select(_TRANSCRIPT.c.turn_id).where(_TRANSCRIPT.c.session_id == session_id).distinct()
    found = conn.execute(select(_TURN.c.id, _TURN.c.principal).where(_TURN.c.id.in_(here))).all()
    mine = {p for p in {row.principal for row in found} if principal_of(conn, p) == owner}
    return frozenset(row.id for row in found if row.principal in mine)


def _condensed_before(made: tuple[Checkpoint, ...], last: int) -> int:
    """The last row that a summary before this one stood for, 0 for none."""
    return max((c.until - 1 for c in made if c.kind == "summary" and c.until - 1 < last), default=0)
