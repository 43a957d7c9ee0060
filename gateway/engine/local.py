"""The embedded engine: a task for each busy conversation in this process (guide "engine", 7)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy import Connection

from gateway.engine.base import BACKOFF, Progress, Runner
from gateway.engine.fair import FairSlots
from gateway.engine.steps import Steps

log = logging.getLogger(__name__)


class LocalEngine:
    """See gateway.engine.base.Engine."""

    shared = False

    def __init__(
        self,
        runner: Runner,
        *,
        max_running: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        backoff: Sequence[float] = BACKOFF,
    ) -> None:
        self._runner = runner
        self._slots = FairSlots(max_running)
        self._sleep = sleep
        self._backoff = backoff
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._steps = Steps(runner)
        self._draining = False

    async def start(self) -> None:
        """See Engine."""
        for conversation_id, principal in await self._runner.open():
            self.wake(conversation_id, principal)

    def wake(self, conversation_id: str, principal: str) -> None:
        """See Engine."""
        if self._draining:
            return  # the rows are durable; the next start finds them
        if conversation_id in self._running:
            self._again.add(conversation_id)
            return
        task = asyncio.create_task(self._serve(conversation_id, principal), name=conversation_id)
        self._running[conversation_id] = task

    def announce(self, conn: Connection, conversation_id: str, principal: str) -> bool:
        """See Engine. What this process does after its own commit nobody has to store."""
        del conn, conversation_id, principal
        return False

    async def cancel(self, conversation_id: str) -> bool:
        """See Engine."""
        return await self._steps.cancel(conversation_id)

    def busy(self) -> int:
        """See Engine."""
        return len(self._steps)

    async def stop(self, grace: float) -> None:
        """See Engine."""
        self._draining = True
        for conversation_id, task in self._running.items():
            if conversation_id not in self._steps:
                task.cancel()  # it waits for a slot or for another try; the next start finds its rows
        tasks = list(self._running.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _serve(self, conversation_id: str, principal: str) -> None:
        failures = 0
        try:
            while not self._draining:
                self._again.discard(conversation_id)
                try:
                    async with self._slots.hold(principal):
                        if self._draining:
                            return
                        progress = await self._steps.run(conversation_id)
                except Exception:  # one conversation never stops the others; its rows stay open
                    log.exception("lane_step_failed", extra={"conversation": conversation_id})
                    await self._sleep(self._backoff[min(failures, len(self._backoff) - 1)])
                    failures += 1
                    continue
                failures = 0
                if progress is not Progress.AGAIN and conversation_id not in self._again:
                    return  # no await between this test and the pop below
        finally:
            self._running.pop(conversation_id, None)
            self._again.discard(conversation_id)
