"""The tool `remind` over the same words as the command (agent_core.tools.remind.Reminders)."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.ports import Clock
from agent_core.tools.remind import Answer
from gateway.alerts import alerts
from gateway.commands import remind as commands_remind
from gateway.commands.commands import Asked
from gateway.inbound import conversation
from gateway.inbound.router import Route
from gateway.people.identity import Language
from gateway.storage.db import Database


@dataclass(slots=True)
class StoredReminders:
    """See Reminders. `wake` is called after a change, once it is committed; `timezone` is the installation's."""

    db: Database
    clock: Clock
    timezone: str
    wake: Callable[[], None] = lambda: None

    def changed(self) -> None:
        """A reminder was added by other ways, and that is committed."""
        self.wake()

    async def carry_out(self, turn_id: int, words: str, language: str) -> Answer:
        """See Reminders."""
        spoken: Language = "zh" if language == "zh" else "en"

        def work(conn: Connection) -> Answer:
            place = alerts.place_of_turn(conn, turn_id)
            lane = conversation.find(conn, place.conversation_id) if place else None
            if place is None or lane is None:
                return Answer("nobody could be reminded here", done=False)
            way, now = Route("lane", "remind", words), self.clock.now()
            asked = Asked(lane, place.person, spoken, way, now, turn_id, zone=self.timezone)
            return commands_remind.carry_out(conn, asked)

        answer = await self.db.write(work)
        if answer.done:
            self.wake()
        return answer
