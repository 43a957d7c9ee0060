"""Takes up the replies that dead replicas left, and those that an operator has released."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gateway.outbound import replicas
from gateway.outbound.sender import Sender
from gateway.storage.db import Database

log = logging.getLogger(__name__)
HOLD_S = 2.0  # a replica that has only lost its connection has a new one by then
RETRY_S = 5.0


class Adoption:
    """One task, in the replica that has the role `outbox`. `sleep` takes seconds."""

    def __init__(
        self,
        db: Database,
        senders: Sender,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._senders = senders
        self._sleep = sleep
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """A replica has gone, or a reply is nobody's."""
        self._changed.set()

    async def start(self) -> None:
        """Look once, then whenever it is woken."""
        self._changed.set()
        self._task = asyncio.create_task(self._run(), name="outbox-adoption")

    async def stop(self) -> None:
        """End the waiting; what was taken up is sent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            await self._sleep(HOLD_S)
            self._changed.clear()
            try:
                rows = await self._db.write(replicas.take_over)
            except Exception:  # the database is away; what is ready stays ready
                log.exception("adoption_waits")
                await self._sleep(RETRY_S)
                self._changed.set()
                continue
            self._senders.take_over(rows)
