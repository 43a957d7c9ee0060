"""Prices that go on: a source whose bars a test adds, and alerts in a house that stands on it."""

import datetime as dt
from typing import Any

from agent_core.finance.bars import Bars
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from gateway.storage.db import Database
from tests.house import START, House, Watch

# A Monday at noon UTC; New York opens at 14:30 UTC.
FRIDAY = START.date() - dt.timedelta(days=3)


class Ticker:
    """A PriceSource (agent_core/finance/sources) of one close a day for each symbol; it counts what it is asked."""

    name = "ticker"
    symbols = ("GOOG", "IBM")

    def __init__(self, last: float = 395.0, day: dt.date = FRIDAY) -> None:
        self.closes = {
            symbol: {day - dt.timedelta(days=n): last for n in range(60, -1, -1)}
            for symbol in self.symbols
        }
        self.asked: list[str] = []
        self.away = False
        self.broken = False

    def put(self, day: dt.date, close: float, symbol: str = "GOOG") -> None:
        """The price of a day, or its latest one."""
        self.closes[symbol][day] = close

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        self.asked.append(symbol)
        if self.away:
            raise NoData("cannot be reached", self.name, "try later")
        if self.broken:
            raise RuntimeError("a source of somebody else")
        if symbol not in self.closes:
            raise NoData(f"no prices of {symbol}", self.name, "ask for another one")
        days = sorted(
            d
            for d in self.closes[symbol]
            if (start is None or d >= start) and (end is None or d <= end)
        )
        closes = [self.closes[symbol][day] for day in days]
        volume = [1.0] * len(days)
        return Bars(symbol, "USD", self.name, tuple(days), closes, closes, closes, closes, volume)


def watching(db: Database, ticker: Ticker, script: Any = (), **more: Any) -> House:
    """A house whose alerts are judged by a ticker."""
    clock = more.pop("clock", None) or Watch()
    return House(db, script, prices=Sources([ticker], clock), clock=clock, **more)
