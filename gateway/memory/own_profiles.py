"""A person's own profiles of symbols, as tools read them (agent_core.tools.profiles.OwnProfiles)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.book import Profile
from agent_core.storage import portfolio
from gateway.memory.history import PRIVATE, scope_of_turn
from gateway.storage.db import Database


@dataclass(frozen=True, slots=True)
class StoredProfiles:
    """See OwnProfiles. A book is private: in a group, and for a turn that is not known, there are none."""

    db: Database

    async def profiles(self, owner: str, turn_id: int, symbols: Sequence[str]) -> Sequence[Profile]:
        """See OwnProfiles."""

        def work(conn: Connection) -> list[Profile]:
            if scope_of_turn(conn, turn_id) != PRIVATE:
                return []
            kept = portfolio.records(conn, owner, Profile)
            return [profile for profile in kept if profile.symbol in symbols]

        return await self.db.read(work)
