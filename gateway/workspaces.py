"""Each person's workspace: a folder under the data folder, named by nothing that tells who they are.

It opens in their private chats alone: in a group, words of others could have it read out.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from agent_core.tools.spec import ToolFailure
from agent_core.tools.workspace import Room
from agent_core.tools.workspace_files import QUOTA, Workspace
from channels.types import Address
from gateway.recipes.own_skills import OwnSkills
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from gateway.storage.tables import Conversation

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
FOLDER = "workspaces"
DIGITS = 32  # of the owner's hash
CLOSED = "The workspace is open in the person's private chat alone. Say so; they can ask there for the same."


@dataclass(frozen=True, slots=True)
class Workspaces:
    """All workspaces of an installation. `quota` is in bytes, for each."""

    data_dir: Path
    quota: int = QUOTA

    def of(self, owner: str) -> Workspace:
        """The workspace of a principal; nothing is created."""
        name = hashlib.sha256(owner.encode()).hexdigest()[:DIGITS]
        return Workspace(self.data_dir / FOLDER / name, self.quota)

    def count(self, owners: Iterable[str]) -> int:
        """How many files these identities have, their own skills included. Blocks."""
        who, skills = list(owners), OwnSkills(self.data_dir)
        there = (self.of(owner) for owner in who)
        files = sum(one.used()[0] for one in there if one.folder.exists())
        return files + sum(map(skills.count, who))

    def remove(self, owners: Iterable[str]) -> None:
        """Delete the workspaces of these identities and their own skills. Blocks; harmless when repeated."""
        skills = OwnSkills(self.data_dir)
        for owner in owners:
            self.of(owner).remove()
            skills.clear(owner)


def workspaces_of(settings: Settings) -> Workspaces:
    """As the settings have it."""
    return Workspaces(settings.data_dir, settings.tools.workspace_mb * 2**20)


@dataclass(frozen=True, slots=True)
class PrivateRooms:
    """See agent_core.tools.workspace.Rooms."""

    db: Database
    workspaces: Workspaces

    async def of(self, owner: str, session_id: str) -> Room:
        """See Rooms. A session that no conversation is at any more is nobody's private chat."""
        channel = await self.db.read(lambda conn: _private_channel(conn, session_id))
        if channel is None:
            raise ToolFailure(CLOSED)
        return Room(self.workspaces.of(owner), channel)


def _private_channel(conn: Connection, session_id: str) -> str | None:
    """The platform of the private chat that is at this session; None where there is none, or a group is there too."""
    root = session_id.partition("/")[0]
    query = select(_CONVERSATION.c.address, _CONVERSATION.c.private)
    found = conn.execute(query.where(_CONVERSATION.c.session_id == root)).all()
    if not found or not all(row.private for row in found):
        return None
    channels = {Address.parse(row.address).channel for row in found}
    return channels.pop() if len(channels) == 1 else "several"
