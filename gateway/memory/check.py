"""The self-check of memory, from what was really sent and stored (OBS-2): five questions, each with its figures.

Is the system text static? Is what is remembered limited? Is it disclosed only where a message asks for it? Is anything
left unread? Are the views that people state kept? Counts alone: no text of anybody is in the report.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agent_core.assembly.classes import Limits
from agent_core.memory import gc
from agent_core.memory.lifecycle import CAPS
from agent_core.memory.recall import Profile
from agent_core.runtime.trace import REQUEST, TOOL_RESULT
from agent_core.storage.recall_index import behind
from agent_core.storage.tables import Trace
from agent_core.storage.tables_memory import MemoryPending, MemoryRow
from gateway.settings.settings import Memory

_TRACE = Trace.__table__  # type: ignore[attr-defined]
_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]
_PENDING = MemoryPending.__table__  # type: ignore[attr-defined]
REQUESTS = 2_000  # newest ones that are looked at
FRAME_CHARS = 500  # tags and the sentence that what is recalled is for reference
MOST_CHARS = Limits().total.chars + Profile().block_chars + FRAME_CHARS
SESSIONS = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer: `id` is the question, `said` one line with the figures. Not `ok`: something is to be mended."""

    id: str
    ok: bool
    said: str


@dataclass(frozen=True, slots=True)
class _Request:
    """What a request consisted of, in characters."""

    session: str
    agent: str
    system: int
    recalled: int


def report(conn: Connection, settings: Memory) -> list[Finding]:
    """All findings, in a fixed order. Reads only."""
    requests = list(_requests(conn))
    checks: tuple[Callable[[], Finding], ...] = (
        lambda: _switch(settings),
        lambda: _static(requests),
        lambda: _limited(conn, requests),
        lambda: _progressive(requests),
        lambda: _unread(conn),
        lambda: _views(conn),
    )
    return [check() for check in checks]


def _requests(conn: Connection) -> Iterable[_Request]:
    query = select(_TRACE.c.session_id, _TRACE.c.body).where(_TRACE.c.event == REQUEST)
    for row in conn.execute(query.order_by(_TRACE.c.id.desc()).limit(REQUESTS)):
        fields = json.loads(row.body)
        sections = fields.get("report", {}).get("sections", ())
        chars = {section["name"]: section["chars"] for section in sections}
        agent = str(fields.get("agent") or "")
        yield _Request(row.session_id, agent, chars.get("system", 0), chars.get("recall", 0))


def _switch(settings: Memory) -> Finding:
    """GCX-6: clearing up and shortening are one switch, so there is nothing to be configured by halves."""
    if not settings.enabled:
        return Finding("switch", True, "memory is off")
    daily = "kept in order once a day" if settings.tiers else "never cleared up or shortened"
    return Finding("switch", True, f"memory is on, {daily}")


def _static(requests: Iterable[_Request]) -> Finding:
    sizes: dict[tuple[str, str], set[int]] = defaultdict(set)
    for request in requests:
        sizes[request.session, request.agent].add(request.system)
    moving = sum(len(found) > 1 for found in sizes.values())
    said = f"{len(sizes)} conversations looked at, in {moving} of them the system text changed"
    return Finding("system_text_static", not moving, said)


def _limited(conn: Connection, requests: Iterable[_Request]) -> Finding:
    live = (_MEMORY.c.archived_at.is_(None), _MEMORY.c.superseded_by.is_(None))
    count = func.count().label("n")
    query = select(_MEMORY.c.owner, _MEMORY.c.scope, _MEMORY.c.kind, count).where(*live)
    grouped = query.group_by(_MEMORY.c.owner, _MEMORY.c.scope, _MEMORY.c.kind)
    over, owned = 0, Counter[str]()
    for row in conn.execute(grouped):
        over += row.n > CAPS.get(row.kind, gc.DEFAULT.most)
        owned[row.owner] += row.n if row.kind != "marker" else 0
    # Between two sweeps an owner may have some more than the cap of all kinds together.
    most = max(owned.values(), default=0)
    longest = max((r.recalled for r in requests), default=0)
    said = (
        f"{len(owned)} owners, at most {most} memories of one (cap {gc.DEFAULT.most}), {over} kinds over their cap; "
        f"at most {longest} characters recalled for a request (cap {MOST_CHARS})"
    )
    return Finding("memory_limited", not over and longest <= MOST_CHARS, said)


def _progressive(requests: list[_Request]) -> Finding:
    bare = sum(r.recalled == 0 for r in requests)
    said = f"{bare} of {len(requests)} requests carried no recalled context"
    # With many requests, all of which carry some, disclosure no longer follows the message.
    return Finding("disclosed_progressively", len(requests) < REQUESTS or bare > 0, said)


def _unread(conn: Connection) -> Finding:
    late = len(behind(conn, SESSIONS))
    waiting = conn.execute(select(func.count()).select_from(_PENDING)).scalar_one()
    tried = select(func.count()).select_from(_PENDING).where(_PENDING.c.attempts > 0)
    failed = conn.execute(tried).scalar_one()
    shown = f"{late} or more" if late == SESSIONS else str(late)
    said = f"{shown} conversations to index, {waiting} jobs of learning wait, {failed} of them after a failure"
    return Finding("nothing_unread", late < SESSIONS and not failed, said)


def _views(conn: Connection) -> Finding:
    """What `remember` reported as stored, against what is there."""
    query = select(_TRACE.c.body).where(_TRACE.c.event == TOOL_RESULT)
    named = query.where(_TRACE.c.body.contains('"name":"remember"', autoescape=True))
    rows = conn.execute(named.order_by(_TRACE.c.id.desc()).limit(REQUESTS)).scalars()
    noted = sum(json.loads(body).get("status") == "ok" for body in rows)
    kept = select(func.count()).select_from(_MEMORY).where(_MEMORY.c.source.startswith("remember:"))
    count = conn.execute(kept).scalar_one()
    said = f"{noted} notes taken in the traces, {count} stored"
    return Finding("views_kept", count > 0 or noted == 0, said)
