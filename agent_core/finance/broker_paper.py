"""The paper broker: fills of play-money orders by the bars of the price sources.

The market's time of an order is the day of the last bar that was known when it was placed. A later bar fills it:

- a market order at that bar's open;
- a limit order at its limit where the bar reaches it, or at the open where the bar opens beyond it (a gap in one's
  favour);
- a stop order at its stop where the bar reaches it, or at the open where the bar opens beyond it (a gap against one).

Where no later bar can be expected (the source ends in the past, or the run may see nothing later), the last close
stands in for it: a market order is filled there, a limit order where the close is within its limit, a stop order where
the close has reached it; the note says so. An order is filled whole, at the earliest bar that does. Bars without
volume fill nothing.
"""

import datetime as dt
from dataclasses import dataclass

from agent_core.finance.bars import Bars
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.trading import PAPER, Order, Report

RECENT = dt.timedelta(days=7)  # the last bar is older: the source has ended
AT_CLOSE = "filled at the last close: {source} has no bar after {day}"
AT_BAR = "filled by the bar of {day} ({source})"
WAITS = "waits for the first bar after {day}"
ENDED = "{source} has no bar after {day}: it waits until there is one, or until it is cancelled"
NOTHING = "no prices at the moment: {why}"


@dataclass(frozen=True, slots=True)
class PaperBroker:
    """See Broker. `fee_bps` is in hundredths of a percent of what is traded."""

    sources: Sources
    clock: Clock
    fee_bps: float = 0.0
    name: str = PAPER

    async def submit(self, order: Order, as_of: dt.date | None = None) -> Report:
        """See Broker."""
        return await self._judge(order, as_of)

    async def look(self, order: Order) -> Report:
        """See Broker."""
        return await self._judge(order, None)

    async def cancel(self, order: Order) -> Report:
        """See Broker. Whether a bar had filled it before does not count: it was not booked."""
        del order
        return Report("cancelled")

    async def close(self) -> None:
        """See Broker."""

    async def _judge(self, order: Order, as_of: dt.date | None) -> Report:
        try:
            bars = await self.sources.bars(order.symbol, order.market_date, None, as_of)
        except NoData as e:
            return Report("open", note=NOTHING.format(why=e))
        later = bars.window(order.market_date + dt.timedelta(days=1), None)
        told = {"source": bars.source, "day": bars.as_of}
        for i in range(len(later)):
            price = fill_price(order, later, i)
            if price is not None and later.volume[i] > 0:
                return self._filled(order, price, later.dates[i], AT_BAR, bars.source)
        ended = as_of is not None or self.clock.now().date() - bars.as_of > RECENT
        if not ended:
            return Report("open", note=WAITS.format(**told))
        if not len(later) and within(order, bars.close[-1]):
            return self._filled(order, bars.close[-1], bars.as_of, AT_CLOSE, bars.source)
        return Report("open", note=ENDED.format(**told))

    def _filled(self, order: Order, price: float, day: dt.date, note: str, source: str) -> Report:
        fee = round(order.quantity * price * self.fee_bps / 10_000, 2)
        return Report("filled", price, day, fee, note.format(day=day, source=source))


def fill_price(order: Order, bars: Bars, i: int) -> float | None:
    """At what price a bar fills an order; None where it does not."""
    opened, level = bars.open[i], order.level
    if level is None:
        return opened
    # A buy limit and a sell stop wait for a fall to their level; the other two for a rise.
    falls = (order.side == "buy") == (order.kind == "limit")
    if (opened <= level) if falls else (opened >= level):
        return opened
    reached = bars.low[i] <= level if falls else bars.high[i] >= level
    return level if reached else None


def within(order: Order, close: float) -> bool:
    """Whether an order could be filled at this close."""
    if order.level is None:
        return True
    falls = (order.side == "buy") == (order.kind == "limit")
    return close <= order.level if falls else close >= order.level
