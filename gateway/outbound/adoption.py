"""Takes up the replies that dead replicas left, and those that an operator has released."""

import asyncio
from collections.abc import Awaitable, Callable

from gateway.outbound import replicas
from gateway.outbound.sender import Sender
from gateway.rounds import Rounds
from gateway.storage.db import Database

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
        self._rounds = Rounds(
            "outbox-adoption", self._round, waits="adoption_waits", retry_s=RETRY_S, sleep=sleep
        )

    def wake(self) -> None:
        """A replica has gone, or a reply is nobody's."""
        self._rounds.wake()

    async def start(self) -> None:
        """Look once, then whenever it is woken."""
        self._rounds.start()

    async def stop(self) -> None:
        """End the waiting; what was taken up is sent."""
        await self._rounds.stop()

    async def _round(self) -> None:
        await self._sleep(HOLD_S)
        self._senders.take_over(await self._db.write(replicas.take_over))
