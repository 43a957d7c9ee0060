"""Operators hear of a preset that an edit broke, where they talk to the bot; the last good one goes on meanwhile."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.ports import Clock
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.outbound.sender import Sender
from gateway.people.identity import Language
from gateway.people.operators import places
from gateway.storage.db import Database
from gateway.texts.texts import say
from swarm_presets.problems import Problem

NO_TURN = 0  # of rows that belong to no message of anybody


@dataclass(frozen=True, slots=True)
class PresetNews:
    """Tells each operator with a private conversation once of each edit."""

    db: Database
    clock: Clock
    senders: Sender
    operators: Sequence[str]
    language: str

    async def __call__(self, problems: Sequence[Problem]) -> None:
        """The errors that an edit brought, the first one first; durable when this returns."""
        if not problems or not self.operators:
            return
        now = self.clock.now()
        stamp = hashlib.sha256(f"{problems}{now}".encode()).hexdigest()[:16]

        def work(conn: Connection) -> list[tuple[int, Draft]]:
            drafts = [
                Draft(
                    NO_TURN,
                    f"preset:{stamp}:{place.person}",
                    place.person,
                    place.address,
                    _told(problems, place.language),
                )
                for place in places(conn, self.operators, self.language)
            ]
            return [(outbox.put(conn, draft, now), draft) for draft in drafts]

        for letter in await self.db.write(work):
            self.senders.send(self.senders.letter(*letter))


def _told(problems: Sequence[Problem], language: Language) -> str:
    first = problems[0]
    text = say(
        "preset_edit_broken",
        language,
        place=f"{first.file}:{first.line}:{first.column}",
        code=first.code,
        message=first.message,
        cure=first.cure,
    )
    more = len(problems) - 1
    return f"{text}\n{say('preset_edit_broken_more', language, count=more)}" if more else text
