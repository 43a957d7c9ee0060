"""What is offered while a person types a command's argument, on platforms that ask for it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.ports import Clock
from channels.types import Address, Author
from gateway.commands.commands import Commands
from gateway.inbound import conversation, sessions
from gateway.inbound.sessions import Entry
from gateway.people import identity
from gateway.people.identity import Language, language_of, person_id
from gateway.settings.groups import Groups
from gateway.storage.db import Database
from gateway.texts.texts import say

Pairs = Sequence[tuple[str, str]]
OFFERED = 25  # Discord's own limit
TITLE_CHARS = 70


@dataclass(frozen=True, slots=True)
class Completions:
    """Choices for an argument: presets and models for everybody, sessions for whose they are."""

    db: Database
    clock: Clock
    commands: Commands
    groups: Groups
    language: str = "auto"

    async def __call__(self, command: str, typed: str, author: Author, place: Address) -> Pairs:
        """(shown, value) pairs, the best first."""
        if command != "resume":
            return await self.commands.complete(command, typed, author)
        now = self.clock.now()
        return await self.db.read(lambda conn: self._sessions(conn, typed, author, place, now))

    def _sessions(
        self, conn: Connection, typed: str, author: Author, place: Address, now: dt.datetime
    ) -> Pairs:
        """The person's own sessions of this place, but for the one that goes on there; newest first."""
        person = person_id(place, author)
        known = identity.known(conn, person)
        lane = conversation.find(conn, conversation.lane_id(place))
        if self.groups.rules(place).session == "person":
            own = conversation.find(conn, conversation.lane_id(place, person))
            lane = own or (lane if lane is not None and lane.private else None)
        if lane is None or known.revoked:
            return ()
        language = language_of("", author.language, self.language, known.language)
        mine = [
            entry
            for entry in sessions.of_place(conn, lane)
            if not entry.current and identity.principal_of(conn, entry.owner) == known.principal
        ]
        pairs = [(_shown(entry, now, language), entry.id) for entry in mine]
        wanted = typed.casefold()
        fitting = [p for p in pairs if wanted in p[0].casefold() or p[1].startswith(wanted)]
        return fitting[:OFFERED]


def _shown(entry: Entry, now: dt.datetime, language: Language) -> str:
    title = " ".join(entry.title.split()) or say("untitled", language)
    title = title if len(title) <= TITLE_CHARS else title[: TITLE_CHARS - 1] + "…"
    return f"{title} · {age(now - entry.last_at, language)}"


def age(span: dt.timedelta, language: Language) -> str:
    """How long ago, in its largest unit."""
    seconds = max(0, int(span.total_seconds()))
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= length:
            return say(f"ago_{unit}", language, count=seconds // length)
    return say("ago_now", language)
