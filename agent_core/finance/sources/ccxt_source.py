"""Prices of coins from one exchange through ccxt (extra `crypto`). Not verified live here (deploy/sources.md).

Days are UTC days. Prices are in the quote that the settings name: a stable coin is not called a dollar.
"""

import datetime as dt
from array import array
from collections.abc import Sequence
from typing import Any

from agent_core.finance.bars import Bars
from agent_core.finance.sources import codes
from agent_core.finance.sources.fetch import down, limited
from agent_core.finance.sources.source import NoData
from agent_core.finance.sources.thread import brought_by, in_thread
from agent_core.ports import Clock
from agent_core.symbols import Symbol

TIMEOUT_MS = 10_000
PAGE = 1_000  # days of one request
PAGES = 20
FIRST = dt.date(2011, 1, 1)
_DAY_MS = 86_400_000


class CcxtSource:
    """See PriceSource. `base_url` takes the place of the exchange's own."""

    name = "ccxt"

    def __init__(
        self,
        clock: Clock,
        *,
        exchange: str = "bitstamp",
        quote: str = "USD",
        base_url: str | None = None,
    ) -> None:
        self._clock = clock
        self._exchange = exchange
        self._quote = quote.upper()
        self._url = base_url

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        coin = codes.coin(symbol)
        if coin is None:
            raise NoData(f"no prices of {symbol}", self.name, "ccxt has coins, such as BTC-USD")
        last = end or self._clock.now().date()
        market = f"{coin}/{self._quote}"

        def ask() -> Bars:
            rows = self._ask(symbol, market, start or FIRST, last)
            return bars_of(symbol, rows, self._quote, last)

        return await in_thread(self.name, ask)

    async def listing(self) -> list[Symbol]:
        """Every coin that is traded for the quote."""
        return await in_thread(self.name, self._list)

    def _client(self) -> Any:
        with brought_by(self.name, "crypto"):
            import ccxt  # pyright: ignore[reportMissingImports]

        made = getattr(ccxt, self._exchange, None)
        if made is None or self._exchange not in ccxt.exchanges:
            cure = "name one of https://docs.ccxt.com in data.ccxt.exchange"
            raise NoData(f"there is no exchange {self._exchange!r}", self.name, cure)
        client = made({"timeout": TIMEOUT_MS, "enableRateLimit": True})
        if self._url:
            client.urls["api"] = dict.fromkeys(client.urls["api"], self._url)
        return client

    def _ask(
        self, symbol: str, market: str, first: dt.date, last: dt.date
    ) -> list[Sequence[float]]:
        client = self._client()
        from ccxt import (  # pyright: ignore[reportMissingImports]
            BadSymbol,
            RateLimitExceeded,
        )

        rows: list[Sequence[float]] = []
        since = _milliseconds(first)
        try:
            for _ in range(PAGES):
                page = client.fetch_ohlcv(market, "1d", since=since, limit=PAGE)
                if not page and not client.is_json_encoded_object(client.last_http_response):
                    raise down(self.name, "it answered no JSON")  # which ccxt takes for no days
                rows += [row for row in page if not rows or row[0] > rows[-1][0]]
                since = (int(rows[-1][0]) if rows else since + PAGE * _DAY_MS) + _DAY_MS
                if since > _milliseconds(last) or (rows and not page):
                    break
        except BadSymbol as error:
            cure = f"{self._exchange} does not trade {market}: name another exchange"
            raise NoData(f"no prices of {symbol}", self.name, cure) from error
        except RateLimitExceeded as error:
            raise limited(self.name, None) from error
        return rows

    def _list(self) -> list[Symbol]:
        markets = self._client().load_markets().values()
        coins = {m["base"] for m in markets if m["quote"] == self._quote and m.get("spot", True)}
        return [Symbol(f"{c}-USD", c, c, "CRYPTO", "USD", ()) for c in sorted(coins)]


def bars_of(symbol: str, rows: list[Sequence[float]], quote: str, last: dt.date) -> Bars:
    """The bars of ccxt's rows [ms, open, high, low, close, volume]. Raises NoData for none."""
    dated = [(dt.datetime.fromtimestamp(row[0] / 1000, dt.UTC).date(), row) for row in rows]
    kept = [(day, row) for day, row in dated if day <= last]
    if not kept:
        raise NoData(f"no prices of {symbol}", CcxtSource.name, "check the symbol and the window")
    if any(len(row) < 6 or None in row or min(row[1:5]) <= 0 for _, row in kept):
        raise down(CcxtSource.name, "it answered rows without prices")
    columns = [array("d", (row[i] for _, row in kept)) for i in range(1, 6)]
    return Bars(
        symbol=symbol,
        currency=quote,
        source=CcxtSource.name,
        dates=tuple(day for day, _ in kept),
        open=columns[0],
        high=columns[1],
        low=columns[2],
        close=columns[3],
        volume=columns[4],
    )


def _milliseconds(day: dt.date) -> int:
    return int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp() * 1000)
