"""The door to the console: its routes from the start, its pages from the first visit.

What only pages need (templates, schemas, their code) is imported, in a thread, when somebody comes: a gateway that
nobody looks at pays nothing for them.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiohttp import web

from gateway.app import Core
from gateway.console.log_ring import LogRing
from gateway.http.token import ConsoleToken
from gateway.redact import Redactor
from gateway.settings.settings import Settings

if TYPE_CHECKING:
    from gateway.console.building import Building


class ConsoleDoor:
    """Routes below /console and /api/v1. `stop` ends every open stream."""

    def __init__(self, core: Core, settings: Settings, token: ConsoleToken) -> None:
        self._core = core
        self._settings = settings
        self._token = token
        self._redactor = Redactor({*settings.secrets(), token.value})
        self._logs = LogRing(self._redactor)
        self._logs.start()
        self._lock = asyncio.Lock()
        self._began = time.monotonic()
        self._building: Building | None = None

    def routes(self) -> Sequence[web.RouteDef]:
        """All routes, with absolute paths."""
        return [
            web.route("*", "/console", self._console),
            web.route("*", "/console/{tail:[\\s\\S]*}", self._console),
            web.route("*", "/api/v1", self._api),
            web.route("*", "/api/v1/{tail:[\\s\\S]*}", self._api),
        ]

    async def stop(self) -> None:
        """End the streams of open pages. May be called twice."""
        self._logs.stop()
        if self._building is not None:
            await self._building.evals.stop()
            await self._building.pulse.stop()

    async def _console(self, request: web.Request) -> web.StreamResponse:
        return await (await self._open()).site.handle(request)

    async def _api(self, request: web.Request) -> web.StreamResponse:
        return await (await self._open()).api.handle(request)

    async def _open(self) -> "Building":
        async with self._lock:
            if self._building is None:
                self._building = await asyncio.to_thread(self._build)
            return self._building

    def _build(self) -> "Building":
        from gateway.console.building import building_of
        from gateway.console.eval_room import EvalRoom
        from gateway.console.house import House
        from gateway.console.preset_desk import PresetDesk

        house = House(
            self._core,
            self._settings,
            self._logs,
            self._redactor,
            PresetDesk(self._settings, self._core.turns.services.registry),
            EvalRoom(self._core, self._settings, self._redactor),
            self._began,
        )
        return building_of(house, self._token)
