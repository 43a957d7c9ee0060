"""A person's own page with the bot, where a platform has one (Slack's App Home): status, settings, commands."""

from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.ports import Clock
from channels.types import Inbound, Outbound
from gateway.commands.commands import Asked, Commands
from gateway.inbound import conversation
from gateway.inbound.arrival import arrival
from gateway.inbound.router import Route
from gateway.people import access
from gateway.people.identity import language_of, person_id
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from gateway.texts.texts import say


@dataclass(frozen=True, slots=True)
class HomePages:
    """Makes the page that `Kind.HOME` asks for. Opening it starts no turn and stores no message."""

    db: Database
    clock: Clock
    settings: Settings
    commands: Commands

    async def page(self, inbound: Inbound) -> Outbound | None:
        """The page, in the person's language; None for who is shut out. A stranger sees the pairing code."""
        text = await self.db.write(lambda conn: self._text(conn, inbound))
        return Outbound(inbound.address, text) if text else None

    def _text(self, conn: Connection, inbound: Inbound) -> str:
        person, now = person_id(inbound.address, inbound.author), self.clock.now()
        found = arrival(conn, person, conversation.lane_id(inbound.address))
        policy, name = self.settings.access, inbound.author.name
        verdict = access.judge(conn, policy, person, name, now, found.standing)
        setting = self.settings.locale.language
        language = language_of("", inbound.author.language, setting, verdict.language)
        if not verdict.allowed:
            hours = access.PAIRING_HOURS
            code = verdict.code
            return say("pairing", language, code=code, hours=hours) if code else ""
        lane = found.lane or conversation.ensure(
            conn, inbound.address, private=True, owner=person, now=now
        )
        asked = [
            Asked(lane, person, language, Route("at_once", name), now)
            for name in ("status", "help")
        ]
        return "\n\n".join(["## Swarmgate", *(self.commands.run(conn, one) for one in asked)])
