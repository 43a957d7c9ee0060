"""channels.web.host.WebHost over the database: people by cookie, their web sessions, and what each shows.

History is what the person saw: inbox rows and sent replies of the place, not the transcript, which
also holds what only models read.
"""

import asyncio
import datetime as dt
import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web
from sqlalchemy import Connection, func, select

from agent_core.finance.chart_dark import darkened
from agent_core.ports import Clock
from agent_core.storage.statements import load_blob
from agent_core.storage.tables import Session
from channels.types import Address, Kind, Step
from channels.web.host import (
    FileData,
    FileItem,
    FileLimits,
    HistoryItem,
    SessionItem,
    Unfit,
)
from channels.web.routes import ref_of
from gateway.commands.commands import Commands
from gateway.http.auth import CookieSessions
from gateway.inbound import conversation, inbox
from gateway.inbound.media import MAX_BYTES, MAX_FILES
from gateway.inbound.uploads import TooManyFiles, Uploads
from gateway.outbound.draft import button_of
from gateway.people.identity import principal_of
from gateway.storage.db import Database
from gateway.storage.tables import Conversation, Inbox, Outbox, OutboxStatus

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
_SESSION = Session.__table__  # type: ignore[attr-defined]
_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
PREFIX = "web:local:"
TITLE_CHARS = 60
NEWEST = 400  # messages of a very long session
# With an id: one that is about to be sent has none yet, and its message will tell it to whoever looks.
_SAID = (OutboxStatus.READY, OutboxStatus.SENT)


def address_of(session_id: str) -> Address:
    """The place of a web session."""
    return Address("web", "local", session_id)


class GatewayWebHost:
    """See channels.web.host.WebHost.

    A person here is the cookie's; its id elsewhere is `web:<person>`.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        cookies: CookieSessions,
        commands: Commands,
        uploads: Uploads,
    ) -> None:
        self._db = db
        self._clock = clock
        self._cookies = cookies
        self._commands = commands
        self._uploads = uploads

    async def person(self, request: web.Request) -> str | None:
        """See WebHost."""
        return await self._cookies.person(request)

    async def sessions(self, person: str) -> Sequence[SessionItem]:
        """See WebHost."""
        return await self._db.read(lambda conn: _sessions(conn, f"web:{person}"))

    async def create(self, person: str) -> SessionItem:
        """See WebHost."""
        session_id, now = secrets.token_hex(8), self._clock.now()
        address, owner = address_of(session_id), f"web:{person}"
        await self._db.write(
            lambda conn: conversation.ensure(conn, address, private=True, owner=owner, now=now)
        )
        return SessionItem(session_id, "", now)

    async def owns(self, person: str, session_id: str) -> bool:
        """See WebHost."""
        lane = await self._db.read(lambda conn: conversation.find(conn, PREFIX + session_id))
        return lane is not None and lane.owner == f"web:{person}"

    async def history(self, person: str, session_id: str) -> Sequence[HistoryItem]:
        """See WebHost."""
        if not await self.owns(person, session_id):
            raise KeyError(session_id)
        return await self._db.read(lambda conn: _history(conn, PREFIX + session_id))

    async def file(self, person: str, ref: str, *, dark: bool = False) -> FileData:
        """See WebHost."""
        found = await self._db.read(lambda conn: _file(conn, f"web:{person}", ref))
        if found is None:
            raise KeyError(ref)
        file = FileData(*found)
        if dark and file.media_type == "image/png":
            turned = await asyncio.to_thread(darkened, file.data)
            return file if turned is None else replace(file, data=turned)
        return file

    @property
    def limits(self) -> FileLimits:
        """See WebHost."""
        return FileLimits(MAX_BYTES, MAX_FILES)

    def admit(self, person: str, name: str, media_type: str) -> None:
        """See WebHost."""
        if not self._uploads.usable(name, media_type):
            raise Unfit("file_kind", f"Nothing can be done here with a file such as {name}.")
        try:
            self._uploads.admit(f"web:{person}")
        except TooManyFiles:
            raise Unfit("file_often", "Too many files within a minute: wait a little.") from None

    async def keep(
        self, person: str, session_id: str, name: str, media_type: str, data: bytes
    ) -> FileItem:
        """See WebHost."""
        ref = await self._uploads.keep(f"web:{person}", PREFIX + session_id, name, media_type, data)
        if ref is None:
            raise KeyError(session_id)
        return FileItem(ref, name, media_type, size=len(data))

    async def kept(self, person: str, refs: Sequence[str]) -> Sequence[FileItem]:
        """See WebHost."""
        found = await self._uploads.of(f"web:{person}", refs)
        return [FileItem(f.ref or "", f.name, f.media_type, size=f.size) for f in found]

    def commands(self, language: str) -> Sequence[tuple[str, str]]:
        """See WebHost."""
        return self._commands.menu("zh" if language == "zh" else "en")


def _file(conn: Connection, person: str, ref: str) -> tuple[bytes, str, str] | None:
    """A file of this person, or of the one they are linked with: a turn's files are its principal's."""
    for owner in dict.fromkeys((person, principal_of(conn, person))):
        if found := load_blob(conn, owner, ref):
            return found
    return None


def _sessions(conn: Connection, owner: str) -> list[SessionItem]:
    query = (
        select(
            _CONVERSATION.c.id,
            _CONVERSATION.c.created_at,
            func.min(_INBOX.c.id).label("first"),
            func.max(_INBOX.c.id).label("last"),
        )
        .join(_SESSION, _SESSION.c.id == _CONVERSATION.c.session_id)
        .outerjoin(_INBOX, _INBOX.c.conversation_id == _CONVERSATION.c.id)
        .where(_SESSION.c.owner == owner, _CONVERSATION.c.id.startswith(PREFIX))
        .group_by(_CONVERSATION.c.id, _CONVERSATION.c.created_at)
    )
    found = list(conn.execute(query))
    wanted = {i for row in found for i in (row.first, row.last) if i is not None}
    rows = conn.execute(select(_INBOX).where(_INBOX.c.id.in_(wanted)))
    items = {row.id: inbox.item_of(row) for row in rows}
    made = [
        _session(row.id, row.created_at, items.get(row.first), items.get(row.last)) for row in found
    ]
    return sorted(made, key=lambda item: item.updated_at, reverse=True)


def _session(
    lane: str, created: dt.datetime, first: inbox.Item | None, last: inbox.Item | None
) -> SessionItem:
    said = (first.text or " ".join(file.name for file in first.attachments)) if first else ""
    title = " ".join(said.split())[:TITLE_CHARS]
    return SessionItem(lane.removeprefix(PREFIX), title, last.at if last else created)


def _history(conn: Connection, lane: str) -> list[HistoryItem]:
    asked = select(_INBOX).where(_INBOX.c.conversation_id == lane).order_by(_INBOX.c.id.desc())
    said = (
        select(_OUTBOX)
        .where(_OUTBOX.c.lane == lane, _OUTBOX.c.status.in_(_SAID), _OUTBOX.c.ids != "[]")
        .order_by(_OUTBOX.c.id.desc())
    )
    items = [
        _asked(inbox.item_of(row)) for row in reversed(conn.execute(asked.limit(NEWEST)).all())
    ]
    items += [_said(row) for row in reversed(conn.execute(said.limit(NEWEST)).all())]
    return sorted((item for item in items if item is not None), key=lambda item: item.at)


def _asked(item: inbox.Item) -> HistoryItem | None:
    if item.kind is not Kind.MESSAGE:
        return None
    files = [
        FileItem(ref_of(file)[1], file.name, file.media_type, size=file.size)
        for file in item.attachments
    ]
    return HistoryItem(item.key, "user", item.text, item.at, files, again=item.again)


def _said(row: Any) -> HistoryItem:
    body = json.loads(row.body)
    return HistoryItem(
        json.loads(row.ids)[0],
        "assistant",
        body["text"],
        row.sent_at or row.at,
        files=[FileItem(*entry) for entry in body["files"]],
        buttons=[button_of(entry) for entry in body["buttons"]],
        steps=[Step(*entry) for entry in body.get("steps", ())],
    )
