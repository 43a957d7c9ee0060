"""What came of a memory: that it was put before a model, and what moves its quality (TIR-11, GCX-5)."""

import datetime as dt
from collections.abc import Iterable

from sqlalchemy import Connection

from agent_core.memory.gc import Signal, judged
from agent_core.storage import upkeep

_MEMORY = "memory:"  # as recall names its items (agent_core.ports.Recalled)
SESSIONS = 8  # whose moves are remembered with a memory; older ones may move it anew


def injected(conn: Connection, owner: str, ids: Iterable[str], now: dt.datetime) -> None:
    """These items of recall went into a request: the time of the memories among them begins anew (TIR-11).

    What recall merely found does not count.
    """
    numbers = [item.removeprefix(_MEMORY) for item in ids if item.startswith(_MEMORY)]
    upkeep.used(conn, owner, [int(number) for number in numbers if number.isdecimal()], now)


def note(
    conn: Connection,
    owner: str,
    memory_id: int,
    signal: Signal,
    session_id: str,
    *,
    by_system: bool = False,
) -> float | None:
    """Note a signal about one of the owner's memories. Returns its quality, None where there is no such memory."""
    found = upkeep.entry(conn, owner, memory_id)
    if found is None:
        return None
    kept = found.meta.get("moved")
    moved = {k: float(v) for k, v in kept.items()} if isinstance(kept, dict) else {}
    quality, size = judged(found.quality, signal, moved.pop(session_id, 0.0), by_system=by_system)
    moved[session_id] = size  # at the end: the latest
    latest = dict(list(moved.items())[-SESSIONS:])
    upkeep.set_quality(conn, found, quality, found.meta | {"moved": latest})
    return quality
