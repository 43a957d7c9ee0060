"""What tools and commands ask of alerts and reminders: agent_core.tools.alerts.Alerts and .remind.Reminders."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.book import Alert
from agent_core.finance.alert_words import BadRule, Said, parse
from agent_core.finance.sources.chain import Sources
from agent_core.ports import Clock
from agent_core.storage import alerts as rows
from agent_core.tools.alerts import NewAlert, prepare
from agent_core.tools.spec import ToolContext, ToolFailure
from gateway.alerts import alerts
from gateway.alerts.alerts import MAX_OPEN, Place
from gateway.people.identity import Language
from gateway.storage.db import Database
from gateway.texts.texts import say

log = logging.getLogger(__name__)


@dataclass(slots=True)
class AlertDesk:
    """See Alerts. `wake` is called when alerts have changed, after the commit."""

    db: Database
    clock: Clock
    sources: Sources
    wake: Callable[[], None] = lambda: None

    async def add(self, owner: str, turn_id: int, new: NewAlert, language: str) -> Alert:
        """See Alerts."""

        def work(conn: Connection) -> Alert | None:
            place = _mine(conn, owner, turn_id)
            return alerts.add(conn, place, new, language, self.clock.now())

        kept = await self.db.write(work)
        if kept is None:
            spoken: Language = "zh" if language == "zh" else "en"
            raise ToolFailure(say("alert_many", spoken, limit=MAX_OPEN))
        self.wake()
        return kept

    async def mine(self, owner: str, turn_id: int) -> Sequence[Alert]:
        """See Alerts."""

        def work(conn: Connection) -> Sequence[Alert]:
            place = _mine(conn, owner, turn_id)
            return rows.of_place(conn, owner, place.conversation_id)

        return await self.db.read(work)

    async def remove(self, owner: str, turn_id: int, alert_id: int) -> bool:
        """See Alerts."""

        def work(conn: Connection) -> bool:
            return alerts.remove(conn, _mine(conn, owner, turn_id), alert_id)

        return await self.db.write(work)

    async def look(self, words: str, language: Language) -> NewAlert | str | None:
        """What a command's words ask for, with its prices; a text says why it cannot be, None that it is no rule."""
        try:
            said: Said | None = parse(words, language)
            if said is None or not said.about:
                return None
            ctx = ToolContext("", "", 0, "", language, self.clock)
            return await prepare(self.sources, ctx, said.about, said.rule, repeat=said.repeat)
        except (BadRule, ToolFailure) as e:
            return str(e)
        except Exception:  # a source of another package may raise anything; the lane must go on
            log.exception("alert_not_looked_up")
            return say("alert_no_prices", language)


def _mine(conn: Connection, owner: str, turn_id: int) -> Place:
    place = alerts.place_of_turn(conn, turn_id)
    if place is None or place.owner != owner:
        raise ToolFailure("no alert can be kept here: nobody could be told")
    return place
