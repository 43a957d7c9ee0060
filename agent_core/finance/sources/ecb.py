"""The ECB's euro reference rates as prices of currency pairs such as EUR/USD: one fixing a day, offline."""

import asyncio
import datetime as dt
from array import array

from agent_core.finance.bars import Bars
from agent_core.finance.fx import NoRate, Rate, Rates
from agent_core.finance.sources import codes
from agent_core.finance.sources.source import NoData

FIXING = "daily fixing: open, high, low and close are one number"


class EcbSource:
    """See PriceSource. `rates` is made when it is not given."""

    name = "ecb"

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._made: dict[str, Bars] = {}

    def may_have(self, symbol: str) -> bool:
        """See Selective: pairs of currencies alone."""
        return codes.pair(symbol) is not None

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource. Volumes are 0: a fixing has none."""
        currencies = codes.pair(symbol)
        if currencies is None:
            cure = "the ECB has pairs of currencies, such as EUR/USD"
            raise NoData(f"no prices of {symbol}", self.name, cure)
        bars = self._made.get(symbol)
        if bars is None:
            try:
                fixed = await self._rates.history(*currencies)
            except NoRate as error:
                raise NoData(f"no prices of {symbol}", self.name, str(error)) from error
            bars = self._made[symbol] = await asyncio.to_thread(_bars, symbol, fixed)
        window = bars.window(start, end)
        if not len(window):
            cure = f"there is {bars.first} to {bars.as_of}"
            raise NoData(f"no prices of {symbol} from {start} to {end}", self.name, cure)
        return window


def _bars(symbol: str, fixed: list[Rate]) -> Bars:
    values = array("d", (rate.value for rate in fixed))
    return Bars(
        symbol=symbol,
        currency=fixed[0].quote,
        source=EcbSource.name,
        dates=tuple(rate.date for rate in fixed),
        open=values,
        high=values,
        low=values,
        close=values,
        volume=array("d", bytes(8 * len(values))),
        adjustment=FIXING,
    )
