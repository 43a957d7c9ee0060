"""Conversations whose turn waits until a pot has room: woken when it begins anew, is raised, or gets money back.

A waiting turn is an open turn: its rows stay with it, later messages stay behind it, and every start tries it again. So
what is kept here may be lost at any time.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent_core.ports import Clock

log = logging.getLogger(__name__)
LONGEST_NAP_S = (
    3_600.0  # the wall clock may be set, and a machine may sleep: look again after an hour
)


def _nobody(_lane: str, _principal: str) -> None:
    """Nothing runs yet."""


@dataclass(slots=True)
class Waiters:
    """`wake` is the engine's. `sleep` takes seconds."""

    clock: Clock | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    wake: Callable[[str, str], None] = _nobody
    _lanes: dict[str, tuple[str, dt.datetime | None]] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None
    _stopped: bool = False

    def add(self, lane: str, principal: str, until: dt.datetime | None) -> None:
        """A turn waits here, until then at the latest."""
        self._lanes[lane] = (principal, until)
        if not self._stopped:
            self._look_again()

    def holds(self, lane: str) -> bool:
        """Whether a turn of this conversation waits."""
        return lane in self._lanes

    def room(self) -> None:
        """A pot may have room again: everybody who waits tries."""
        lanes, self._lanes = self._lanes, {}
        for lane, (principal, _) in lanes.items():
            self.wake(lane, principal)

    async def stop(self) -> None:
        """End the waiting; the next start tries every open turn again."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def _look_again(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._run(), name="budget-waiters")

    async def _run(self) -> None:
        """Sleep until the next pot begins anew, for as long as somebody waits."""
        while self.clock is not None:
            times = [until for _, until in self._lanes.values() if until is not None]
            if not times:
                return
            left = (min(times) - self.clock.now()).total_seconds()
            if left > 0:
                await self.sleep(min(left, LONGEST_NAP_S))
                continue
            self._due(self.clock.now())

    def _due(self, now: dt.datetime) -> None:
        for lane, (principal, until) in list(self._lanes.items()):
            if until is not None and until <= now:
                del self._lanes[lane]
                self.wake(lane, principal)
