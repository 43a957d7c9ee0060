"""A yes that counts for later calls too: for the same person, tool, arguments and rules, and for nothing else.

It lives in the row of the question that it answered, as long as that is kept, and can be taken back. A rule that is
written otherwise, or one argument that differs, asks again.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, update

from agent_core import approvals
from agent_core.approvals import Rule
from gateway.storage.tables import Question

_QUESTION = Question.__table__  # type: ignore[attr-defined]
MARK = "remember"  # key in the answer of a question: how long its yes counts
_OF = "remember_of"  # key beside it: what it counts for


@dataclass(frozen=True, slots=True)
class Given:
    """A yes of before: by whom, and to which question."""

    question: int
    by: str


def note(
    scope: str,
    session_id: str,
    turn_id: int,
    tool: str,
    args: dict[str, Any],
    rules: Sequence[Rule],
) -> dict[str, str]:
    """What is kept with the answer of a question whose yes is remembered. `scope`: run, session or always."""
    return {MARK: scope, _OF: _key(scope, session_id, turn_id, tool, args, rules)}


def find(
    conn: Connection,
    owner: str,
    session_id: str,
    turn_id: int,
    tool: str,
    args: dict[str, Any],
    rules: Sequence[Rule],
) -> Given | None:
    """The remembered yes for exactly this call, or None. Rules that allow none cost no query."""
    scope = approvals.kept_for(rules)
    if scope == "never":
        return None
    wanted = _key(scope, session_id, turn_id, tool, args, rules)
    mine = (
        _QUESTION.c.owner == owner,
        _QUESTION.c.tool == tool,
        _QUESTION.c.kind == "approval",
        _QUESTION.c.status == "answered",
        _QUESTION.c.answer.contains(wanted, autoescape=True),
    )
    for row in conn.execute(select(_QUESTION).where(*mine).order_by(_QUESTION.c.id)):
        answer = json.loads(row.answer)
        if answer.get(_OF) == wanted and answer.get("verdict") == "approved":
            return Given(row.id, row.answered_by)
    return None


def revoke(conn: Connection, question_id: int) -> bool:
    """Take a remembered yes back, as the next call will find; false where this question has none."""
    mine = (_QUESTION.c.id == question_id, _QUESTION.c.status == "answered")
    text = conn.execute(select(_QUESTION.c.answer).where(*mine)).scalar()
    answer: dict[str, Any] = json.loads(text) if text else {}
    if MARK not in answer:
        return False
    kept = {key: value for key, value in answer.items() if key not in {MARK, _OF}}
    values = {"answer": json.dumps(kept, ensure_ascii=False)}
    conn.execute(update(_QUESTION).where(*mine).values(values))
    return True


def listing(conn: Connection) -> list[dict[str, Any]]:
    """Every yes that counts for later calls, oldest first."""
    mine = (_QUESTION.c.status == "answered", _QUESTION.c.answer.contains(f'"{_OF}"'))
    found = conn.execute(select(_QUESTION).where(*mine).order_by(_QUESTION.c.id))
    rows = [(row, json.loads(row.answer)) for row in found]
    return [
        {
            "id": row.id,
            "owner": row.owner,
            "tool": row.tool,
            "args": answer.get("args", json.loads(row.args)),
            "remember": answer[MARK],
            "by": row.answered_by,
            "at": row.answered_at,
            "conversation": row.conversation_id,
        }
        for row, answer in rows
        if MARK in answer
    ]


def _key(
    scope: str,
    session_id: str,
    turn_id: int,
    tool: str,
    args: dict[str, Any],
    rules: Sequence[Rule],
) -> str:
    place = {"run": str(turn_id), "session": session_id.partition("/")[0]}.get(scope, "")
    text = json.dumps(args, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    whole = "\0".join((scope, place, tool, text, approvals.digest(rules)))
    return hashlib.sha256(whole.encode()).hexdigest()
