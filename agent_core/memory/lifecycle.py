"""How long memories last: caps, half-lives, cleanup to the archive (CAP-1 … CAP-5). Nothing here deletes."""

import datetime as dt
from collections.abc import Mapping
from types import MappingProxyType

from sqlalchemy import Connection

from agent_core.storage import memories

# CAP-1; the notes of `remember` (view, plan, rule) have none in the source material.
CAPS: Mapping[str, int] = MappingProxyType(
    {
        "preference": 50,
        "decision": 30,
        "playbook": 20,
        "persona": 5,
        "scenario": 20,
        "marker": 50,
        "fact": 50,
        "stock_opinion": 30,
        "market_view": 20,
        "view": 50,
        "plan": 50,
        "rule": 50,
    }
)
# Days (CAP-2). None: never weaker.
HALF_LIVES: Mapping[str, float | None] = MappingProxyType(
    {
        "preference": None,
        "persona": None,
        "rule": None,
        "decision": 14.0,
        "playbook": 21.0,
        "scenario": 21.0,
        "stock_opinion": 14.0,
        "market_view": 14.0,
        "fact": 14.0,
    }
)
HALF_LIFE = 14.0
UNDATED = 0.5
# Days until a memory that is not said again goes to the archive (CAP-3). None: never.
LASTS: Mapping[str, float | None] = MappingProxyType(
    {
        "preference": None,
        "persona": None,
        "rule": None,
        "decision": 45.0,
        "playbook": 60.0,
        "scenario": 60.0,
        "stock_opinion": 45.0,
        "market_view": 30.0,
        "fact": 45.0,
        "marker": 30.0,
    }
)
LAST = 90.0


def decay(kind: str, said_at: dt.datetime | None, now: dt.datetime) -> float:
    """What a memory still weighs, 0 to 1: 2^(-age / half-life). A future time is age 0, an unknown one 0.5 (CAP-2)."""
    half = HALF_LIVES.get(kind, HALF_LIFE)
    if half is None:
        return 1.0
    if said_at is None:
        return UNDATED
    days: float = max((now - said_at).total_seconds(), 0.0) / 86_400
    weight: float = 2.0 ** (-days / half)
    return weight


def enforce_cap(conn: Connection, owner: str, scope: str, kind: str, now: dt.datetime) -> int:
    """Archive the oldest of a kind beyond its cap. Returns how many."""
    cap = CAPS.get(kind)
    if cap is None:
        return 0
    ids = memories.overflow(conn, owner, scope, kind, cap)
    memories.archive(conn, owner, ids, now)
    return len(ids)


def clean_up(conn: Connection, owner: str, now: dt.datetime) -> int:
    """Archive what is older than it lasts, or no longer valid. Returns how many; 0: all is done for now."""
    ids = memories.expired(conn, owner, now)
    for kind in memories.kinds_of(conn, owner):
        days = LASTS.get(kind, LAST)
        if days is not None:
            ids += memories.outdated(conn, owner, kind, now - dt.timedelta(days=days))
    memories.archive(conn, owner, ids, now)
    return len(set(ids))
