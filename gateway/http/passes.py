"""What opens the web chat, and what no longer does, as rows: every replica and every later process knows them."""

import datetime as dt
from typing import Protocol

from sqlalchemy import Connection, delete, insert, select

from gateway.storage.db import Database
from gateway.storage.tables_web import WebCode, WebEnded

_CODE = WebCode.__table__  # type: ignore[attr-defined]
_ENDED = WebEnded.__table__  # type: ignore[attr-defined]
MAX_CODES = 20


class Passes(Protocol):
    """One-time codes that are open, by the digest of each, and cookies that were logged out, by their nonce."""

    async def offer(self, digest: str, person: str, now: dt.datetime, until: dt.datetime) -> None:
        """Keep a code until it is taken or its time is over. The oldest of more than MAX_CODES gives way."""
        ...

    async def take(self, digest: str, now: dt.datetime) -> str | None:
        """The person of this code, to one caller alone; None where there is none that holds."""
        ...

    async def refuse(self, nonce: str, person: str, now: dt.datetime, until: dt.datetime) -> None:
        """Let this cookie in no more; remembered `until` it would have ended by itself."""
        ...

    async def refused(self, nonce: str) -> bool:
        """Whether this cookie was logged out."""
        ...


class StoredPasses:
    """Passes in the database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def offer(self, digest: str, person: str, now: dt.datetime, until: dt.datetime) -> None:
        """See Passes."""
        await self._db.write(lambda conn: _offer(conn, digest, person, now, until))

    async def take(self, digest: str, now: dt.datetime) -> str | None:
        """See Passes."""
        return await self._db.write(lambda conn: _take(conn, digest, now))

    async def refuse(self, nonce: str, person: str, now: dt.datetime, until: dt.datetime) -> None:
        """See Passes."""
        await self._db.write(lambda conn: _refuse(conn, nonce, person, now, until))

    async def refused(self, nonce: str) -> bool:
        """See Passes."""
        query = select(_ENDED.c.id).where(_ENDED.c.id == nonce)
        return await self._db.read(lambda conn: conn.execute(query).first() is not None)


def _offer(
    conn: Connection, digest: str, person: str, now: dt.datetime, until: dt.datetime
) -> None:
    conn.execute(delete(_CODE).where(_CODE.c.expires_at <= now))
    conn.execute(insert(_CODE), {"id": digest, "owner": person, "expires_at": until})
    newest = select(_CODE.c.id).order_by(_CODE.c.expires_at.desc()).limit(MAX_CODES)
    conn.execute(delete(_CODE).where(_CODE.c.id.not_in(newest.scalar_subquery())))


def _take(conn: Connection, digest: str, now: dt.datetime) -> str | None:
    wanted = delete(_CODE).where(_CODE.c.id == digest).returning(_CODE.c.owner, _CODE.c.expires_at)
    row = conn.execute(wanted).first()
    return str(row.owner) if row is not None and row.expires_at > now else None


def _refuse(
    conn: Connection, nonce: str, person: str, now: dt.datetime, until: dt.datetime
) -> None:
    conn.execute(delete(_ENDED).where(_ENDED.c.expires_at <= now))
    known = select(_ENDED.c.id).where(_ENDED.c.id == nonce)
    if conn.execute(known).first() is None:
        conn.execute(insert(_ENDED), {"id": nonce, "owner": person, "expires_at": until})
