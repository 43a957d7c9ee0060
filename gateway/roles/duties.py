"""What one process at a time does for the whole installation: timers, keepers, the daily cleaning. Each is a role.

A duty that breaks is begun anew after a while, by whoever holds its role.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.roles.roles import Roles

log = logging.getLogger(__name__)
AGAIN_S = 5.0  # mostly the database was away


@dataclass(frozen=True, slots=True)
class Duty:
    """`start` begins it and returns, again after a `stop`; `stop` ends it, and is harmless where it was not started."""

    name: str
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]


class Duties:
    """Runs duties while their roles are held here. `sleep` takes seconds."""

    def __init__(
        self,
        roles: Roles,
        duties: Sequence[Duty],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._roles = roles
        self._duties = duties
        self._sleep = sleep
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Ask for the roles; returns at once."""
        self._tasks = [
            asyncio.create_task(self._serve(duty), name=f"duty {duty.name}")
            for duty in self._duties
        ]

    async def stop(self) -> None:
        """End them and give the roles up. Harmless where it was not started."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, duty: Duty) -> None:
        async def body() -> None:
            try:
                await duty.start()
                await asyncio.Event().wait()
            finally:
                await duty.stop()

        while True:
            try:
                await self._roles.run(duty.name, body)
            except Exception:  # the database is away; one duty never stops the others
                log.exception("duty_waits", extra={"duty": duty.name})
            await self._sleep(AGAIN_S)
