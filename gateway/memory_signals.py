"""What came of a memory moves its quality, within what one session may move it (GCX-5)."""

from sqlalchemy import Connection

from agent_core.memory.gc import Signal, judged
from agent_core.storage import upkeep

SESSIONS = 8  # whose moves are remembered with a memory; older ones may move it anew


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
