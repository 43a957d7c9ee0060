"""What the web chat needs to know of people, sessions and history. The gateway implements it.

The web channel has no database: it asks this port. All texts are Markdown, all times are aware and in UTC.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from aiohttp import web

from channels.types import Button, Step


@dataclass(frozen=True, slots=True)
class SessionItem:
    """A line of the session list. `id` is the chat part of the session's address; an empty title means a new chat."""

    id: str
    title: str
    updated_at: dt.datetime


@dataclass(frozen=True, slots=True)
class FileItem:
    """A file of a message; `ref` opens it at /chat/files/{ref}. `size` is in bytes, None where nobody counted."""

    ref: str
    name: str
    media_type: str
    caption: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A message as the page shows it.

    `id`: a person's message has the key of its Inbound, an answer has the first id in its receipt; so the page
    recognises what it already shows. `steps` are what tools and sub-agents did for an answer (none: not known). `again`
    is the id of the earlier message that a person's message says anew.
    """

    id: str
    role: Literal["user", "assistant"]
    text: str
    at: dt.datetime
    files: Sequence[FileItem] = ()
    buttons: Sequence[Button] = ()
    steps: Sequence[Step] = ()
    again: str | None = None


@dataclass(frozen=True, slots=True)
class FileData:
    """The bytes behind a `ref`."""

    data: bytes
    media_type: str
    name: str


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What people may send: `bytes` in one file, `count` files with one message."""

    bytes: int
    count: int


class Unfit(Exception):
    """A file is not taken.

    `code`: "file_kind" (nothing could be done with it), "file_large", "file_empty" or "file_often" (too many within a
    minute).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class WebHost(Protocol):
    """The gateway, as the web chat sees it. Methods may be called side by side; cancelling one leaves nothing open."""

    async def person(self, request: web.Request) -> str | None:
        """The stable id of who asks, such as "alice"; None when nobody is logged in."""
        ...

    async def sessions(self, person: str) -> Sequence[SessionItem]:
        """The person's web sessions, the one with the newest message first."""
        ...

    async def create(self, person: str) -> SessionItem:
        """A new session of this person, there when it returns."""
        ...

    async def owns(self, person: str, session_id: str) -> bool:
        """Whether the session exists and is this person's. Cheap: it is asked for every message and press."""
        ...

    async def history(self, person: str, session_id: str) -> Sequence[HistoryItem]:
        """The messages of a session, oldest first; of a very long one the newest may do.

        A person's message is in it once `emit` has returned, an answer once it was sent. Raises KeyError for a
        session that is not the person's.
        """
        ...

    async def file(self, person: str, ref: str, *, dark: bool = False) -> FileData:
        """A file of one of the person's sessions. Raises KeyError for any other.

        `dark`: of a picture that has a form for dark pages, that form.
        """
        ...

    @property
    def limits(self) -> FileLimits:
        """How much people may send."""
        ...

    def admit(self, person: str, name: str, media_type: str) -> None:
        """Whether a file may be handed over now; asked before its bytes are read. Raises Unfit."""
        ...

    async def keep(
        self, person: str, session_id: str, name: str, media_type: str, data: bytes
    ) -> FileItem:
        """Store a file for a message that the person is about to send; it is there when this returns.

        Equal bytes are stored once. Raises KeyError for a session that is not the person's.
        """
        ...

    async def kept(self, person: str, refs: Sequence[str]) -> Sequence[FileItem]:
        """Files of the person, in this order. Raises KeyError when one is not."""
        ...

    def commands(self, language: str) -> Sequence[tuple[str, str]]:
        """(name without slash, description) of the commands, in the order of the menu; language is "en" or "zh"."""
        ...
