"""Rounds: one task that does what is due, then sleeps until more is, or until it is woken."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

log = logging.getLogger(__name__)
LONGEST_NAP_S = 3_600.0  # the wall clock may be set, and a machine may sleep: look again then
Look = Callable[[], Awaitable[float | None]]
Sleep = Callable[[float], Awaitable[None]]


class Rounds:
    """Started and stopped by its owner, again and again if need be; looks at once when it starts.

    `look` does what is due; it returns the seconds until more is, and None where only a wake can bring more. One that
    raises (mostly the database is away) is logged as the event `waits`, and made again `retry_s` seconds later. A wake
    that comes while it looks is a look more. `ends_nap`: asked before each nap for something else that ends it.
    """

    def __init__(
        self,
        name: str,
        look: Look,
        *,
        waits: str,
        retry_s: float,
        sleep: Sleep = asyncio.sleep,
        longest_nap_s: float = LONGEST_NAP_S,
        ends_nap: Callable[[], Awaitable[object] | None] = lambda: None,
    ) -> None:
        self._name = name
        self._look = look
        self._waits = waits
        self._retry_s = retry_s
        self._sleep = sleep
        self._longest_nap_s = longest_nap_s
        self._ends_nap = ends_nap
        self._woken = asyncio.Event()
        self._looking = False
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether it looks, or is about to because of a wake."""
        return self._looking or self._woken.is_set()

    def wake(self) -> None:
        """Something has changed, and is committed: look again. From the loop's own thread; before a start, too."""
        self._woken.set()

    def start(self) -> None:
        """Begin; returns at once."""
        self._woken.set()
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """End, in the middle of a look as well; a transaction that runs is not cut off half way.

        Harmless where it was not started.
        """
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            await self._rest(await self._looked())

    async def _looked(self) -> float | None:
        self._looking = True
        try:
            return await self._look()
        except Exception:  # mostly the database is away; what is due stays due
            log.exception(self._waits)
            return self._retry_s
        finally:
            self._looking = False

    async def _rest(self, seconds: float | None) -> None:
        """Until it is woken, or so many seconds have gone."""
        if seconds is None:
            await self._woken.wait()
            return
        ends: list[Awaitable[Any]] = [
            self._woken.wait(),
            self._sleep(min(max(seconds, 0.0), self._longest_nap_s)),
        ]
        if (other := self._ends_nap()) is not None:
            ends.append(other)
        waits = [asyncio.ensure_future(end) for end in ends]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
