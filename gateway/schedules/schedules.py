"""Keeps the table of scheduled runs at what settings and presets say, at the start and after each edit."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy import Connection

from agent_core.ports import Clock
from channels.manager import ChannelManager
from gateway.presets.team_house import TeamHouse
from gateway.schedules.plan import Plan, plans
from gateway.schedules.runs import Runs
from gateway.schedules.schedule import Timer
from gateway.settings.settings import Settings
from gateway.storage.db import Database

log = logging.getLogger(__name__)


class Schedules:
    """Started after the channels and before the timer.

    `accounts` are the bots that run, as (channel, account); `ready` returns once they know their accounts. `wake` tells
    the timer that the table has changed.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        runs: Runs,
        plans: Callable[[], Sequence[Plan]],
        accounts: Callable[[], Sequence[tuple[str, str]]],
        ready: Callable[[], Awaitable[None]],
        wake: Callable[[], None],
    ) -> None:
        self._db = db
        self._clock = clock
        self._runs = runs
        self._plans = plans
        self._accounts = accounts
        self._ready = ready
        self._wake = wake
        self._started = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Write what is planned; chats of bots that are not connected yet follow when they are."""
        self._started = True
        if await self._sync():
            self._task = asyncio.create_task(self._when_ready(), name="schedules")

    async def stop(self) -> None:
        """End the waiting for bots. Harmless where it was not started."""
        self._started = False
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def changed(self) -> None:
        """Presets were read again: what they schedule now is in the table when this returns.

        Nothing where this was not started: another process, which sees the same files, keeps the table.
        """
        if self._started:
            _report(await self._sync())

    async def _when_ready(self) -> None:
        try:
            await self._ready()
            _report(await self._sync())
        except Exception:  # what is in the table goes on; the next edit or start tries again
            log.exception("schedules_not_read")

    async def _sync(self) -> list[Plan]:
        """Returns the plans whose chat is not known."""
        plans, accounts, now = self._plans(), self._accounts(), self._clock.now()

        def work(conn: Connection) -> list[Plan]:
            return self._runs.sync(conn, plans, accounts, now)

        lost = await self._db.write(work)
        self._wake()
        return lost


def runs_of(settings: Settings) -> Runs:
    """The rules of scheduled runs of this installation."""
    return Runs(settings.access, settings.groups, settings.locale.language)


def schedules_of(
    settings: Settings,
    db: Database,
    clock: Clock,
    teams: TeamHouse,
    channels: ChannelManager,
    timer: Timer,
) -> Schedules:
    """What settings and presets schedule, for the bots of these channels."""
    return Schedules(
        db,
        clock,
        runs_of(settings),
        lambda: plans(settings, teams.all()),
        lambda: [(bot.name, bot.account) for bot in channels.states()],
        channels.wait_ready,
        timer.wake,
    )


def _report(lost: Sequence[Plan]) -> None:
    for plan in lost:
        cure = (
            "write there once, or name the bot's account too; a private chat is that of its person"
        )
        fields = {"of": plan.spec.source, "cron": plan.cron, "chat": plan.chat, "cure": cure}
        log.error("schedule_without_chat", extra=fields)
