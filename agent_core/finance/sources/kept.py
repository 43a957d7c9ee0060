"""A live source with a memory: what was fetched once is kept, so that no question and no restart fetches it again.

Fresh is what cannot have changed since it was fetched: days before the last one that had ended then; later ones are
fetched again when the market has closed once more, and every `LIVE` while it is open. A source that cannot be asked is
answered for by what is kept, marked as stale.
"""

import asyncio
import datetime as dt
from dataclasses import dataclass, replace
from typing import Protocol
from weakref import WeakValueDictionary

from agent_core.finance.bars import Bars
from agent_core.finance.calendars import (
    DAY,
    Calendars,
    Market,
    SimpleCalendars,
    last_closed,
    market_of,
)
from agent_core.finance.sources.source import NoData, PriceSource, SourceDown
from agent_core.ports import Clock

LIVE = dt.timedelta(minutes=5)
LATE = dt.timedelta(minutes=30)  # vendors publish a day some time after its close


@dataclass(frozen=True, slots=True)
class Kept:
    """What one answer of a source covered: `start` None is from the beginning. `bars.fetched_at` is set."""

    bars: Bars
    start: dt.date | None
    end: dt.date


class SeriesStore(Protocol):
    """Keeps series by source and symbol. Market data is nobody's: it is the installation's own."""

    async def load(self, source: str, symbol: str) -> Kept | None:
        """What is kept, or None."""
        ...

    async def save(self, kept: Kept) -> None:
        """Keep it in place of what was kept for the same source and symbol."""
        ...


class KeptSource:
    """A price source with what it has fetched.

    `max_age`: what was fetched longer ago is fetched again, however final it is; None: by the market's days alone.
    """

    def __init__(
        self,
        source: PriceSource,
        store: SeriesStore,
        clock: Clock,
        *,
        max_age: dt.timedelta | None = None,
        calendars: Calendars | None = None,
    ) -> None:
        self._source = source
        self._store = store
        self._clock = clock
        self._max_age = max_age
        self._calendars = calendars or SimpleCalendars()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.name = source.name

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource. Questions about one symbol wait for each other, so that it is fetched once."""
        lock = self._locks.setdefault(symbol, asyncio.Lock())
        async with lock:
            kept = await self._store.load(self.name, symbol)
            if kept is None or not self._fresh(kept, start, end):
                kept = await self._fetched(kept, symbol, start, end)
        return self._window(kept.bars, start, end)

    def _fresh(self, kept: Kept, start: dt.date | None, end: dt.date | None) -> bool:
        fetched, now = kept.bars.fetched_at, self._clock.now()
        if fetched is None or not _covers(kept, start):
            return False
        age = now - fetched
        if self._max_age is not None and age > self._max_age:
            return False
        market = market_of(kept.bars.symbol)
        final = last_closed(self._calendars, market, fetched)
        if end is not None and end <= min(final, kept.end) and kept.bars.as_of >= end - 3 * DAY:
            return True
        if (end is None or end > kept.end) and kept.end < fetched.date():
            return False  # it ends where that question ended, not where the source does
        since = last_closed(self._calendars, market, now)
        if since > final or self._open(market, now):
            return age <= LIVE
        return kept.bars.as_of >= final or age <= LATE

    def _open(self, market: Market, now: dt.datetime) -> bool:
        sessions = (self._calendars.session(market, now.date() + i * DAY) for i in (-1, 0, 1))
        return any(s is not None and s.opens <= now < s.closes for s in sessions)

    async def _fetched(
        self, kept: Kept | None, symbol: str, start: dt.date | None, end: dt.date | None
    ) -> Kept:
        now = self._clock.now()
        until = end or now.date() + DAY  # somewhere it is tomorrow already
        begin = start
        if kept is not None:  # one piece, so that one fetch answers for both
            until = max(until, kept.end)
            begin = None if start is None or kept.start is None else min(start, kept.start)
        try:
            bars = await self._source.bars(symbol, begin, min(until, now.date() + DAY))
        except SourceDown:
            if kept is None or not _covers(kept, start):
                raise
            return replace(kept, bars=replace(kept.bars, stale=True))
        new = Kept(replace(bars, symbol=symbol, fetched_at=now), begin, until)
        await self._store.save(new)
        return new

    def _window(self, bars: Bars, start: dt.date | None, end: dt.date | None) -> Bars:
        window = bars.window(start, end)
        if not len(window):
            cure = f"there is {bars.first} to {bars.as_of}"
            raise NoData(f"no prices of {bars.symbol} from {start} to {end}", self.name, cure)
        return window


def _covers(kept: Kept, start: dt.date | None) -> bool:
    return kept.start is None or (start is not None and start >= kept.start)
