"""Slots that are shared fairly: a free one goes to the next person in turn, not to whoever queued the most."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairSlots:
    """At most `limit` holders; waiting holders of one person queue in order, persons take turns."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def hold(self, person: str) -> AsyncIterator[None]:
        """Wait for a slot, hold it for the block. Cancellation while waiting loses no slot."""
        await self._acquire(person)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, person: str) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(person, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # the slot was handed over in the same moment
            raise

    def _release(self) -> None:
        while self._waiting:
            person, queue = self._waiting.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._waiting[person] = queue  # back to the end of the round
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
