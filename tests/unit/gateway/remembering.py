"""Memories for tests: put into a database as learning does it, with the index of recall."""

import datetime as dt
from typing import Any

from sqlalchemy import Connection

from agent_core.storage import memories, upkeep
from agent_core.storage.memories import NewMemory
from gateway.storage.db import Database
from tests.harness import ALICE
from tests.house import START


def put(conn: Connection, text: str, *, owner: str = ALICE, **more: Any) -> int:
    """Store a memory and index it; `at` is when it was said."""
    at: dt.datetime = more.pop("at", START)
    kind = more.pop("kind", "preference")
    new = NewMemory(owner, kind, text, more.pop("source", "chat_log:s0"), **more)
    number = memories.add(conn, new, at)
    upkeep.reindex(conn, owner, number)
    return number


async def remember(db: Database, text: str, **more: Any) -> int:
    """`put` in a transaction of its own."""
    return await db.write(lambda conn: put(conn, text, **more))
