"""One thing at a time in each channel, in order of arrival."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Lanes:
    """Locks by channel, that are forgotten when nobody holds or awaits them."""

    def __init__(self) -> None:
        self._locks: dict[int, asyncio.Lock] = {}
        self._users: Counter[int] = Counter()

    @asynccontextmanager
    async def one(self, channel: int) -> AsyncIterator[None]:
        """Wait for the turn of the caller."""
        self._users[channel] += 1
        try:
            async with self._locks.setdefault(channel, asyncio.Lock()):
                yield
        finally:
            self._users[channel] -= 1
            if not self._users[channel]:
                del self._users[channel], self._locks[channel]
