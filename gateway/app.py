"""The composition root: what works without a way in is wired here, the ways in by front.py; process.py runs both."""

import asyncio
import os
import time
from dataclasses import dataclass
from functools import partial

from agent_core.memory.recall import OwnRecall, Profile
from agent_core.runtime.session import Services
from agent_core.tools.registry import Registry
from channels.manager import ChannelManager
from gateway.alerts.house import AlertHouse, alert_house
from gateway.alerts.keeper import AlertKeeper
from gateway.budgets.budgets import Budgets
from gateway.budgets.paid_model import paying
from gateway.budgets.waiters import Waiters
from gateway.clock import SystemClock
from gateway.commands.commands import Commands
from gateway.engine.base import Engine
from gateway.engine.begin import Place
from gateway.engine.choice import Role, engine_of, take_role
from gateway.inbound.intake import Intake
from gateway.mcp.house import McpHouse
from gateway.memory.archive import SessionArchive
from gateway.memory.history import OwnHistory
from gateway.memory.learning import Learning, learner, nobody, teachers
from gateway.memory.notes import SessionNotes
from gateway.memory.own_profiles import StoredProfiles
from gateway.memory.recall_indexer import RecallIndexer
from gateway.memory.recalled import Recaller
from gateway.memory.remembering import Remembering
from gateway.memory.upkeep import MemoryUpkeep
from gateway.metrics.sight import Sight, sight_of
from gateway.model_house import CASSETTES, ModelHouse
from gateway.outbound.sender import Sender
from gateway.outside import outside_of
from gateway.presets.news import PresetNews
from gateway.presets.team_house import TeamHouse, chosen_presets, load_presets
from gateway.presets.watch import PresetWatch
from gateway.prices.price_cache import PriceCache
from gateway.prices.source_house import SourceHouse, source_house
from gateway.prices.symbol_refresh import use_fetched
from gateway.questions.approvals import Decisions
from gateway.questions.expiry import Expiry
from gateway.questions.local_decisions import LocalDesk
from gateway.questions.outcome import carry_out
from gateway.recipes.recipes import Recipes, recipes_of
from gateway.recipes.skill_house import SkillHouse
from gateway.recipes.watch import RecipeWatch
from gateway.redact import Redactor
from gateway.roles.made import let_wake, roles_of
from gateway.roles.roles import OwnRoles, Roles
from gateway.schedules.schedule import Timer
from gateway.schedules.schedules import Schedules, runs_of, schedules_of
from gateway.settings.settings import Settings
from gateway.storage.db import Database, url_of
from gateway.storage.schema import open_database
from gateway.tasks.commands import Panel
from gateway.tasks.model import task_models
from gateway.tasks.tasks import BackgroundTasks
from gateway.toolbox import Equipment, toolbox
from gateway.trading.house import order_desk, order_house
from gateway.trading.keeper import OrderKeeper
from gateway.trading.orders import OrderDesk
from gateway.trading.portfolio import StoredPortfolio
from gateway.turns.runner import TurnRunner
from gateway.turns.turns import Turns
from swarm_presets.files import Reader


@dataclass(slots=True)
class Core:
    """Everything without a way in: database, engine, models, presets."""

    db: Database
    clock: SystemClock
    models: ModelHouse
    commands: Commands
    engine: Engine
    senders: Sender
    intake: Intake
    channels: ChannelManager
    timer: Timer
    schedules: Schedules
    expiry: Expiry
    desk: LocalDesk
    memory: Remembering
    budgets: Budgets
    presets: PresetWatch
    recipes: RecipeWatch
    turns: Turns
    decisions: Decisions
    tasks: BackgroundTasks
    orders: OrderKeeper
    alerts: AlertKeeper
    mcp: McpHouse
    sight: Sight
    redactor: Redactor
    roles: Roles


async def build(settings: Settings, *, alone: bool = False) -> Core:
    """Open the database, take the engine role (`alone`: shared with nobody) and wire the core.

    Raises DatabaseError, SettingsError.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(use_fetched, settings)
    secret = settings.database
    url = url_of(secret.get_secret_value() if secret else None, settings.data_dir)
    db, mcp = await open_database(url), McpHouse(settings)
    roles: Roles = OwnRoles()
    try:
        role = await take_role(settings, db, alone=alone)
        roles = roles_of(url, db.replica, shared=role.kind != "local")
        await roles.start()
        await mcp.start()
        return _wire(settings, db, mcp, role, roles)
    except BaseException:
        await mcp.stop()
        await roles.stop()
        await db.close()
        raise


@dataclass(frozen=True, slots=True)
class _Base:
    """What everything else stands on."""

    settings: Settings
    db: Database
    clock: SystemClock
    redactor: Redactor
    registry: Registry
    models: ModelHouse
    teams: TeamHouse
    channels: ChannelManager
    senders: Sender
    budgets: Budgets
    tasks: BackgroundTasks
    reader: Reader
    orders: OrderDesk
    recipes: Recipes
    alerts: AlertHouse
    sight: Sight
    roles: Roles


def _base(settings: Settings, db: Database, mcp: McpHouse, roles: Roles) -> _Base:
    clock, sight = SystemClock(), sight_of(os.environ)
    channels = ChannelManager(own=roles.run if roles.shared else None)
    house = source_house(settings, clock, PriceCache(db))
    orders = order_desk(settings, db, clock, house.prices)
    recipes = recipes_of(settings)
    alerts = alert_house(settings, db, clock, house.prices)
    registry = toolbox(_equipment(settings, db, house, orders, recipes.skills, alerts))
    mcp.join(registry)
    redactor, reader = Redactor(settings.secrets()), Reader()
    models = ModelHouse(settings.models, clock, settings.presets_dir / CASSETTES)
    budgets = _budgets(settings, clock, sight)
    asks = task_models(models, db, budgets)
    return _Base(
        settings,
        db,
        clock,
        redactor,
        registry,
        models,
        chosen_presets(settings, registry, reader, recipes.skills),
        channels,
        Sender(db, clock, channels.get, observers=sight.observers, shared=roles.shared),
        budgets,
        BackgroundTasks(db, clock, registry, redactor, SessionArchive(db), model=asks),
        reader,
        orders,
        recipes,
        alerts,
        sight,
        roles,
    )


def _equipment(
    settings: Settings,
    db: Database,
    house: SourceHouse,
    orders: OrderDesk,
    skills: SkillHouse,
    alerts: AlertHouse,
) -> Equipment:
    return Equipment(
        sources=house.prices,
        reports=house.reports,
        history=OwnHistory(db) if settings.memory.enabled else None,
        knowledge=settings.knowledge_dir,
        book=StoredPortfolio(db),
        profiles=StoredProfiles(db),
        outside=outside_of(settings, db),
        skills=skills,
        orders=order_house(orders),
        alerts=alerts.desk,
        reminders=alerts.reminders,
    )


def _wire(settings: Settings, db: Database, mcp: McpHouse, role: Role, roles: Roles) -> Core:
    base = _base(settings, db, mcp, roles)
    clock, senders = base.clock, base.senders
    commands, presets = _commands(base), _watch(base)
    timer = Timer(db, clock, senders, language=settings.locale.language, runs=runs_of(settings))
    seen = base.sight.observers
    decisions = Decisions(settings.access, base.registry)
    expiry = Expiry(db, clock, decisions, lambda o: carry_out(o, senders, engine, seen))
    memory = _remembering(base)
    turns = _turns(base, memory)
    recaller = _recaller(base, turns) if settings.memory.enabled else None
    runner = TurnRunner(turns, commands, base.alerts.reminders.changed, memory.left, recaller)
    engine = engine_of(settings, db, runner, clock, role, base.budgets.waiters)
    commands.busy = engine.busy
    keeper = OrderKeeper(db, base.orders, senders, settings.locale.language)
    alerts = let_wake(roles, timer, expiry, keeper, base.alerts, base.tasks, memory.learning)
    schedules = schedules_of(settings, db, clock, base.teams, base.channels, timer)
    timer.start_turn, presets.on_change = engine.wake, schedules.changed
    mcp.changed = presets.reload
    base.tasks.wake = runner.last_tries.wake = engine.wake
    intake = Intake(
        db,
        clock,
        settings,
        commands,
        engine,
        senders,
        runner.fresh,
        base.channels.get,
        decisions,
        base.redactor,
        base.tasks.desk.look,
        seen,
    )
    return Core(
        db,
        clock,
        base.models,
        commands,
        engine,
        senders,
        intake,
        base.channels,
        timer,
        schedules,
        expiry,
        LocalDesk(db, clock, senders, engine, settings.access, seen),
        memory,
        base.budgets,
        presets,
        RecipeWatch(base.recipes, presets.reload),
        turns,
        decisions,
        base.tasks,
        keeper,
        alerts,
        mcp,
        base.sight,
        base.redactor,
        roles,
    )


def _commands(base: _Base) -> Commands:
    settings, began = base.settings, time.monotonic()
    return Commands(
        settings.access,
        base.models,
        base.teams,
        busy=lambda: 0,  # until there is an engine
        uptime=lambda: time.monotonic() - began,
        timezone=settings.locale.timezone,
        groups=settings.groups,
        archives=base.channels.archives,
        budgets=base.budgets,
        tasks=Panel(base.registry, base.tasks.desk.where),
        alerts=base.alerts.desk,
        halt_file=base.orders.halt_file,
        halted=lambda: base.orders.wake(),  # noqa: PLW0108 - who looks after orders is made later
        recipes=base.recipes,
    )


def _turns(base: _Base, memory: Remembering) -> Turns:
    settings, db, clock = base.settings, base.db, base.clock
    notes = SessionNotes(db, clock, base.redactor) if settings.memory.enabled else None
    archive = SessionArchive(db)
    return Turns(
        db=db,
        clock=clock,
        place=Place(settings.locale.timezone, settings.locale.language),
        services=Services(
            base.registry,
            base.models.get,
            clock,
            archive=archive,
            memory=notes,
            recall=_recall(base) if settings.memory.enabled else None,
            tasks=base.tasks.desk,
        ),
        teams=base.teams,
        models=base.models,
        senders=base.senders,
        channel=base.channels.get,
        access=settings.access,
        ops_channel=settings.ops_channel,
        steer=settings.sessions.while_busy == "steer",
        transcriber=base.models.transcriber,
        groups=settings.groups,
        asked=partial(base.roles.wake, "questions"),
        spoke=memory.after,
        condensed=memory.condensed,
        redactor=base.redactor,
        policy=settings.context.policy,
        budgets=base.budgets,
        recipes=base.recipes,
        observers=base.sight.observers,
    )


def _remembering(base: _Base) -> Remembering:
    settings, db, clock = base.settings, base.db, base.clock
    on = settings.memory.enabled
    taught_by = teachers(base.models, settings.models.fallback) if on else nobody
    paid = paying(db, base.budgets)
    return Remembering(
        Learning(db, clock, learner(db, clock, base.redactor), taught_by, paid=paid),
        RecallIndexer(db) if on else None,
        MemoryUpkeep(db, clock) if settings.memory.keeps_order else None,
    )


def _recaller(base: _Base, turns: Turns) -> Recaller:
    book = StoredPortfolio(base.db)
    return Recaller(base.db, base.clock, book, _recall(base), turns.known, turns.staff.memory)


def _recall(base: _Base) -> OwnRecall:
    return OwnRecall(base.db, Profile(base.settings.memory.profile))


def _watch(base: _Base) -> PresetWatch:
    read = partial(
        load_presets,
        base.settings,
        base.registry,
        reader=base.reader,
        skills=base.recipes.skills,
    )
    settings = base.settings
    news = PresetNews(
        base.db, base.clock, base.senders, settings.access.operators, settings.locale.language
    )
    return PresetWatch(base.teams, settings.presets_dir, read, news)


def _budgets(settings: Settings, clock: SystemClock, sight: Sight) -> Budgets:
    return Budgets(
        settings.budgets.rules(settings.locale.timezone),
        clock,
        settings.access.operators,
        Waiters(clock),
        settings.locale.language,
        sight.observers,
    )
