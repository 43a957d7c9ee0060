"""The foreign MCP servers of the settings: connected at the start, their tools in the registry, ended at the stop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent_core.tools.mcp import Offer, Trust, foreign_specs
from agent_core.tools.mcp_link import Link
from agent_core.tools.mcp_names import prefix_of
from agent_core.tools.mcp_process import Command
from agent_core.tools.mcp_transport import Url
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolFailure, ToolSpec
from gateway.mcp.known import KnownTools
from gateway.settings.mcp import McpServer, plain
from gateway.settings.settings import Settings

log = logging.getLogger(__name__)
START_S = 3.0  # how long a start waits for servers; the others come when they come


async def _nobody() -> None:
    return None


class McpHouse:
    """All servers. `changed` is awaited when tools have changed, after the registry has them."""

    def __init__(self, settings: Settings) -> None:
        self._servers = settings.mcp.enabled()
        self._data_dir = settings.data_dir
        self._known = KnownTools(settings.data_dir)
        self._links = {
            name: Link(name, _where(server), partial(self._heard, name))
            for name, server in self._servers.items()
        }
        self._specs: dict[str, list[ToolSpec]] = {}
        self._registry: Registry | None = None
        self.changed: Callable[[], Awaitable[object]] = _nobody

    async def start(self, seconds: float = START_S) -> None:
        """Connect to all servers, and wait for the first word of each, but no longer than `seconds`."""
        if not self._links:
            return
        self._known = await asyncio.to_thread(KnownTools.read, self._data_dir)
        self._specs = await asyncio.to_thread(self._from_known)
        for link in self._links.values():
            link.start()
        try:
            async with asyncio.timeout(seconds):
                for link in self._links.values():
                    await link.tried.wait()
        except TimeoutError:
            late = [name for name, link in self._links.items() if not link.tried.is_set()]
            log.warning("mcp_servers_late", extra={"servers": late})

    def join(self, registry: Registry) -> None:
        """Put the tools into a registry, and keep it at what the servers offer."""
        self._registry = registry
        for name in self._servers:
            registry.renew(prefix_of(name), self._specs.get(name, ()))

    async def stop(self) -> None:
        """End all connections and processes, side by side; some seconds at most."""
        await asyncio.gather(*(link.stop() for link in self._links.values()))

    def _from_known(self) -> dict[str, list[ToolSpec]]:
        return {
            name: foreign_specs(_trust(name, server), offers, self._links[name])
            for name, server in self._servers.items()
            if (offers := self._known.of(name, server)) is not None
        }

    async def _heard(self, name: str, offers: Sequence[Offer]) -> None:
        server, link = self._servers[name], self._links[name]
        before = await asyncio.to_thread(self._known.of, name, server)
        if before == list(offers) and name in self._specs:
            return
        self._specs[name] = await asyncio.to_thread(
            foreign_specs, _trust(name, server), offers, link
        )
        await asyncio.to_thread(self._known.keep, name, server, offers)
        _tell(name, before, offers)
        if self._registry is not None:
            self._registry.renew(prefix_of(name), self._specs[name])
            try:
                await self.changed()
            except Exception:  # what follows from tools must not end the connection
                log.exception("mcp_tools_not_followed")


class _Idle:
    """Nobody is connected: a command that only looks at tools."""

    async def call(
        self, tool: str, args: dict[str, Any], progress: Callable[[str, float | None], None]
    ) -> dict[str, Any]:
        del args, progress
        raise ToolFailure(f"{tool} was not called: nothing is connected here; swarmgate run is.")


def join_known(settings: Settings, registry: Registry) -> Registry:
    """Put the tools that servers had when they were last heard into a registry; nothing is connected. Reads a file."""
    servers = settings.mcp.enabled()
    known = KnownTools.read(settings.data_dir) if servers else KnownTools(Path())
    for name, server in servers.items():
        offers = known.of(name, server) or []
        registry.renew(prefix_of(name), foreign_specs(_trust(name, server), offers, _Idle()))
    return registry


def _where(server: McpServer) -> Command | Url:
    if server.url:
        return Url(server.url, plain(server.headers))
    folder = None if server.cwd is None else str(server.cwd)
    return Command(server.command or "", server.args, plain(server.env), folder)


def _trust(name: str, server: McpServer) -> Trust:
    return Trust(
        name,
        None if server.tools is None else frozenset(server.tools),
        asks=server.approval == "always",
        timeout=server.timeout,
        credibility=server.credibility,
    )


def _tell(name: str, before: Sequence[Offer] | None, now: Sequence[Offer]) -> None:
    """What changed, for operators: a server that rewrites its tools is worth a look."""
    old = {offer.name: offer for offer in before or ()}
    new = {offer.name: offer for offer in now}
    changed = sorted(n for n in old.keys() & new.keys() if old[n] != new[n])
    extra = {"added": sorted(new.keys() - old.keys()), "gone": sorted(old.keys() - new.keys())}
    log.info("mcp_tools_heard", extra={"server": name, **extra, "changed": changed})
