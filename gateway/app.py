"""The composition root: the only module that wires concrete objects. Their life is a matter of process.py."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from agent_core.memory.recall import OwnRecall
from agent_core.runtime.session import Services
from agent_core.tools.registry import Registry
from channels.base import Channel, HasRoutes
from channels.manager import ChannelManager
from channels.web.channel import WebChannel
from gateway.approvals import Decisions, carry_out
from gateway.archive import SessionArchive
from gateway.budget_waiters import Waiters
from gateway.budgets import Budgets
from gateway.clock import SystemClock
from gateway.commands import Commands
from gateway.conversation import Lane
from gateway.db import Database, url_of
from gateway.engine.begin import Place
from gateway.engine.local import LocalEngine
from gateway.expiry import Expiry
from gateway.history import OwnHistory
from gateway.http.app import HttpServer
from gateway.http.auth import CookieSessions, OneTimeCodes, load_secret
from gateway.http.login import Login
from gateway.intake import Intake
from gateway.learning import Learning, learner, nobody, teachers
from gateway.local_decisions import LocalDesk
from gateway.model_house import ModelHouse
from gateway.notes import SessionNotes
from gateway.portfolio import StoredPortfolio
from gateway.preset_watch import PresetWatch
from gateway.recall_indexer import RecallIndexer
from gateway.recalled import Recaller
from gateway.redact import Redactor
from gateway.remembering import Remembering
from gateway.runner import TurnRunner
from gateway.schedule import Timer
from gateway.schema import open_database
from gateway.sender import Sender
from gateway.settings import Settings
from gateway.team_house import TeamHouse, load_presets
from gateway.toolbox import toolbox
from gateway.turns import Turns
from gateway.upkeep import MemoryUpkeep
from gateway.waiting import AskingLanes
from gateway.web_host import GatewayWebHost
from swarm_presets.files import Reader

log = logging.getLogger(__name__)
OWNER = "me"  # the person whom the printed code logs in


@dataclass(slots=True)
class Core:
    """Everything without a way in: database, engine, models, presets."""

    db: Database
    clock: SystemClock
    models: ModelHouse
    commands: Commands
    engine: LocalEngine
    senders: Sender
    intake: Intake
    channels: ChannelManager
    timer: Timer
    expiry: Expiry
    desk: LocalDesk
    memory: Remembering
    budgets: Budgets
    presets: PresetWatch


async def build(settings: Settings) -> Core:
    """Open the database, take the engine role and wire the core. Raises DatabaseError, SettingsError."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    secret = settings.database
    url = url_of(secret.get_secret_value() if secret else None, settings.data_dir)
    db = await open_database(url)
    try:
        await db.lock_engine()
        return _wire(settings, db)
    except BaseException:
        await db.close()
        raise


def _wire(settings: Settings, db: Database) -> Core:
    clock, redactor = SystemClock(), Redactor(settings.secrets())
    registry = toolbox(OwnHistory(db) if settings.memory.enabled else None, settings.knowledge_dir)
    models = ModelHouse(settings.models, clock)
    teams = _teams(settings, registry)
    channels = ChannelManager()
    budgets = _budgets(settings, clock)
    commands = _commands(settings, models, teams, channels, budgets)
    senders = Sender(db, clock, channels.get)
    timer = Timer(db, clock, senders, language=settings.locale.language)
    asking, decisions = AskingLanes(), Decisions(settings.access, registry)
    expiry = Expiry(db, clock, decisions, asking, lambda done: carry_out(done, senders, engine))
    taught_by = teachers(models, settings.models.fallback) if settings.memory.enabled else nobody
    learning = Learning(db, clock, learner(db, clock, redactor), taught_by)
    memory = _remembering(settings, db, clock, learning)
    turns = Turns(
        db=db,
        clock=clock,
        place=Place(settings.locale.timezone, settings.locale.language),
        services=Services(
            registry,
            models.get,
            clock,
            archive=SessionArchive(db),
            memory=SessionNotes(db, clock, redactor) if settings.memory.enabled else None,
        ),
        teams=teams,
        models=models,
        senders=senders,
        channel=channels.get,
        operators=settings.access.operators,
        steer=settings.sessions.while_busy == "steer",
        transcriber=models.transcriber,
        groups=settings.groups,
        asking=asking,
        asked=expiry.changed,
        spoke=memory.after,
        redactor=redactor,
        policy=settings.context.policy,
        budgets=budgets,
    )
    recaller = _recaller(db, clock, turns) if settings.memory.enabled else None
    runner = TurnRunner(turns, commands, scheduled=timer.wake, left=memory.left, recaller=recaller)
    engine = LocalEngine(runner, max_running=settings.sessions.max_running)
    commands.busy, budgets.waiters.wake = engine.busy, engine.wake
    intake = Intake(
        db,
        clock,
        settings,
        commands,
        engine,
        senders,
        runner.fresh,
        channels.get,
        decisions,
        asking,
        redactor,
    )
    desk = LocalDesk(db, clock, senders, engine)
    rest = (timer, expiry, desk, memory, budgets, _watch(settings, teams, registry))
    return Core(db, clock, models, commands, engine, senders, intake, channels, *rest)


def _commands(
    settings: Settings,
    models: ModelHouse,
    teams: TeamHouse,
    channels: ChannelManager,
    budgets: Budgets,
) -> Commands:
    began = time.monotonic()
    return Commands(
        settings.access,
        models,
        teams,
        busy=lambda: 0,  # until there is an engine
        uptime=lambda: time.monotonic() - began,
        timezone=settings.locale.timezone,
        groups=settings.groups,
        archives=channels.archives,
        pots=budgets.rules,
    )


def _remembering(
    settings: Settings, db: Database, clock: SystemClock, learning: Learning
) -> Remembering:
    indexer = RecallIndexer(db) if settings.memory.enabled else None
    upkeep = MemoryUpkeep(db, clock) if settings.memory.keeps_order else None
    return Remembering(learning, indexer, upkeep)


def _recaller(db: Database, clock: SystemClock, turns: Turns) -> Recaller:
    def closed(lane: Lane) -> bool:
        return turns.groups.is_lite(lane.address, private=lane.private)

    return Recaller(db, clock, StoredPortfolio(db), OwnRecall(db), turns.known, closed)


def _watch(settings: Settings, teams: TeamHouse, registry: Registry) -> PresetWatch:
    reload = partial(load_presets, settings, registry, reader=Reader())
    return PresetWatch(teams, settings.presets_dir, reload)


def _budgets(settings: Settings, clock: SystemClock) -> Budgets:
    return Budgets(
        settings.budgets.rules(settings.locale.timezone),
        clock,
        settings.access.operators,
        Waiters(clock),
        settings.locale.language,
    )


def _teams(settings: Settings, registry: Registry) -> TeamHouse:
    presets = load_presets(settings, registry)
    for problem in presets.problems:
        log.warning(
            "preset_problem",
            extra={
                "file": str(problem.file),
                "line": problem.line,
                "column": problem.column,
                "problem": problem.message,
            },
        )
    if settings.preset not in presets.teams:
        known = ", ".join(sorted(presets.teams))
        raise settings.refuse(
            "preset", f"there is no preset {settings.preset!r}", f"use one of {known}"
        )
    return TeamHouse(presets, settings.preset)


@dataclass(slots=True)
class Front:
    """What answers HTTP: the server, and the web chat with its codes where it is on."""

    server: HttpServer
    web: WebChannel | None = None
    codes: OneTimeCodes | None = None

    @property
    def channels(self) -> list[Channel]:
        """The web chat as a channel, if it is on."""
        return [self.web] if self.web else []

    def invite(self) -> str:
        """A link that logs its reader in, once."""
        code = self.codes.issue(OWNER) if self.codes else ""
        return f"web chat: {self.server.url}/login?code={code}"


def front_of(
    core: Core, settings: Settings, platforms: Sequence[Channel], announce: Callable[[str], None]
) -> Front:
    """The HTTP server with the routes of the web chat and of every platform that posts to us."""
    http, codes = settings.http, OneTimeCodes()
    routes = [route for c in platforms if isinstance(c, HasRoutes) for route in c.routes()]
    web: WebChannel | None = None
    if settings.channels.web.enabled:
        secret = load_secret(settings.data_dir / "web-secret")
        cookies = CookieSessions(secret, public_url=http.public_url)
        web = WebChannel(GatewayWebHost(core.db, core.clock, cookies, core.commands))
        login = Login(codes, cookies, renew=lambda: announce(f"log-in code: {codes.issue(OWNER)}"))
        routes += [*web.routes(), *login.routes()]
    server = HttpServer(
        http.host,
        http.port,
        public_url=http.public_url,
        routes=routes,
        on_stop=[web.close_streams] if web else [],
    )
    return Front(server, web, codes if web else None)
