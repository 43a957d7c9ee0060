"""The books of all persons in the database (agent_core.book.Portfolio)."""

from dataclasses import dataclass

from agent_core.book import Look, Record, Seen
from agent_core.storage import portfolio
from gateway.storage.db import Database


@dataclass(frozen=True, slots=True)
class StoredPortfolio:
    """See agent_core.book.Portfolio."""

    db: Database

    async def put(self, owner: str, record: Record) -> int:
        """See agent_core.book.Portfolio."""
        return await self.db.write(lambda conn: portfolio.put(conn, owner, record))

    async def records(self, owner: str, kind: type[Record], limit: int = 500) -> list[Record]:
        """See agent_core.book.Portfolio."""
        return await self.db.read(lambda conn: portfolio.records(conn, owner, kind, limit))

    async def remove(self, owner: str, kind: type[Record], record_id: int) -> bool:
        """See agent_core.book.Portfolio."""
        return await self.db.write(lambda conn: portfolio.remove(conn, owner, kind, record_id))

    async def look(self, look: Look) -> Seen:
        """See agent_core.book.Portfolio."""
        return await self.db.read(lambda conn: portfolio.look(conn, look))
