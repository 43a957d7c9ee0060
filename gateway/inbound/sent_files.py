"""The files that a person sent in a conversation, for read_document: what media.py stored, found by its rows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.storage.statements import load_blob
from agent_core.storage.tables import Blob, Transcript
from agent_core.tools.documents import SentFile
from agent_core.types import RowKind
from gateway.storage.db import Database

_BLOB = Blob.__table__  # type: ignore[attr-defined]
_TRANSCRIPT = Transcript.__table__  # type: ignore[attr-defined]
_MARK = '"files": [['  # how a row's meta begins to name its files


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """See agent_core.tools.documents.SentFiles."""

    db: Database

    async def list(self, owner: str, session_id: str) -> Sequence[SentFile]:
        """See SentFiles. A sub-agent sees those of the conversation that it works for."""
        return await self.db.read(lambda conn: _sent(conn, owner, session_id.partition("/")[0]))

    async def data(self, owner: str, file_id: str) -> bytes | None:
        """See SentFiles."""
        found = await self.db.read(lambda conn: load_blob(conn, owner, file_id))
        return None if found is None else found[0]


def _sent(conn: Connection, owner: str, session_id: str) -> list[SentFile]:
    """A file that was sent again is listed once, as the newest."""
    query = select(_TRANSCRIPT.c.meta, _TRANSCRIPT.c.at).where(
        _TRANSCRIPT.c.session_id == session_id,
        _TRANSCRIPT.c.kind == RowKind.USER.value,
        _TRANSCRIPT.c.meta.contains(_MARK, autoescape=True),
    )
    found: dict[str, SentFile] = {}
    for row in conn.execute(query.order_by(_TRANSCRIPT.c.seq)):
        for file_id, name, media_type in json.loads(row.meta)["files"]:
            found.pop(file_id, None)
            found[file_id] = SentFile(file_id, name, media_type, row.at)
    mine = select(_BLOB.c.id).where(_BLOB.c.id.in_(found), _BLOB.c.owner == owner)
    ids = set(conn.execute(mine).scalars())
    return [file for file in found.values() if file.id in ids]
