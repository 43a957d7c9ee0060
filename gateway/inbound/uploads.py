"""Files that a person hands over before the message that they belong to: the web chat shows them while one writes.

Each is stored once under the person's principal, in the place's current session, so it outlives a reload of the page
and a kill. What the message then carries is its id; what becomes of it is a matter of its turn (`media.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select

from agent_core.ports import Clock, NewBlob
from agent_core.storage.statements import add_blob, blob_id
from agent_core.storage.tables import Blob
from agent_core.tools.document_text import is_readable
from channels.types import Attachment
from gateway.inbound import conversation, documents, pictures
from gateway.inbound.media import is_spoken
from gateway.people.identity import principal_of
from gateway.people.rate import Allowance, RateLimit
from gateway.redact import Redactor
from gateway.storage.clean_rows import clean_blob
from gateway.storage.db import Database

_BLOB = Blob.__table__  # type: ignore[attr-defined]
PER_MINUTE = 60  # files of one person: three messages full of them, and tries


class TooManyFiles(Exception):
    """This person has handed over too many files within a minute."""


@dataclass(slots=True)
class Uploads:
    """Takes files in. `hears`: whether spoken words can be understood."""

    db: Database
    clock: Clock
    redactor: Redactor
    hears: Callable[[], bool] = lambda: False
    _rate: RateLimit = field(default_factory=lambda: RateLimit(PER_MINUTE))

    def usable(self, name: str, media_type: str) -> bool:
        """Whether name or type promise something that a turn can do anything with."""
        return (
            pictures.can_open(name, media_type)
            or documents.is_text(name, media_type)
            or is_readable(name, media_type)
            or (self.hears() and is_spoken(Attachment(name, media_type)))
        )

    def admit(self, person: str) -> None:
        """Count one file of a person. Raises TooManyFiles."""
        if self._rate.check(person, self.clock.monotonic()) is not Allowance.TAKE:
            raise TooManyFiles(person)

    async def keep(
        self, person: str, lane_id: str, name: str, media_type: str, data: bytes
    ) -> str | None:
        """Store a file without the secrets that its text holds; returns its id, None where the place is gone."""

        def work(conn: Connection) -> str | None:
            lane = conversation.find(conn, lane_id)
            if lane is None:
                return None
            owner = principal_of(conn, person)
            blob = NewBlob(blob_id(owner, data), name, media_type, data)
            clean = clean_blob(self.redactor, blob)
            now = self.clock.now()
            add_blob(conn, owner=owner, session_id=lane.session_id, blob=clean, now=now)
            return blob.id

        return await self.db.write(work)

    async def of(self, person: str, ids: Sequence[str]) -> list[Attachment]:
        """Files of a person by their ids, without their bytes. Raises KeyError for any other."""
        found = await self.db.read(lambda conn: _of(conn, person, ids))
        return [found[wanted] for wanted in ids]


def _of(conn: Connection, person: str, ids: Sequence[str]) -> dict[str, Attachment]:
    owners = {person, principal_of(conn, person)}
    size = func.length(_BLOB.c.data).label("size")
    query = select(_BLOB.c.id, _BLOB.c.name, _BLOB.c.media_type, size)
    rows = conn.execute(query.where(_BLOB.c.id.in_(ids), _BLOB.c.owner.in_(owners)))
    return {row.id: Attachment(row.name, row.media_type, ref=row.id, size=row.size) for row in rows}
