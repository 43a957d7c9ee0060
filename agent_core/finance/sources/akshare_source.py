"""Prices of mainland and Hong Kong shares through akshare (extra `finance-cn`). Not verified live here.

They are adjusted by the source for splits and dividends as known today ("qfq"), see deploy/sources.md.
"""

import datetime as dt
from typing import Any

from agent_core.finance.bars import Bars
from agent_core.finance.sources import codes, table
from agent_core.finance.sources.fetch import down
from agent_core.finance.sources.source import NoData
from agent_core.finance.sources.thread import brought_by, in_thread
from agent_core.ports import Clock

ADJUSTED = "adjusted by akshare for splits and dividends as known today (qfq)"
LOT = 100  # shares: mainland volumes come in lots
TIMEOUT_S = 15.0  # for the mainland, where akshare sets none of its own
_FIRST, _LAST = "19900101", "20991231"


class AkshareSource:
    """See PriceSource."""

    name = "akshare"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        if codes.exchange(symbol)[1] not in {"SH", "SZ", "BJ", "HK"}:
            cure = "akshare is asked for mainland and Hong Kong shares: enable another source"
            raise NoData(f"no prices of {symbol}", self.name, cure)
        return await in_thread(self.name, lambda: self._ask(symbol, start, end))

    def _ask(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        with brought_by(self.name, "finance-cn"):
            import akshare  # pyright: ignore[reportMissingImports]

        number, exchange = codes.exchange(symbol)
        days = {
            "start_date": f"{start:%Y%m%d}" if start else _FIRST,
            "end_date": f"{end:%Y%m%d}" if end else _LAST,
        }
        asked: dict[str, Any] = {"period": "daily", "adjust": "qfq", **days}
        if exchange == "HK":
            frame = _hong_kong(akshare, symbol=f"{int(number):05d}", **asked)
        else:
            frame = akshare.stock_zh_a_hist(symbol=number, timeout=TIMEOUT_S, **asked)
        return bars_of(symbol, [] if frame is None else frame.to_dict("records"))


def _hong_kong(akshare: Any, **asked: Any) -> Any:
    """As akshare does, which reads the rows of an answer without any (`"data": null`) for an unknown symbol."""
    try:
        return akshare.stock_hk_hist(**asked)
    except TypeError:
        return None


def bars_of(symbol: str, rows: list[dict[str, Any]]) -> Bars:
    """The bars of akshare's records. Raises NoData for none, SourceDown for what is no table of prices."""
    if not rows:
        raise NoData(
            f"no prices of {symbol}", AkshareSource.name, "check the symbol and the window"
        )
    header = list(rows[0])
    cells = ([str(row[name]) for name in header] for row in rows)
    try:
        found = table.read(enumerate(cells, 2), table.places(header))
    except table.BadTable as error:
        raise down(AkshareSource.name, f"it answered no table of prices ({error})") from error
    hong_kong = symbol.endswith(".HK")
    if not hong_kong:
        volumes = found.columns["volume"]
        for i, lots in enumerate(volumes):
            volumes[i] = lots * LOT
    return found.bars(symbol, "HKD" if hong_kong else "CNY", AkshareSource.name, ADJUSTED)
