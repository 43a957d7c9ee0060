"""What is remembered from one session: what its person asked to be kept, and what was learned from it."""

from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.storage import upkeep
from gateway.console.calls import Call, Nothing
from gateway.console.people import Memory
from gateway.console.transcript import Head, head_of
from gateway.people.identity import principal_of
from gateway.redact import Redactor

ORIGINS = ("chat_log", "remember")


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """The page, newest first. `owner` is whose memory it is: the principal of the session's owner."""

    session: Head
    owner: str
    memories: list[Memory]


async def read(call: Call[Nothing]) -> SessionMemory:
    """The page's data."""
    session_id, redactor = call.path["id"], call.house.redactor
    return await call.house.core.db.read(lambda conn: _page(conn, session_id, redactor))


def _page(conn: Connection, session_id: str, redactor: Redactor) -> SessionMemory:
    head = head_of(conn, session_id)
    owner, sources = principal_of(conn, head.owner), {f"{o}:{session_id}" for o in ORIGINS}
    kept = [m for m in upkeep.entries(conn, owner, everything=True) if m.source in sources]
    memories = [
        Memory(m.id, m.kind, m.state, redactor.text(m.text), m.source, m.created_at) for m in kept
    ]
    return SessionMemory(head, owner, memories)
