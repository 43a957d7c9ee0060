"""The paper broker: fills of play-money orders by the bars of the price sources.

The market's time of an order is the day of the last bar that was known when it was placed. A later bar fills it:

- a market order at that bar's open;
- a limit order at its limit where the bar reaches it, or at the open where the bar opens beyond it (a gap in one's
  favour);
- a stop order at its stop where the bar reaches it, or at the open where the bar opens beyond it (a gap against one).

Where no later bar can be expected (the source ends in the past, or the run may see nothing later), the last close
stands in for it: a market order is filled there, a limit order where the close is within its limit, a stop order where
the close has reached it; the note says so. An order is filled whole, at the earliest bar that does. Bars without
volume fill nothing, unless the series has none at all, as fixings of currencies.

Quantity and prices of an order are in shares of its day. A split changes them as it changes the share: twice as many at
half the price are what was said yes to; so the report says in which shares it is. Bars in another currency fill no
order, as a source further on in the chain may have.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from agent_core.finance.bars import Bars, Split
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.trading import PAPER, Order, Report

RECENT = dt.timedelta(days=7)  # the last bar is older: the source has ended
AT_CLOSE = "filled at the last close: {source} has no bar after {day}"
AT_BAR = "filled by the bar of {day} ({source})"
WAITS = "waits for the first bar after {day}"
ENDED = "{source} has no bar after {day}: it waits until there is one, or until it is cancelled"
CURRENCY = "{source} has prices in {found}, the order is in {wanted}: it waits for such"
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
        if bars.currency != order.currency:
            note = CURRENCY.format(source=bars.source, found=bars.currency, wanted=order.currency)
            return Report("open", note=note)
        since = order.split_on or order.market_date
        splits = sorted((s for s in bars.applied if s.date > since), key=lambda s: s.date)
        bars = replace(bars, splits=tuple(splits)).as_traded() if splits else bars
        first = max(order.market_date + dt.timedelta(days=1), since)
        later = bars.window(first, None)
        found = self._by_bars(order, later, splits, any(bars.volume))
        if found is None:
            known = [s for s in splits if s.date <= bars.as_of]
            found = _in_shares_of(self._by_close(_split(order, known), bars, later, as_of), known)
        return found

    def _by_bars(
        self, order: Order, later: Bars, splits: Sequence[Split], volumes: bool
    ) -> Report | None:
        """What the first bar that fills the order makes of it; None where none does. `volumes`: they count."""
        for i in range(len(later)):
            known = [s for s in splits if s.date <= later.dates[i]]
            now = _split(order, known)
            price = fill_price(now, later, i)
            if price is not None and (later.volume[i] > 0 or not volumes):
                filled = self._filled(now, price, later.dates[i], AT_BAR, later.source)
                return _in_shares_of(filled, known)
        return None

    def _by_close(self, order: Order, bars: Bars, later: Bars, as_of: dt.date | None) -> Report:
        """What becomes of an order that no later bar fills: it waits, or the last close stands in for one."""
        told = {"source": bars.source, "day": bars.as_of}
        ended = as_of is not None or self.clock.now().date() - bars.as_of > RECENT
        if not ended:
            return Report("open", note=WAITS.format(**told))
        if not len(later) and within(order, bars.close[-1]):
            return self._filled(order, bars.close[-1], bars.as_of, AT_CLOSE, bars.source)
        return Report("open", note=ENDED.format(**told))

    def _filled(self, order: Order, price: float, day: dt.date, note: str, source: str) -> Report:
        fee = round(order.quantity * price * self.fee_bps / 10_000, 2)
        return Report("filled", price, day, fee, note.format(day=day, source=source))


def _split(order: Order, splits: Sequence[Split]) -> Order:
    """The order in the shares that these splits have made."""
    ratio = prod(split.ratio for split in splits)

    def price(value: float | None) -> float | None:
        return None if value is None else value / ratio

    return replace(
        order,
        quantity=order.quantity * ratio,
        limit_price=price(order.limit_price),
        stop_price=price(order.stop_price),
    )


def _in_shares_of(report: Report, splits: Sequence[Split]) -> Report:
    """The report, which says by which splits the order is to be changed first."""
    if not splits:
        return report
    return replace(report, ratio=prod(s.ratio for s in splits), split_on=splits[-1].date)


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
