"""The front of the composition root: the HTTP server and what it serves, wired to a core."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from aiohttp.web import RouteDef

from channels.base import Channel, HasRoutes
from channels.web.channel import WebChannel
from gateway.app import Core
from gateway.console.door import ConsoleDoor
from gateway.engine.choice import kind_of
from gateway.hooks.hooks import Hooks
from gateway.hooks.routes import HookRoutes
from gateway.http.app import HttpServer
from gateway.http.auth import CookieSessions, OneTimeCodes, load_secret
from gateway.http.health import Health, Subject
from gateway.http.login import Login
from gateway.http.passes import StoredPasses
from gateway.http.token import ConsoleToken, console_token
from gateway.http.web_host import GatewayWebHost
from gateway.inbound.uploads import Uploads
from gateway.schedules.schedules import runs_of
from gateway.settings.settings import Settings

OWNER = "me"  # the person whom the printed code logs in


@dataclass(slots=True)
class Front:
    """What answers HTTP: the server, and the web chat with its codes where it is on."""

    server: HttpServer
    health: Health
    token: ConsoleToken
    web: WebChannel | None = None
    codes: OneTimeCodes | None = None

    @property
    def channels(self) -> list[Channel]:
        """The web chat as a channel, if it is on."""
        return [self.web] if self.web else []

    async def invite(self) -> str:
        """A link that logs its reader in, once."""
        code = await self.codes.issue(OWNER) if self.codes else ""
        return f"web chat: {self.server.url}/login?code={code}"


def front_of(
    core: Core, settings: Settings, platforms: Sequence[Channel], announce: Callable[[str], None]
) -> Front:
    """The HTTP server with the routes of the web chat and of every platform that posts to us."""
    http, passes = settings.http, StoredPasses(core.db)
    codes = OneTimeCodes(passes, core.clock)
    token = console_token(settings)
    core.redactor.known([token.value])
    health = Health(_subject(core, settings), token)
    routes = [*health.routes()]
    routes += [route for c in platforms if isinstance(c, HasRoutes) for route in c.routes()]
    routes += _hooks(core, settings)
    web: WebChannel | None = None
    if settings.channels.web.enabled:
        secret = load_secret(settings.data_dir / "web-secret")
        cookies = CookieSessions(secret, passes, core.clock, public_url=http.public_url)
        uploads = Uploads(
            core.db, core.clock, core.redactor, lambda: core.models.transcriber() is not None
        )
        host = GatewayWebHost(core.db, core.clock, cookies, core.commands, uploads)
        web = WebChannel(host, sent=partial(core.roles.tell, "web"))
        core.roles.hear("web", web.refresh)

        async def renew() -> None:
            announce(f"log-in code: {await codes.issue(OWNER)}")

        login = Login(codes, cookies, renew=renew)
        routes += [*web.routes(), *login.routes()]
    on_stop = [web.close_streams] if web else []
    if settings.console.enabled:
        door = ConsoleDoor(core, settings, token)
        routes += door.routes()
        on_stop.append(door.stop)
    server = HttpServer(
        http.host,
        http.port,
        public_url=http.public_url,
        routes=routes,
        on_stop=on_stop,
    )
    return Front(server, health, token, web, codes if web else None)


def _subject(core: Core, settings: Settings) -> Subject:
    """What the probes and the figures look at."""
    return Subject(
        core.db,
        core.clock,
        core.sight.meter,
        core.engine.busy,
        settings.sessions.max_running,
        core.channels.states,
        kind_of(settings, core.db.dialect),
        core.redactor,
    )


def _hooks(core: Core, settings: Settings) -> Sequence[RouteDef]:
    """The incoming hooks of the settings."""
    desk = Hooks(
        core.db,
        core.clock,
        runs_of(settings),
        core.redactor,
        lambda: [(bot.name, bot.account) for bot in core.channels.states()],
        core.engine.wake,
    )
    return HookRoutes(settings.hooks, desk).routes()
