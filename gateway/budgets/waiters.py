"""Conversations whose turn waits until a pot has room: woken when it begins anew, is raised, or gets money back.

A waiting turn is an open turn: its rows stay with it, later messages stay behind it, and every start tries it again. So
what is kept here may be lost at any time. Where several processes share an engine, it keeps who waits: room is made in
any of them.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from agent_core.ports import Clock

log = logging.getLogger(__name__)
LONGEST_NAP_S = (
    3_600.0  # the wall clock may be set, and a machine may sleep: look again after an hour
)


def _nobody(_lane: str, _principal: str) -> None:
    """Nothing runs yet."""


class Bench(Protocol):
    """Keeps who waits, for all processes."""

    def wait(self, conversation_id: str, principal: str, until: dt.datetime | None) -> None:
        """A turn waits here, until then at the latest."""
        ...

    def room(self) -> None:
        """Everybody who waits tries."""
        ...


@dataclass(slots=True)
class Waiters:
    """`wake` is the engine's. `sleep` takes seconds. `elsewhere`: who keeps them instead."""

    clock: Clock | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    wake: Callable[[str, str], None] = _nobody
    elsewhere: Bench | None = None
    _lanes: dict[str, tuple[str, dt.datetime | None]] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None
    _stopped: bool = False

    def add(self, lane: str, principal: str, until: dt.datetime | None) -> None:
        """A turn waits here, until then at the latest."""
        if self.elsewhere is not None:
            self.elsewhere.wait(lane, principal, until)
            return
        self._lanes[lane] = (principal, until)
        if not self._stopped:
            self._look_again()

    def holds(self, lane: str) -> bool:
        """Whether a turn of this conversation waits."""
        return lane in self._lanes

    def room(self) -> None:
        """A pot may have room again: everybody who waits tries."""
        if self.elsewhere is not None:
            self.elsewhere.room()
            return
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
