"""The whole core on a database, with a channel in memory and a scripted model: for tests of what people see.

Wired as gateway/app.py does it, without settings files, sockets and signals.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, text

from agent_core.finance.calendars import SimpleCalendars
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.memory.recall import OwnRecall
from agent_core.models.scripted import ScriptedModel
from agent_core.ports import Model
from agent_core.runtime.session import Services
from agent_core.runtime.team import Team
from channels.errors import UnknownChannel
from channels.types import Address, Author, Inbound, Kind
from gateway.alerts.desk import AlertDesk
from gateway.alerts.keeper import AlertKeeper
from gateway.budgets.budgets import Budgets
from gateway.budgets.paid_model import paying
from gateway.budgets.waiters import Waiters
from gateway.commands.commands import Commands
from gateway.engine.base import Engine
from gateway.engine.begin import Place
from gateway.engine.local import LocalEngine
from gateway.inbound.intake import Intake
from gateway.memory.archive import SessionArchive
from gateway.memory.learning import Learning, learner
from gateway.memory.notes import SessionNotes
from gateway.memory.recall_indexer import RecallIndexer
from gateway.memory.recalled import Recaller
from gateway.memory.remembering import Remembering
from gateway.metrics.observer import Observer, Observers
from gateway.model_house import ModelHouse
from gateway.outbound.sender import Sender
from gateway.presets.team_house import TeamHouse
from gateway.questions.approvals import Decisions
from gateway.questions.expiry import Expiry
from gateway.questions.outcome import carry_out
from gateway.recipes.recipes import Recipes
from gateway.redact import Redactor
from gateway.schedules.plan import plans
from gateway.schedules.schedule import Timer
from gateway.schedules.schedules import Schedules, runs_of
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from gateway.tasks.commands import Panel
from gateway.tasks.model import paid_model
from gateway.tasks.tasks import BackgroundTasks
from gateway.trading.portfolio import StoredPortfolio
from gateway.turns.runner import TurnRunner
from gateway.turns.turns import Turns
from swarm_presets.loader import PresetSet
from tests.harness import Toolbox, agent, team
from tests.loopback import Loopback

START = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
TOOLS = ("echo", "slow", "order", "fail", "hang")

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Watch:
    """A Clock that stands until it is moved; `sleep` notes how long somebody wanted to wait and moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.naps: list[float] = []

    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


STILL = 10  # turns of the loop in which a wake ends a rest


async def until(true: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.002)


def settings(**more: object) -> Settings:
    values = {
        "models": {"default": "demo"},
        "access": {"allow": ["telegram:1", "telegram:2"], "operators": ["telegram:9"]},
    }
    return Settings.model_validate(values | more)


class House:
    """Everything between a channel and a scripted model. Used as an async context manager."""

    def __init__(
        self,
        db: Database,
        script: Any,
        *,
        the_team: Team | None = None,
        clock: Watch | None = None,
        rules: Settings | None = None,
        channel: Loopback | None = None,
        nap: Callable[[float], Awaitable[None]] | None = None,
        still: bool = False,
        teacher: ScriptedModel | None = None,
        tools: Toolbox | None = None,
        prices: Sources | None = None,
        recipes: Recipes | None = None,
        observers: Sequence[Observer] = (),
        engine: Callable[["House"], Engine] | None = None,
    ) -> None:
        """`nap`: the sleep of the timer. `still`: turns wait for `later` too, else a wait of theirs moves the clock.

        `teacher`: learns in the background, which otherwise is left out. `tools`: those of the harness and more.

        `prices`: what alerts are judged by. `recipes`: skills and templates; without them there are none.

        `observers`: who looks on.
        `engine`: makes another one than the embedded engine.
        """
        self.db = db
        self.settings = rules or settings()
        self.clock = clock or Watch()
        self.channel = channel or Loopback()
        self.tools = tools or Toolbox()
        self.model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
        teams = {"test": the_team or team(agent(tools=TOOLS)), "other": team(agent("other"))}
        self.teams = TeamHouse(PresetSet(teams), "test")
        self.models = ModelHouse(self.settings.models, self.clock)
        seen = self.observers = Observers(observers)
        self.budgets = Budgets(
            self.settings.budgets.rules(self.settings.locale.timezone),
            self.clock,
            self.settings.access.operators,
            Waiters(self.clock, self._nap),
            observers=seen,
        )
        self.commands = Commands(
            self.settings.access,
            self.models,
            self.teams,
            recipes=recipes,
            busy=lambda: self.engine.busy(),  # noqa: PLW0108 - made below
            uptime=lambda: 3_661.0,
            groups=self.settings.groups,
            budgets=self.budgets,
        )
        self.senders = Sender(db, self.clock, self.find, self.clock.sleep, seen)
        self.timer = Timer(
            db,
            self.clock,
            self.senders,
            language=self.settings.locale.language,
            sleep=nap or self.clock.sleep,
            runs=runs_of(self.settings),
        )
        self.schedules = Schedules(
            db,
            self.clock,
            runs_of(self.settings),
            lambda: plans(self.settings, self.teams.all()),
            lambda: [(self.channel.name, self.channel.account)],
            self._connected,
            self.timer.wake,
        )
        desk = AlertDesk(db, self.clock, prices or Sources([BundledSource()], self.clock))
        self.alerts = AlertKeeper(
            db,
            self.clock,
            desk.sources,
            self.senders,
            SimpleCalendars(),
            self.settings.locale.language,
            self._rest,
        )
        desk.wake, self.commands.alerts = self.alerts.wake, desk
        registry = self.tools.registry()
        self.tasks = BackgroundTasks(
            db, self.clock, registry, Redactor(), model=self._asked, sleep=self._rest
        )
        self.commands.tasks = Panel(registry, self.tasks.desk.where)
        self.decisions = Decisions(self.settings.access, registry)
        self.expiry = Expiry(
            db,
            self.clock,
            self.decisions,
            lambda done: carry_out(done, self.senders, self.engine, seen),
            self._nap,
        )
        self.turns = Turns(
            db=db,
            clock=self.clock,
            place=Place("UTC", self.settings.locale.language),
            services=Services(
                registry,
                lambda name: self.model,
                self.clock,
                self._nap if still else self.clock.sleep,
                SessionArchive(db),
                SessionNotes(db, self.clock, Redactor()),
                OwnRecall(db),
                tasks=self.tasks.desk,
            ),
            teams=self.teams,
            models=self.models,
            senders=self.senders,
            channel=self.find,
            access=self.settings.access,
            ops_channel=self.settings.ops_channel,
            steer=self.settings.sessions.while_busy == "steer",
            groups=self.settings.groups,
            asked=self.expiry.changed,
            budgets=self.budgets,
            recipes=recipes,
            observers=seen,
        )
        self.teacher = teacher
        self.learning = Learning(
            db,
            self.clock,
            learner(db, self.clock, Redactor()),
            self._teachers,
            self._nap,
            paid=paying(db, self.budgets),
        )
        self.indexer = RecallIndexer(db)
        memory = Remembering(self.learning, self.indexer)
        self.turns.spoke, self.turns.condensed = memory.after, memory.condensed
        self.runner = TurnRunner(
            self.turns,
            self.commands,
            scheduled=self.timer.wake,
            left=memory.left,
            recaller=Recaller(
                db,
                self.clock,
                StoredPortfolio(db),
                OwnRecall(db),
                self.turns.known,
                self.turns.staff.memory,
                patience=60.0,  # what is recalled does not hang on how busy a machine is
            ),
        )
        self.engine: Engine = engine(self) if engine else self._local()
        self.budgets.waiters.wake = self.tasks.wake = self.engine.wake
        self.timer.start_turn = self.engine.wake
        self.intake = Intake(
            db,
            self.clock,
            self.settings,
            self.commands,
            self.engine,
            self.senders,
            self.runner.fresh,
            self.find,
            self.decisions,
            tasks_changed=self.tasks.desk.look,
            observers=seen,
        )
        self._keys = 0
        self._naps: list[tuple[float, asyncio.Event]] = []
        self._rests: list[tuple[float, asyncio.Event]] = []

    def _local(self) -> Engine:
        most = self.settings.sessions.max_running
        return LocalEngine(self.runner, max_running=most, sleep=self.clock.sleep)

    async def _asked(self, row: Any) -> Model | None:
        """The teacher answers for background tasks, too."""
        return paid_model(self.teacher, self.db, self.budgets, row) if self.teacher else None

    async def _teachers(self) -> tuple[Model, Model] | None:
        return (self.teacher, self.teacher) if self.teacher else None

    async def _connected(self) -> None:
        """The only bot always is."""

    async def _nap(self, seconds: float) -> None:
        """A sleep that is over when `later` has moved the clock as far."""
        woken = asyncio.Event()
        self._naps.append((self.clock.seconds + seconds, woken))
        await woken.wait()

    async def _rest(self, seconds: float) -> None:
        """A sleep like `_nap` of somebody who always sleeps, which tells a test nothing."""
        rest = (self.clock.seconds + seconds, asyncio.Event())
        self._rests.append(rest)
        try:
            await rest[1].wait()
        finally:
            self._rests.remove(rest)

    async def resting(self, seconds: float) -> None:
        """Until somebody who always sleeps does so for this long, and nobody has just woken them."""

        def rests() -> bool:
            return any(at == self.clock.seconds + seconds for at, _ in self._rests)

        still = 0
        while still < STILL:
            await until(rests)
            await asyncio.sleep(0)
            still = still + 1 if rests() else 0

    async def waiting(self) -> None:
        """Until somebody sleeps."""
        await until(lambda: any(at > self.clock.seconds for at, _ in self._naps))

    async def later(self, seconds: float) -> None:
        """Time passes; what expires, expires."""
        self.move(seconds)
        for _ in range(20):
            await asyncio.sleep(0.005)
        await self.quiet()

    def move(self, seconds: float) -> None:
        """Move the clock and wake whoever slept until then."""
        self.clock.seconds += seconds
        for at, woken in (*self._naps, *self._rests):
            if at <= self.clock.seconds:
                woken.set()

    def find(self, address: Address) -> Loopback:
        if (address.channel, address.account) != (self.channel.name, self.channel.account):
            raise UnknownChannel(str(address))
        return self.channel

    async def __aenter__(self) -> "House":
        self.channel.emit = self.intake.accept
        self.runner.last_tries.wake = self.engine.wake
        await self.senders.start()
        await self.expiry.start()
        await self.engine.start()
        await self.schedules.start()
        await self.timer.start()
        await self.alerts.start()
        await self.tasks.start()
        if self.teacher is not None:
            await self.learning.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.schedules.stop()
        await self.timer.stop()
        await self.alerts.stop()
        await self.expiry.stop()
        await self.budgets.waiters.stop()
        await self.engine.stop(0.0)
        await self.tasks.stop()
        if self.teacher is not None:
            await self.learning.stop()
        await self.senders.stop(0.0)
        await self.models.close()

    async def quiet(self) -> None:
        """Until nothing runs and nothing waits to be sent."""
        while self.engine.shared and await self.one("select count(*) from inbox where status < 2"):
            await asyncio.sleep(0.01)
        running = getattr(self.engine, "_running", ())
        await until(lambda: not running and not self.engine.busy() and not self.senders.pending())

    def inbound(
        self, words: str, *, author: str = "1", chat: str = "1", key: str = "", **more: Any
    ) -> Inbound:
        self._keys += 1
        return Inbound(
            Address(self.channel.name, self.channel.account, chat),
            key or f"m:{chat}:{self._keys}",
            Author(author, f"name {author}"),
            words,
            self.clock.now(),
            **more,
        )

    async def say(self, words: str, **more: Any) -> None:
        """A message comes in."""
        await self.channel.say(self.inbound(words, **more))

    async def press(self, data: str, **more: Any) -> None:
        """A button is pressed."""
        await self.say(data, kind=Kind.BUTTON, callback=f"cb{self._keys}", **more)

    async def ask(self, words: str, **more: Any) -> list[str]:
        """Say it, wait, and return what the chat shows."""
        await self.say(words, **more)
        await self.quiet()
        return self.channel.texts(more.get("chat", "1"))

    async def all(self, query: str) -> list[Any]:
        """Rows of a query."""

        def work(conn: Connection) -> list[Any]:
            return list(conn.execute(text(query)))

        return await self.db.read(work)

    async def one(self, query: str) -> Any:
        """The first value of a query."""
        return (await self.all(query))[0][0]
