"""aiohttp's resolver over the guard: the addresses that were judged are the ones that are connected to."""

import socket
from collections.abc import Awaitable, Callable

from aiohttp.abc import AbstractResolver, ResolveResult


class GuardedResolver(AbstractResolver):
    """Resolves by `addresses`, which raises for what may not be reached."""

    def __init__(self, addresses: Callable[[str, int], Awaitable[list[str]]]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of the host, of both families. Raises OSError and Forbidden."""
        del family
        found = await self._addresses(host, port)
        if not found:
            raise OSError(None, f"{host} has no address")
        return [_entry(host, text, port) for text in found]

    async def close(self) -> None:
        """Nothing is held."""


def _entry(host: str, text: str, port: int) -> ResolveResult:
    return {
        "hostname": host,
        "host": text,
        "port": port,
        "family": socket.AF_INET6 if ":" in text else socket.AF_INET,
        "proto": 0,
        "flags": socket.AI_NUMERICHOST,
    }
