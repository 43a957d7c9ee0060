"""Prices of stooq.com as CSV: US and Hong Kong shares, currencies. Not verified live here (deploy/sources.md).

Its prices are adjusted for splits and dividends as they are known today, so that an earlier `as_of` sees prices in
today's shares; ratios between days are right.
"""

import asyncio
import csv
import datetime as dt

from agent_core.finance.bars import Bars
from agent_core.finance.sources import codes, table
from agent_core.finance.sources.fetch import down, fetch, limited
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock

URL = "https://stooq.com"
ADJUSTED = "adjusted by stooq for splits and dividends as known today"


class StooqSource:
    """See PriceSource. `api_key` is what stooq gives to those who load much."""

    name = "stooq"

    def __init__(self, clock: Clock, *, base_url: str = URL, api_key: str | None = None) -> None:
        self._clock = clock
        self._url = f"{base_url.rstrip('/')}/q/d/l/"
        self._key = api_key

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        code = codes.stooq(symbol)
        if code is None:
            cure = "stooq has US and Hong Kong shares and currencies: enable another source"
            raise NoData(f"no prices of {symbol}", self.name, cure)
        asked = {"s": code, "i": "d"}
        asked |= {"d1": f"{start:%Y%m%d}"} if start else {}
        asked |= {"d2": f"{end:%Y%m%d}"} if end else {}
        asked |= {"apikey": self._key} if self._key else {}
        body = await fetch(self.name, self._url, clock=self._clock, params=asked)
        return await asyncio.to_thread(self._read, symbol, body.decode("utf-8", "replace"))

    def _read(self, symbol: str, text: str) -> Bars:
        lines = text.strip().splitlines()
        if not lines or lines[0].lower().startswith("no data"):
            raise NoData(f"no prices of {symbol}", self.name, "check the symbol and the window")
        if "exceeded" in lines[0].lower() and "limit" in lines[0].lower():
            raise limited(self.name, 3600.0)
        try:
            at = table.places(lines[0].split(","))
            found = table.read(enumerate(csv.reader(lines[1:]), 2), at)
        except table.BadTable as error:
            raise down(
                self.name, f"it answered something that is no table of prices ({error})"
            ) from error
        if not found.dates:
            raise NoData(f"no prices of {symbol}", self.name, "check the symbol and the window")
        currencies = codes.pair(symbol)
        quoted = currencies[1] if currencies else "HKD" if symbol.endswith(".HK") else "USD"
        return found.bars(symbol, quoted, self.name, ADJUSTED)
