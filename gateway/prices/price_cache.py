"""Keeps the prices of live sources in the database, behind SeriesStore."""

import asyncio
import logging

from agent_core.finance.sources.kept import Kept
from agent_core.finance.sources.packed import pack, unpack
from agent_core.storage.prices import StoredSeries, load_series, save_series
from gateway.storage.db import Database

log = logging.getLogger(__name__)


class PriceCache:
    """See SeriesStore. What another version has written is fetched again."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def load(self, source: str, symbol: str) -> Kept | None:
        """See SeriesStore."""
        found = await self._db.read(lambda conn: load_series(conn, source, symbol))
        if found is None:
            return None
        try:
            bars = await asyncio.to_thread(unpack, found.data)
        except ValueError as error:
            log.warning("price_series_unread", extra={"source": source, "why": str(error)})
            return None
        return Kept(bars, found.start, found.end)

    async def save(self, kept: Kept) -> None:
        """See SeriesStore."""
        bars = kept.bars
        if bars.fetched_at is None:
            raise ValueError(f"{bars.symbol} of {bars.source} was not fetched")
        data = await asyncio.to_thread(pack, bars)
        row = StoredSeries(bars.source, bars.symbol, kept.start, kept.end, bars.fetched_at, data)
        await self._db.write(lambda conn: save_series(conn, row))
