"""Prices and figures of Yahoo Finance through yfinance (extra `finance`). Not verified live here (deploy/sources.md).

Yahoo adjusts for all splits up to today. They are taken out again, so that prices are as traded and a split of the
future shows in no earlier price; hence a window is always asked for up to today.
"""

import datetime as dt
import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.fundamentals import Fundamentals, Period
from agent_core.finance.sources import codes, yahoo_figures
from agent_core.finance.sources.fetch import limited
from agent_core.finance.sources.source import NoData
from agent_core.finance.sources.thread import brought_by, in_thread
from agent_core.ports import Clock

TIMEOUT = 10  # seconds of one request; a question is up to three


class YahooSource:
    """See PriceSource.

    `cache_dir`: where yfinance keeps time zones and cookies. `session` makes the HTTP session that it uses.
    """

    name = "yfinance"

    def __init__(
        self,
        clock: Clock,
        *,
        cache_dir: Path | None = None,
        session: Callable[[], Any] | None = None,
    ) -> None:
        self._clock = clock
        self._cache = cache_dir
        self._session = session

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        code = codes.yahoo(symbol)
        if code is None:
            raise NoData(f"no prices of {symbol}", self.name, "Yahoo has none of its exchange")
        found = await in_thread(self.name, lambda: self._ask(symbol, code, start))
        window = found.window(start, end)
        if not len(window):
            cure = f"there is {found.first} to {found.as_of}"
            raise NoData(f"no prices of {symbol} from {start} to {end}", self.name, cure)
        return window

    async def fundamentals(
        self, symbol: str, period: Period, as_of: dt.date | None
    ) -> Fundamentals:
        """See FundamentalsSource. Yahoo does not say when a statement was filed: 90 days after its period, at most."""
        code = codes.yahoo(symbol)
        if code is None or codes.pair(symbol) or codes.coin(symbol):
            raise NoData(f"no figures of {symbol}", self.name, "companies report, nothing else")
        return await in_thread(self.name, lambda: self._figures(symbol, code, period, as_of))

    def _ask(self, symbol: str, code: str, start: dt.date | None) -> Bars:
        with self._ticker(symbol, code) as ticker:
            frame = ticker.history(
                start=start, period=None if start else "max", auto_adjust=False, timeout=TIMEOUT
            )
            currency = str(ticker.history_metadata.get("currency") or "USD")
        return bars_of(symbol, frame, currency)

    def _figures(
        self, symbol: str, code: str, period: Period, as_of: dt.date | None
    ) -> Fundamentals:
        with self._ticker(symbol, code) as ticker:
            found = yahoo_figures.statements(ticker, period, as_of)
            info = ticker.get_info()
        now = {} if as_of is not None and as_of < self._clock.now().date() else info
        shown = yahoo_figures.present(now)
        if not found and not shown:
            cure = "ask for another day, or for another source"
            raise NoData(f"no figures of {symbol} until {as_of or 'now'}", self.name, cure)
        name = str(info.get("longName") or info.get("shortName") or symbol)
        currency = str(info.get("financialCurrency") or info.get("currency") or "USD")
        return Fundamentals(symbol, name, self.name, currency, found, shown)

    @contextmanager
    def _ticker(self, symbol: str, code: str) -> Iterator[Any]:
        """The client's object of one symbol; what it raises within becomes ours."""
        with brought_by(self.name, "finance"):
            import yfinance
        from yfinance.exceptions import YFRateLimitError, YFTickerMissingError

        if self._cache is not None:
            self._cache.mkdir(parents=True, exist_ok=True)
            yfinance.set_tz_cache_location(str(self._cache))
        yfinance.config.debug.hide_exceptions = False
        session = self._session() if self._session else None
        try:
            yield yfinance.Ticker(code, session=session)
        except YFRateLimitError as error:
            raise limited(self.name, None) from error
        except YFTickerMissingError as error:
            raise self._unknown(symbol) from error
        except Exception as error:
            # of two HTTP clients whichever is there: both tell the answer that they did not like
            if getattr(getattr(error, "response", None), "status_code", None) == 404:
                raise self._unknown(symbol) from error
            raise

    def _unknown(self, symbol: str) -> NoData:
        return NoData(f"nothing of {symbol}", self.name, "check the symbol and the window")


def bars_of(symbol: str, frame: Any, currency: str) -> Bars:
    """The bars of yfinance's frame, as traded. Rows without a price are left out. Raises NoData for an empty one."""
    columns = {name: frame[name].tolist() for name in ("Open", "High", "Low", "Close", "Volume")}
    days = [stamp.date() for stamp in frame.index]
    whole = [i for i, row in enumerate(zip(*columns.values(), strict=True)) if _priced(row[:4])]
    if not whole:
        raise NoData(f"no prices of {symbol}", YahooSource.name, "check the symbol and the window")
    kept = {name: array("d", (values[i] for i in whole)) for name, values in columns.items()}
    adjusted = Bars(
        symbol=symbol,
        currency=currency,
        source=YahooSource.name,
        dates=tuple(days[i] for i in whole),
        open=kept["Open"],
        high=kept["High"],
        low=kept["Low"],
        close=kept["Close"],
        volume=array("d", (v if math.isfinite(v) else 0.0 for v in kept["Volume"])),
        splits=tuple(Split(day, ratio) for day, ratio in _events(frame, days, "Stock Splits")),
        dividends=tuple(Dividend(day, paid) for day, paid in _events(frame, days, "Dividends")),
    )
    return adjusted.as_traded()


def _events(frame: Any, days: list[dt.date], name: str) -> Iterable[tuple[dt.date, float]]:
    values = frame[name].tolist() if name in frame else []
    return [(day, value) for day, value in zip(days, values, strict=False) if value > 0]


def _priced(row: Iterable[float]) -> bool:
    return all(0 < value < math.inf for value in row)
