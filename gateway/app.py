"""The composition root: the only module that builds concrete objects, and the life of the process.

Order of a start: database, role, schema; presets and commands; channels and HTTP; then the walk over what was left open.
A stop drains in the reverse order: no new messages, running turns get their grace, replies are sent, then all is closed.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_core.runtime.session import Services
from agent_core.tools.registry import Registry
from channels.base import CanMenu, Channel, HasRoutes
from channels.errors import ChannelError
from channels.manager import ChannelManager, State
from channels.terminal.channel import TerminalChannel
from channels.web.channel import WebChannel
from gateway.approvals import Decisions, carry_out
from gateway.clock import SystemClock
from gateway.commands import Commands
from gateway.control import ControlServer
from gateway.db import Database, url_of
from gateway.engine.begin import Place
from gateway.engine.local import LocalEngine
from gateway.expiry import Expiry
from gateway.http.app import HttpServer
from gateway.http.auth import CookieSessions, OneTimeCodes, load_secret
from gateway.http.login import Login
from gateway.intake import Intake
from gateway.model_house import ModelHouse
from gateway.outbox import Outbox
from gateway.platforms import Wiring, platform_channels
from gateway.problems import OperatorError
from gateway.runner import TurnRunner
from gateway.schedule import Timer
from gateway.schema import open_database
from gateway.settings import Settings
from gateway.talk import converse, dial, near
from gateway.team_house import TeamHouse
from gateway.toolbox import toolbox
from gateway.waiting import AskingLanes
from gateway.web_host import GatewayWebHost
from swarm_presets.loader import load_folder

log = logging.getLogger(__name__)
GRACE_S = 10.0
SEND_GRACE_S = 5.0
OWNER = "me"  # the person whom the printed code logs in


@dataclass(slots=True)
class Core:
    """Everything without a way in: database, engine, models, presets."""

    db: Database
    clock: SystemClock
    models: ModelHouse
    commands: Commands
    engine: LocalEngine
    senders: Outbox
    intake: Intake
    channels: ChannelManager
    timer: Timer
    expiry: Expiry


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
    clock = SystemClock()
    registry = toolbox()
    models = ModelHouse(settings.models, clock)
    teams = _teams(settings, registry)
    channels = ChannelManager()
    began = time.monotonic()
    engine_busy: list[LocalEngine] = []
    commands = Commands(
        settings.access,
        models,
        teams,
        busy=lambda: engine_busy[0].busy(),
        uptime=lambda: time.monotonic() - began,
        timezone=settings.locale.timezone,
        groups=settings.groups,
    )
    senders = Outbox(db, clock, channels.get)
    timer = Timer(db, clock, senders, language=settings.locale.language)
    asking, decisions = AskingLanes(), Decisions(settings.access, registry)
    expiry = Expiry(
        db, clock, decisions, asking, lambda done: carry_out(done, senders, engine_busy[0])
    )
    runner = TurnRunner(
        db=db,
        clock=clock,
        place=Place(settings.locale.timezone, settings.locale.language),
        services=Services(registry, models.get, clock),
        teams=teams,
        models=models,
        commands=commands,
        senders=senders,
        channel=channels.get,
        steer=settings.sessions.while_busy == "steer",
        transcriber=models.transcriber,
        groups=settings.groups,
        scheduled=timer.wake,
        asking=asking,
        asked=expiry.changed,
    )
    engine = LocalEngine(runner, max_running=settings.sessions.max_running)
    engine_busy.append(engine)
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
    )
    return Core(db, clock, models, commands, engine, senders, intake, channels, timer, expiry)


async def chat(
    settings: Settings, *, user: str, session: str | None, text: str | None, as_json: bool
) -> int:
    """Talk in the terminal: to the running engine, or by running one for as long as the talk lasts."""
    files = settings.data_dir / "files"
    line = await dial(settings.data_dir / "control.sock", user, session)
    if line is not None:
        try:
            return await converse(line, text=text, as_json=as_json, files=files)
        finally:
            line.close()
    core = await build(settings)
    terminal = TerminalChannel()
    try:
        await core.channels.start([terminal], core.intake.accept)
        await core.models.settle()
        await core.senders.start()
        await core.expiry.start()
        await core.engine.start()
        await core.timer.start()
        with near(terminal, user, session) as line_here:
            return await converse(line_here, text=text, as_json=as_json, files=files)
    finally:
        await core.timer.stop()
        await core.expiry.stop()
        await core.engine.stop(GRACE_S)
        await core.senders.stop(SEND_GRACE_S)
        await core.channels.stop()
        await core.models.close()
        await core.db.close()


def _teams(settings: Settings, registry: Registry) -> TeamHouse:
    models = frozenset(f"{provider}/*" for provider in settings.models.providers)
    presets = load_folder([settings.presets_dir], tools=registry.names, models=models)
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


async def serve(settings: Settings, *, demo: bool, announce: Callable[[str], None]) -> int:
    """Run the gateway until SIGTERM or SIGINT. Returns the exit code."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    core = await build(settings)
    try:
        await _serve(core, settings, announce, stop, demo=demo)
    finally:
        await core.models.close()
        await core.db.close()
    return 0


async def _serve(
    core: Core,
    settings: Settings,
    announce: Callable[[str], None],
    stop: asyncio.Event,
    *,
    demo: bool,
) -> None:
    terminal = TerminalChannel()
    platforms = platform_channels(settings, Wiring(core.db, core.commands))
    front = _front(core, settings, platforms, announce)
    control = ControlServer(settings.data_dir / "control.sock", terminal, core.senders.take_up)
    await front.server.start()
    try:
        await core.channels.start([*platforms, terminal, *front.channels], core.intake.accept)
        why = await core.models.settle()
        if why:
            announce(why)
        await core.senders.start()
        await core.expiry.start()
        await core.engine.start()
        await core.timer.start()
        await control.start()
        if front.web is not None:
            announce(front.invite())
        if demo:
            announce("stop with Ctrl-C")
        tasks = [
            asyncio.create_task(_warm(core, platforms)),
            asyncio.create_task(_refusal(core, settings, stop)),
        ]
        await stop.wait()
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, OperatorError):
                raise outcome
    finally:
        await control.stop()
        await core.timer.stop()
        await core.expiry.stop()
        await core.engine.stop(GRACE_S)
        await core.senders.stop(SEND_GRACE_S)
        await core.channels.stop()
        await front.server.stop()


async def _refusal(core: Core, settings: Settings, stop: asyncio.Event) -> None:
    """Stop when a platform refuses its credentials at the start; one that does so later leaves the others alone."""
    await core.channels.wait_ready()
    for seat in core.channels.states():
        if seat.state is State.FAILED:
            stop.set()
            cure = "copy it anew from the platform"
            key = {"slack": ".bot_token", "telegram": ".token", "discord": ".token"}
            place = f"channels.{seat.name}{key.get(seat.name, '')}"
            raise settings.refuse(place, seat.reason, cure)


async def _warm(core: Core, platforms: Sequence[Channel]) -> None:
    """What the first message would otherwise pay for: the model's SDK, the command menu."""
    try:
        await core.models.prepare([core.models.default])
    except Exception:  # the first turn tells the person; a start must not end here
        log.exception("model_not_ready")
    for channel in platforms:
        if isinstance(channel, CanMenu):
            await core.channels.wait_ready(channel)
            await _show_menu(core, channel)


async def _show_menu(core: Core, channel: CanMenu) -> None:
    try:
        await channel.menu(core.commands.menu("en"), None)
        await channel.menu(core.commands.menu("zh"), "zh")
    except ChannelError as e:
        log.warning("menu_not_shown", extra={"reason": str(e)})


@dataclass(slots=True)
class _Front:
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


def _front(
    core: Core, settings: Settings, platforms: Sequence[Channel], announce: Callable[[str], None]
) -> _Front:
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
    return _Front(server, web, codes if web else None)
