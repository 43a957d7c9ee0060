"""Filling and emptying the index of recall. Statements; none commits.

Memories are indexed in the transaction that writes them, transcripts after a turn, from a mark on: a kill between the
two loses nothing, and running twice changes nothing. A row belongs to the principal of its turn, not to whoever opened
the session, so in a group nobody finds another's words (defect 18).
"""

import datetime as dt
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from agent_core import words
from agent_core.storage.postings import (
    DATED,
    FLAGS,
    MAX_DOCS,
    MAX_SIZE,
    NAMED,
    QUESTION,
    around,
    doc_id,
    group_base,
    pack,
    pairs,
    term,
    unpack,
)
from agent_core.storage.prepared import Prepared
from agent_core.storage.tables import Session, Transcript, Turn
from agent_core.storage.tables_recall import RecallDoc, RecallGroup, RecallMark, RecallSpace
from agent_core.storage.upsert import insert_into
from agent_core.types import RowKind, decode

_SPACE = RecallSpace.__table__  # type: ignore[attr-defined]
_GROUP = RecallGroup.__table__  # type: ignore[attr-defined]
_DOC = RecallDoc.__table__  # type: ignore[attr-defined]
_MARK = RecallMark.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
SAID, KEPT = "said", "kept"  # the two corpora: transcripts, memories
MARKER = "marker"
BATCH = 500

# Statements that run for each session that is indexed.
_ROW = _TRANSCRIPT.c
_MARKED = Prepared(select(_MARK.c.seq).where(_MARK.c.session_id == bindparam("session")))
_NEW_ROWS = Prepared(
    select(
        _ROW.seq,
        _ROW.turn_id,
        _ROW.kind,
        _ROW.body,
        _ROW.meta,
        _ROW.at,
        func.coalesce(_TURN.c.principal, _SESSION.c.owner).label("owner"),
        _TURN.c.session_id,
    )
    .join(_SESSION, _SESSION.c.id == _ROW.session_id)
    .outerjoin(_TURN, _TURN.c.id == _ROW.turn_id)
    .where(
        _ROW.session_id == bindparam("session"),
        _ROW.seq > bindparam("mark"),
        _SESSION.c.parent.is_(None),
    )
    .order_by(_ROW.seq)
    .limit(bindparam("most"))
)
_SPACE_NO = Prepared(
    select(_SPACE.c.no).where(
        *(_SPACE.c[name] == bindparam(name) for name in ("owner", "scope", "corpus"))
    )
)
_LAST_GROUP = Prepared(
    select(_GROUP.c.no, _GROUP.c.part, _GROUP.c.docs)
    .where(_GROUP.c.space == bindparam("in_space"), _GROUP.c.ref == bindparam("session"))
    .order_by(_GROUP.c.part.desc())
    .limit(1)
)
_ADD_GROUP = Prepared(insert(_GROUP).returning(_GROUP.c.no))
_OF_GROUP = Prepared(select(_GROUP).where(_GROUP.c.no == bindparam("group")))
_SET_GROUP = Prepared(
    update(_GROUP)
    .where(_GROUP.c.no == bindparam("group"))
    .values({name: bindparam(f"new_{name}") for name in ("docs", "tokens", "around")})
)
_ADD_DOCS = Prepared(insert(_DOC))
_DOC_IDS = Prepared(
    select(_DOC.c.id)
    .where(_DOC.c.id >= bindparam("first"), _DOC.c.id < bindparam("end"))
    .order_by(_DOC.c.id)
)
_COUNT = Prepared(
    update(_SPACE)
    .where(_SPACE.c.no == bindparam("in_space"))
    .values(
        {
            name: _SPACE.c[name] + bindparam(f"d_{name}")
            for name in ("docs", "tokens", "pairs", "sessions")
        }
    )
)


def _keep_mark(dialect: str) -> Executable:
    add = insert_into(dialect, _MARK)
    return add.on_conflict_do_update(index_elements=["session_id"], set_={"seq": add.excluded.seq})


_KEEP_MARK = Prepared(_keep_mark)
_ADD_SPACE = Prepared(lambda dialect: insert_into(dialect, _SPACE).on_conflict_do_nothing())


# Where a turn's rows may be recalled: "private", a group's conversation id, or None for nowhere.
ScopeOf = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class Said:
    """A row to index: its place in the transcript, its words, when, whose they are ("" where that tells nothing)."""

    seq: int
    text: str
    at: dt.datetime
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    seq: int
    terms: list[str]
    size: int
    flags: int


def add_rows(
    conn: Connection, owner: str, scope: str, session_id: str, said: Sequence[Said]
) -> None:
    """Index rows of a session, in order, behind those that are indexed already. Rows without a word are passed over."""
    space = _ensure_space(conn, owner, scope, SAID)
    left = [entry for row in said if (entry := _row_entry(space, row)).size]
    while left:
        group, has = _open_group(conn, space, session_id)
        now, left = left[: MAX_DOCS - has], left[MAX_DOCS - has :]
        _append(conn, space, group, now)


def add_memory(
    conn: Connection,
    owner: str,
    scope: str,
    memory_id: int,
    kind: str,
    text: str,
    codes: Iterable[str] = (),
) -> None:
    """Index a memory or a note, in the transaction that writes it; one that is indexed already is indexed anew.

    A marker is no memory and is never indexed (MEM-8).
    """
    remove_memories(conn, owner, [memory_id])
    if kind == MARKER:
        return
    space = _ensure_space(conn, owner, scope, KEPT)
    found, named = words.words(text), words.symbol_words(codes)
    stored = [term(space, word) for word in (*found, *named, *words.date_words(text))]
    if stored:
        group = _new_group(conn, space, str(memory_id), 0)
        _append(conn, space, group, [_Entry(0, stored, len(found), NAMED * bool(named))])


def remove_memories(conn: Connection, owner: str, ids: Iterable[int]) -> None:
    """Take memories of this owner out of the index; harmless when repeated."""
    kept = select(_SPACE.c.no).where(_SPACE.c.owner == owner, _SPACE.c.corpus == KEPT)
    refs = [str(memory_id) for memory_id in ids]
    _remove(conn, _GROUP.c.space.in_(kept), _GROUP.c.ref.in_(refs))


def remove_session(conn: Connection, session_id: str) -> None:
    """Take a session out of the index, whoever spoke in it, and forget how far it was indexed."""
    said = select(_SPACE.c.no).where(_SPACE.c.corpus == SAID)
    _remove(conn, _GROUP.c.space.in_(said), _GROUP.c.ref == session_id)
    conn.execute(delete(_MARK).where(_MARK.c.session_id == session_id))


def remove_owner(conn: Connection, owner: str) -> int:
    """Take everything of an owner out of the index, in all scopes. Returns how many rows that were.

    The marks stay, so that nothing is indexed again; who deletes a transcript calls `remove_session` before.
    """
    spaces = conn.execute(select(_SPACE.c.no).where(_SPACE.c.owner == owner)).scalars().all()
    gone = _remove(conn, _GROUP.c.space.in_(spaces))
    conn.execute(delete(_SPACE).where(_SPACE.c.no.in_(spaces)))
    return gone


def index_new_rows(conn: Connection, session_id: str, scope_of: ScopeOf, limit: int = BATCH) -> int:
    """Index what was said in a session since the last time; at most `limit` rows. Returns how many rows it looked at.

    Delegated sessions and rows that a fork copied are passed over: nobody said them there.
    """
    mark = _mark(conn, session_id)
    wanted = {"session": session_id, "mark": mark, "most": limit}
    rows = list(_NEW_ROWS.execute(conn, wanted))
    said = [(row, found) for row in rows if (found := _said(session_id, row)) is not None]
    scopes = {turn: scope_of(turn) for turn in {row.turn_id for row, _ in said}}
    for (owner, scope), batch in groupby(
        said, key=lambda one: (one[0].owner, scopes[one[0].turn_id])
    ):
        if scope is not None:
            add_rows(conn, owner, scope, session_id, [found for _, found in batch])
    if rows:
        marked = {"session_id": session_id, "seq": rows[-1].seq}
        _KEEP_MARK.execute(conn, marked)
    return len(rows)


def behind(conn: Connection, limit: int = 20) -> list[str]:
    """Sessions that have rows which `index_new_rows` has not seen, oldest first."""
    last = select(func.max(_TRANSCRIPT.c.seq)).where(_TRANSCRIPT.c.session_id == _SESSION.c.id)
    query = (
        select(_SESSION.c.id)
        .outerjoin(_MARK, _MARK.c.session_id == _SESSION.c.id)
        .where(_SESSION.c.parent.is_(None))
        .where(last.scalar_subquery() > func.coalesce(_MARK.c.seq, 0))
        .order_by(_SESSION.c.created_at, _SESSION.c.id)
    )
    return list(conn.execute(query.limit(limit)).scalars())


def _mark(conn: Connection, session_id: str) -> int:
    return _MARKED.execute(conn, {"session": session_id}).scalar() or 0


def _said(session_id: str, row: Any) -> Said | None:
    """What a person or the assistant said in a row; None for the rest, and for rows of another session's turn."""
    if row.kind not in (RowKind.USER, RowKind.ASSISTANT):
        return None
    if row.session_id not in (None, session_id) or json.loads(row.meta).get("hidden"):
        return None
    return Said(row.seq, decode(row.body).text, row.at)


def _row_entry(space: int, row: Said) -> _Entry:
    found = words.words(row.text)
    named = words.symbols_in(row.text)
    extra = [
        *words.symbol_words(named),
        *dict.fromkeys([*words.date_words(row.text), words.date_word(row.at)]),
        *([words.speaker_word(row.speaker)] if row.speaker else ()),
    ]
    flags = QUESTION * words.is_question(row.text) | DATED * words.tells_time(row.text)
    stored = [term(space, word) for word in (*found, *extra)]
    return _Entry(row.seq, stored, len(found), flags | NAMED * bool(named))


def _ensure_space(conn: Connection, owner: str, scope: str, corpus: str) -> int:
    key = {"owner": owner, "scope": scope, "corpus": corpus}
    empty = {"docs": 0, "tokens": 0, "sessions": 0, "pairs": 0}
    found: int | None = _SPACE_NO.execute(conn, key).scalar()
    if found is not None:
        return found
    _ADD_SPACE.execute(conn, {**key, **empty})
    no: int = _SPACE_NO.execute(conn, key).one()[0]
    return no


def _open_group(conn: Connection, space: int, session_id: str) -> tuple[int, int]:
    """The group that a session's next row goes to, and how many it has."""
    last = _LAST_GROUP.execute(conn, {"in_space": space, "session": session_id}).first()
    if last is not None and last.docs < MAX_DOCS:
        return last.no, last.docs
    return _new_group(conn, space, session_id, 0 if last is None else last.part + 1), 0


def _new_group(conn: Connection, space: int, ref: str, part: int) -> int:
    values = {"space": space, "ref": ref, "part": part, "docs": 0, "tokens": 0, "around": b""}
    no: int = _ADD_GROUP.execute(conn, values).one()[0]
    return no


def _append(conn: Connection, space: int, group: int, entries: Sequence[_Entry]) -> None:
    """Add rows to a group, and to the statistics of both."""
    before = _OF_GROUP.execute(conn, {"group": group}).one()
    made = [
        {
            "id": doc_id(group, before.docs + at, entry.size, named=bool(entry.flags & NAMED)),
            "seq": entry.seq,
            "terms": entry.terms,
        }
        for at, entry in enumerate(entries)
    ]
    _ADD_DOCS.execute(conn, made)
    mine = {"first": group_base(group), "end": group_base(group + 1)}
    ids = _DOC_IDS.execute(conn, mine).scalars()
    flags = [value & FLAGS for value in unpack(before.around)] + [e.flags for e in entries]
    tokens = sum(entry.size for entry in entries)
    values = {
        "group": group,
        "new_docs": len(ids),
        "new_tokens": before.tokens + tokens,
        "new_around": pack(around([doc & MAX_SIZE for doc in ids], flags)),
    }
    _SET_GROUP.execute(conn, values)
    more = pairs(len(ids)) - pairs(before.docs)
    _count(conn, space, len(entries), tokens, more, sessions=int(before.docs == 0))


def _count(
    conn: Connection, space: int, docs: int, tokens: int, windows: int, *, sessions: int
) -> None:
    more = {"d_docs": docs, "d_tokens": tokens, "d_pairs": windows, "d_sessions": sessions}
    _COUNT.execute(conn, {"in_space": space, **more})


def _own(group: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _DOC.c.id >= group_base(group), _DOC.c.id < group_base(group + 1)


def _remove(conn: Connection, *which: ColumnElement[bool]) -> int:
    """Delete groups with their rows; the index of words follows in the same transaction (its triggers)."""
    gone = 0
    for group in conn.execute(select(_GROUP).where(*which)).all():
        gone += conn.execute(delete(_DOC).where(*_own(group.no))).rowcount
        conn.execute(delete(_GROUP).where(_GROUP.c.no == group.no))
        _count(conn, group.space, -group.docs, -group.tokens, -pairs(group.docs), sessions=-1)
    return gone
