"""Last known prices of many symbols, each with its day, its source and what its currency is worth in US dollars."""

import asyncio
import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from agent_core.finance.bars import Bars
from agent_core.finance.fx import NoRate, Rates
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.trading import Quote

LATELY = dt.timedelta(days=45)  # asked for first: a short answer where prices are live
RECENT = dt.timedelta(days=7)
SIDE_BY_SIDE = 5
DOLLAR = "USD"


@dataclass(frozen=True, slots=True)
class Quotes:
    """Asks the price sources; `rates` are reference rates of exchange."""

    sources: Sources
    rates: Rates
    clock: Clock

    async def quote(self, symbol: str, as_of: dt.date | None = None) -> Quote:
        """The last close on or before `as_of` (None: now). Raises NoData."""
        bars = await self._lately(symbol, as_of)
        return Quote(
            symbol=symbol,
            price=bars.close[-1],
            date=bars.as_of,
            currency=bars.currency,
            source=bars.source,
            usd=await self.dollars(bars.currency, bars.as_of),
            live=as_of is None and self.clock.now().date() - bars.as_of <= RECENT,
        )

    async def quotes(
        self, symbols: Iterable[str], as_of: dt.date | None = None
    ) -> tuple[dict[str, Quote], dict[str, str]]:
        """The quotes of many symbols, and why some have none."""
        slots = asyncio.Semaphore(SIDE_BY_SIDE)
        found: dict[str, Quote] = {}
        missing: dict[str, str] = {}

        async def one(symbol: str) -> None:
            async with slots:
                try:
                    found[symbol] = await self.quote(symbol, as_of)
                except NoData as e:
                    missing[symbol] = str(e)

        await asyncio.gather(*(one(symbol) for symbol in dict.fromkeys(symbols)))
        return found, missing

    async def rate(self, base: str, quote: str, on: dt.date) -> float | None:
        """What one unit of `base` is in `quote`; None where there is no rate on that day."""
        if base == quote:
            return 1.0
        try:
            return (await self.rates.rate(base, quote, on)).value
        except NoRate:
            return None

    async def dollars(self, currency: str, on: dt.date) -> float | None:
        """About what one unit of a currency is in US dollars, for limits; None where that is not known at all."""
        if currency == DOLLAR:
            return 1.0
        try:
            return (await self.rates.about(currency, DOLLAR, on)).value
        except NoRate:
            return None

    async def _lately(self, symbol: str, as_of: dt.date | None) -> Bars:
        since = (as_of or self.clock.now().date()) - LATELY
        try:
            return await self.sources.bars(symbol, since, None, as_of)
        except NoData:
            return await self.sources.bars(symbol, None, None, as_of)
