"""The prices that come with the product: four US shares, daily, to 2013-03-01 (data/NOTICE says from where).

A series is parsed when it is first asked for, in a thread, and kept: about 10 ms and 0.4 MB each.
"""

import asyncio
import csv
import datetime as dt
import gzip
import io
from array import array
from importlib.resources import files

from agent_core.finance.bars import Bars, Split
from agent_core.finance.sources.source import NoData

SYMBOLS = ("AAPL", "GOOG", "IBM", "MSFT")


class BundledSource:
    """The bundled series; needs no network."""

    name = "bundled"
    symbols = SYMBOLS

    def __init__(self) -> None:
        self._parsed: dict[str, Bars] = {}

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource. Prices are as traded, in US dollars; splits are stated."""
        if symbol not in SYMBOLS:
            cure = f"there are {', '.join(SYMBOLS)}"
            raise NoData(f"no prices of {symbol}", self.name, cure)
        series = self._parsed.get(symbol)
        if series is None:  # two callers at once may both parse: same result, no lock needed
            series = self._parsed[symbol] = await asyncio.to_thread(_parse, symbol)
        window = series.window(start, end)
        if not len(window):
            cure = f"there is {series.first} to {series.as_of}"
            raise NoData(f"no prices of {symbol} from {start} to {end}", self.name, cure)
        return window


def _parse(symbol: str) -> Bars:
    text = gzip.decompress(_read(f"{symbol}.csv.gz")).decode()
    rows = [line.split(",") for line in text.splitlines()[1:]]
    open_, high, low, close, volume = (
        array("d", map(float, c)) for c in list(zip(*rows, strict=True))[1:]
    )
    return Bars(
        symbol=symbol,
        currency="USD",
        source=BundledSource.name,
        dates=tuple(dt.date.fromisoformat(row[0]) for row in rows),
        open=open_,
        high=high,
        low=low,
        close=close,
        volume=volume,
        splits=_splits(symbol),
    )


def _splits(symbol: str) -> tuple[Split, ...]:
    rows = csv.DictReader(io.StringIO(_read("splits.csv").decode()))
    return tuple(
        Split(dt.date.fromisoformat(row["date"]), float(row["ratio"]))
        for row in rows
        if row["symbol"] == symbol
    )


def _read(name: str) -> bytes:
    return files("agent_core.finance").joinpath("data", name).read_bytes()
