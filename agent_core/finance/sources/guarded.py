"""A live source behind a guard: so many requests a minute, a time-out, and none at all while it is down.

A source that is down costs its time-out once, not at each question: after `FAILURES` in a row it is left alone for a
while that doubles with each further failure, and for as long as it asks for itself (Retry-After).
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent_core.finance.bars import Bars
from agent_core.finance.sources.fetch import down, limited
from agent_core.finance.sources.source import PriceSource, SourceDown
from agent_core.ports import Clock

T = TypeVar("T")
FAILURES = 3
COOLING, COOLING_MAX = 30.0, 900.0  # seconds
PATIENCE = 20.0  # seconds that a question waits for its turn; tools have 30


class Bucket:
    """At most `per_minute` tokens a minute, and no more than a third of them at once."""

    def __init__(self, per_minute: float, clock: Clock) -> None:
        self._rate = per_minute / 60
        self._size = max(1.0, per_minute / 3)
        self._left = self._size
        self._clock = clock
        self._at = clock.monotonic()

    def take(self) -> float:
        """Take a token; the seconds until it is there. Always succeeds: who does not want to wait gives it back."""
        now = self._clock.monotonic()
        self._left = min(self._size, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= 1
        return max(0.0, -self._left / self._rate)

    def give_back(self) -> None:
        """Return a token that was not used."""
        self._left += 1


class Breaker:
    """Whether a source may be asked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0

    @property
    def closed_for(self) -> float:
        """Seconds in which nothing may be asked; 0 when it may."""
        return max(0.0, self._until - self._clock.monotonic())

    def worked(self) -> None:
        """The source answered."""
        self._failures = 0

    def failed(self, retry_after: float | None) -> None:
        """The source did not."""
        self._failures += 1
        wait = retry_after or 0.0
        if self._failures >= FAILURES:
            wait = max(wait, min(COOLING * 2 ** (self._failures - FAILURES), COOLING_MAX))
        self._until = self._clock.monotonic() + wait


class Guard:
    """The guard of one server; several sources of one vendor may share it.

    Args:
        name: The source, as it is told.
        per_minute: Requests a minute.
        timeout: Seconds for one question, without its wait for a token.
        clock: Time.
        sleep: Waits; a test's own does not.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        *,
        per_minute: float = 60.0,
        timeout: float = 20.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._sleep = sleep
        self._bucket = Bucket(per_minute, clock)
        self._breaker = Breaker(clock)

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """The answer to a question. Raises SourceDown where the source may not be asked, is too slow or is down."""
        if rest := self._breaker.closed_for:
            raise down(self._name, f"it failed before and is left alone for {rest:.0f} s")
        await self._turn()
        try:
            async with asyncio.timeout(self._timeout):
                answer = await question()
        except TimeoutError:
            self._breaker.failed(None)
            raise down(self._name, f"no answer within {self._timeout:g} s") from None
        except SourceDown as error:
            self._breaker.failed(error.retry_after)
            raise
        self._breaker.worked()
        return answer

    async def _turn(self) -> None:
        wait = self._bucket.take()
        if wait > PATIENCE:
            self._bucket.give_back()
            raise limited(self._name, wait)
        if wait:
            await self._sleep(wait)


class GuardedSource:
    """A price source behind its guard."""

    def __init__(self, source: PriceSource, guard: Guard) -> None:
        self._source = source
        self._guard = guard
        self.name = source.name

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        return await self._guard.ask(lambda: self._source.bars(symbol, start, end))
