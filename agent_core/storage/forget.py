"""Erasing a person: what they own, their sessions, and their part of sessions that others take part in (ARC-8, OBS-1).

/forget is the only deletion of transcripts (DESIGN.md 5). Statements; none commits, so all of it happens or nothing.

A session in which others speak, too, goes on without the person: their turns are deleted, every checkpoint with them
(a summary may quote anybody), and what is left moves to a new session id, numbered anew without gaps. So nothing that
was cached or quoted under the old id leads back to what was said.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Table,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from agent_core.storage import orders_audit, orders_halt, recall_index
from agent_core.storage.tables import (
    Blob,
    Checkpoint,
    Session,
    Trace,
    Transcript,
    Turn,
    UsageRow,
)
from agent_core.storage.tables_memory import (
    Alert,
    EventRow,
    Holding,
    MemoryPending,
    MemoryRow,
    MemoryVersion,
    Profile,
    ReportNote,
)
from agent_core.storage.tables_orders import CashRow, TradeOrder, TradeRow
from agent_core.storage.tables_recall import RecallSpace

_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
_CHECKPOINT = Checkpoint.__table__  # type: ignore[attr-defined]
_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
_TRACE = Trace.__table__  # type: ignore[attr-defined]
_BLOB = Blob.__table__  # type: ignore[attr-defined]
_SPACE = RecallSpace.__table__  # type: ignore[attr-defined]

# What is deleted by its owner, in an order that foreign keys allow.
OWNED: Mapping[str, Table] = {
    "memory_versions": MemoryVersion.__table__,  # type: ignore[attr-defined]
    "memories": MemoryRow.__table__,  # type: ignore[attr-defined]
    "memory_jobs": MemoryPending.__table__,  # type: ignore[attr-defined]
    "holdings": Holding.__table__,  # type: ignore[attr-defined]
    "events": EventRow.__table__,  # type: ignore[attr-defined]
    "profiles": Profile.__table__,  # type: ignore[attr-defined]
    "alerts": Alert.__table__,  # type: ignore[attr-defined]
    "report_notes": ReportNote.__table__,  # type: ignore[attr-defined]
    "orders": TradeOrder.__table__,  # type: ignore[attr-defined]
    "trades": TradeRow.__table__,  # type: ignore[attr-defined]
    "cash": CashRow.__table__,  # type: ignore[attr-defined]
    "traces": _TRACE,
    "files": _BLOB,
}
# What belongs to a session and moves with it.
_PARTS = (_TRANSCRIPT, _CHECKPOINT, _TURN, _USAGE, _TRACE, _BLOB)
NOBODY = "forgotten"  # owns the figures of usage that outlive a person
CHUNK = 500  # values of one statement


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions that people lead, by their ids: `own` are a person's alone, in `shared` others had turns as well."""

    own: tuple[str, ...]
    shared: tuple[str, ...]
    turns: frozenset[int]


def sessions_of(conn: Connection, owners: Collection[str]) -> Sessions:
    """The sessions that these identities opened or had turns in."""
    turns = select(_TURN.c.id).where(_TURN.c.principal.in_(owners))
    ids = frozenset(conn.execute(turns).scalars())
    opened = select(_SESSION.c.id).where(_SESSION.c.owner.in_(owners), _SESSION.c.parent.is_(None))
    found = set(conn.execute(opened).scalars())
    spoke = (
        select(_TRANSCRIPT.c.session_id)
        .join(_SESSION, _SESSION.c.id == _TRANSCRIPT.c.session_id)
        .where(_SESSION.c.parent.is_(None), _TRANSCRIPT.c.turn_id.in_(turns))
    )
    found |= set(conn.execute(spoke.distinct()).scalars())
    shared = {root for root in found if _has_others(conn, root, owners)}
    return Sessions(tuple(sorted(found - shared)), tuple(sorted(shared)), ids)


def _has_others(conn: Connection, root: str, owners: Collection[str]) -> bool:
    query = (
        select(_TURN.c.id)
        .join(_TRANSCRIPT, _TRANSCRIPT.c.turn_id == _TURN.c.id)
        .where(_TRANSCRIPT.c.session_id == root, _TURN.c.principal.not_in(owners))
    )
    return conn.execute(query.limit(1)).first() is not None


def family(conn: Connection, roots: Iterable[str]) -> list[str]:
    """These sessions and those of their sub-agents, which are named `<session>/<call id>`."""
    found: list[str] = []
    for root in roots:
        below = _SESSION.c.id.startswith(f"{root}/", autoescape=True)
        query = select(_SESSION.c.id).where(or_(_SESSION.c.id == root, below))
        found += conn.execute(query.order_by(_SESSION.c.id)).scalars()
    return found


# Counting -----------------------------------------------------------------------------------------


def count_owned(conn: Connection, owners: Collection[str]) -> dict[str, int]:
    """How much these identities own, kind by kind."""
    counts = {name: _count(conn, t, t.c.owner.in_(owners)) for name, t in OWNED.items()}
    indexed = select(func.coalesce(func.sum(_SPACE.c.docs), 0)).where(_SPACE.c.owner.in_(owners))
    counts["order_audit"] = orders_audit.count(conn, owners)
    counts["index"] = int(conn.execute(indexed).scalar_one())
    return counts


def count_said(conn: Connection, sessions: Sequence[str], turns: Collection[int]) -> dict[str, int]:
    """How much there is of these sessions and turns."""
    counts: dict[str, int] = dict.fromkeys(("sessions", "messages", "checkpoints", "turns"), 0)
    for part in _chunks(sessions):
        counts["sessions"] += _count(conn, _SESSION, _SESSION.c.id.in_(part))
        counts["messages"] += _count(conn, _TRANSCRIPT, _TRANSCRIPT.c.session_id.in_(part))
        counts["checkpoints"] += _count(conn, _CHECKPOINT, _CHECKPOINT.c.session_id.in_(part))
    for some in _chunks(sorted(turns)):
        here = _TRANSCRIPT.c.turn_id.in_(some)
        if sessions:
            here &= _TRANSCRIPT.c.session_id.not_in(sessions)
        counts["messages"] += _count(conn, _TRANSCRIPT, here)
        counts["turns"] += _count(conn, _TURN, _TURN.c.id.in_(some))
    return counts


def _count(conn: Connection, table: FromClause, where: ColumnElement[bool]) -> int:
    return conn.execute(select(func.count()).select_from(table).where(where)).scalar_one()


# Erasing ------------------------------------------------------------------------------------------


def erase_owned(conn: Connection, owners: Collection[str]) -> None:
    """Delete what these identities own; figures of usage lose their owner and stay, since they were paid.

    Of the audit of orders the words go and the hashes stay: it is one chain for everybody.
    """
    orders_audit.erase(conn, owners, NOBODY)
    orders_halt.erase(conn, owners, NOBODY)
    for owner in owners:
        recall_index.remove_owner(conn, owner)
    for table in OWNED.values():
        conn.execute(delete(table).where(table.c.owner.in_(owners)))


def erase_turns(conn: Connection, root: str, turns: Collection[int], names: Sequence[str]) -> None:
    """Take these turns out of a session that others take part in, and what was quoted of earlier talk by `names`.

    Its checkpoints go as well: a summary may quote anybody.
    """
    here = family(conn, [root])
    for part in _chunks(sorted(turns)):
        mine = (_TRANSCRIPT.c.session_id.in_(here), _TRANSCRIPT.c.turn_id.in_(part))
        conn.execute(delete(_TRANSCRIPT).where(*mine))
    quoted = [_TRANSCRIPT.c.body.contains(f"({name})", autoescape=True) for name in names]
    if quoted:
        note = (_TRANSCRIPT.c.session_id == root, _TRANSCRIPT.c.kind == "note", or_(*quoted))
        conn.execute(delete(_TRANSCRIPT).where(*note))
    conn.execute(delete(_CHECKPOINT).where(_CHECKPOINT.c.session_id.in_(here)))


def move(
    conn: Connection, root: str, new: str, owners: Collection[str], heir: str
) -> dict[str, str]:
    """Move what is left of a session, and of those of its sub-agents, to a new id. Returns old ids and new ones.

    The old heads are still there, for tables of others that name them; `erase_sessions` deletes them. `heir` owns what
    one of `owners` had opened. Titles are made of somebody's first words, so they go.
    """
    names = {old: new + old.removeprefix(root) for old in family(conn, [root])}
    for old, name in names.items():  # in order, a parent before its children
        head = conn.execute(select(_SESSION).where(_SESSION.c.id == old)).one()
        conn.execute(
            insert(_SESSION),
            {
                "id": name,
                "owner": heir if head.owner in owners else head.owner,
                "parent": None if head.parent is None else names.get(head.parent, new),
                "agent": head.agent,
                "title": "",
                "created_at": head.created_at,
            },
        )
        for table in _PARTS:
            conn.execute(update(table).where(table.c.session_id == old).values(session_id=name))
        _number(conn, name)
    return names


def _number(conn: Connection, session_id: str) -> None:
    """Let `seq` count from 1 without gaps again."""
    query = select(_TRANSCRIPT.c.id, _TRANSCRIPT.c.seq)
    rows = conn.execute(
        query.where(_TRANSCRIPT.c.session_id == session_id).order_by(_TRANSCRIPT.c.seq)
    ).all()
    for seq, row in enumerate(rows, 1):
        if row.seq != seq:  # always downwards, in order: no number is taken twice on the way
            conn.execute(update(_TRANSCRIPT).where(_TRANSCRIPT.c.id == row.id).values(seq=seq))


def erase_sessions(conn: Connection, roots: Sequence[str], grave: str) -> None:
    """Delete sessions with all that belongs to them; figures of usage move to the session `grave`, without an owner."""
    ids = family(conn, roots)
    for session in ids:
        recall_index.remove_session(
            conn, session
        )  # what others said in a moved one is indexed anew
    for part in _chunks(ids):
        figures = update(_USAGE).where(_USAGE.c.session_id.in_(part))
        conn.execute(figures.values(session_id=grave, owner=NOBODY))
        for table in (_TRANSCRIPT, _CHECKPOINT, _TRACE, _BLOB, _TURN):
            conn.execute(delete(table).where(table.c.session_id.in_(part)))
    for part in _chunks(list(reversed(ids))):  # children before their parents
        conn.execute(delete(_SESSION).where(_SESSION.c.id.in_(part)))


def erase_heads(conn: Connection, turns: Collection[int], owners: Collection[str]) -> None:
    """Delete the heads of turns, and let figures of usage lose their owner."""
    for part in _chunks(sorted(turns)):
        conn.execute(delete(_TURN).where(_TURN.c.id.in_(part)))
    conn.execute(update(_USAGE).where(_USAGE.c.owner.in_(owners)).values(owner=NOBODY))


def overwrite(conn: Connection) -> None:
    """SQLite leaves deleted bytes in its file unless told otherwise; from now on this connection is."""
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("pragma secure_delete = on")


def merge_index(conn: Connection) -> None:
    """Let SQLite's index of words be written anew: until then it notes a deletion beside the deleted word.

    Takes about a quarter of a second for each 100,000 indexed rows; nobody is forgotten every day.
    """
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("insert into recall_fts(recall_fts) values ('optimize')")


def heir_of(conn: Connection, root: str, owners: Collection[str]) -> str:
    """Who spoke first in a session among those who stay."""
    query = (
        select(_TURN.c.principal)
        .join(_TRANSCRIPT, _TRANSCRIPT.c.turn_id == _TURN.c.id)
        .where(_TRANSCRIPT.c.session_id == root, _TURN.c.principal.not_in(owners))
        .order_by(_TRANSCRIPT.c.seq)
    )
    return conn.execute(query.limit(1)).scalar() or NOBODY


def _chunks(values: Sequence[object]) -> Iterator[Sequence[object]]:
    for at in range(0, len(values), CHUNK):
        yield values[at : at + CHUNK]
