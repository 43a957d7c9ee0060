"""Roles: what may be done by one process at a time, such as polling for a bot or firing what is due.

An embedded gateway is alone with its database and holds every role. Replicas on one PostgreSQL share them out
(advisory.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

Body = Callable[[], Awaitable[None]]


class Roles(Protocol):
    """The roles of one process. `shared`: other processes may hold some of them."""

    shared: bool

    async def start(self) -> None:
        """Begin to ask for roles. Raises DatabaseError when the database cannot be reached."""
        ...

    async def run(self, name: str, body: Body) -> None:
        """Run `body` while this process holds the role `name`; wait for the role before, and again once it is lost.

        A body is cancelled and awaited when its role is lost; it never overlaps with its own next run. Returns when the
        body returns, raises what it raises; the role is given up then, and when this is cancelled. One call for a name
        at a time.
        """
        ...

    def holds(self, name: str) -> bool:
        """Whether this process has the role now."""
        ...

    def on_wake(self, name: str, call: Callable[[], None]) -> None:
        """`call` is what a wake of this role comes to, in the process that holds it."""
        ...

    def wake(self, name: str) -> None:
        """Tell whoever holds the role that there is something to do, after the commit. From any thread."""
        ...

    def hear(self, topic: str, call: Callable[[str], None]) -> None:
        """`call` gets what other processes tell about a topic."""
        ...

    def tell(self, topic: str, what: str) -> None:
        """Tell the other processes, soon; a short text. In the loop's thread."""
        ...

    async def stop(self) -> None:
        """Give up what is still held. Harmless where it was not started."""
        ...


class OwnRoles:
    """All roles are this process's own: it is alone with its database."""

    shared = False

    def __init__(self) -> None:
        self._calls: dict[str, Callable[[], None]] = {}
        self._running: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """See Roles."""
        self._loop = asyncio.get_running_loop()

    async def run(self, name: str, body: Body) -> None:
        """See Roles."""
        self._running.add(name)
        try:
            await body()
        finally:
            self._running.discard(name)

    def holds(self, name: str) -> bool:
        """See Roles."""
        return name in self._running

    def on_wake(self, name: str, call: Callable[[], None]) -> None:
        """See Roles."""
        self._calls[name] = call

    def wake(self, name: str) -> None:
        """See Roles."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._calls[name])

    def hear(self, topic: str, call: Callable[[str], None]) -> None:
        """See Roles: there is nobody to be heard."""

    def tell(self, topic: str, what: str) -> None:
        """See Roles: there is nobody to be told."""

    async def stop(self) -> None:
        """See Roles."""
