"""All that keeps and watches alerts and reminders, made of the settings."""

from dataclasses import dataclass

from agent_core.finance.calendars_exchange import calendars
from agent_core.finance.sources.chain import Sources
from agent_core.ports import Clock
from gateway.alerts.desk import AlertDesk
from gateway.alerts.keeper import AlertKeeper
from gateway.outbound.sender import Sender
from gateway.schedules.reminders import StoredReminders
from gateway.settings.settings import Settings
from gateway.storage.db import Database


@dataclass(frozen=True, slots=True)
class AlertHouse:
    """`desk` and `reminders` are what tools and commands ask; nobody is waked by them before `keeper` was made."""

    desk: AlertDesk
    reminders: StoredReminders
    language: str

    def keeper(self, senders: Sender) -> AlertKeeper:
        """Who watches the alerts of the desk."""
        desk = self.desk
        made = AlertKeeper(desk.db, desk.clock, desk.sources, senders, calendars(), self.language)
        desk.wake = made.wake
        return made


def alert_house(settings: Settings, db: Database, clock: Clock, sources: Sources) -> AlertHouse:
    """Alerts on these sources; times of reminders are those of the installation."""
    return AlertHouse(
        AlertDesk(db, clock, sources),
        StoredReminders(db, clock, settings.locale.timezone),
        settings.locale.language,
    )
