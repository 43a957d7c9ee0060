"""Prices of mainland shares through baostock (extra `finance-cn`). Not verified live here (deploy/sources.md).

Prices are as traded; bonus shares and dividends come with their days. The client keeps one connection for the whole
process, prints what it does, and reads on for ever when the other side hangs up: all three are mended here.
"""

import datetime as dt
import socket
import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.sources import codes
from agent_core.finance.sources.fetch import down
from agent_core.finance.sources.source import NoData
from agent_core.finance.sources.thread import brought_by, in_thread
from agent_core.ports import Clock
from agent_core.symbols import Symbol

FIRST = dt.date(1990, 12, 19)  # the first day of trade in Shanghai
TIMEOUT = 10.0
_FIELDS = "date,open,high,low,close,volume,tradestatus"
_ONE = threading.Lock()  # the client's connection is global


class _Careful(socket.socket):
    """A socket with a time-out, for which the end of a stream is an error: the client would read for ever."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.settimeout(TIMEOUT)

    def recv(self, size: int, flags: int = 0) -> bytes:
        data = super().recv(size, flags)
        if not data:
            raise ConnectionResetError("the other side hung up")
        return data


class BaostockSource:
    """See PriceSource. `host` and `port` are baostock's own unless they are given."""

    name = "baostock"

    def __init__(self, clock: Clock, *, host: str | None = None, port: int | None = None) -> None:
        self._clock = clock
        self._host, self._port = host, port

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        code = codes.baostock(symbol)
        if code is None:
            cure = "baostock has shares of Shanghai and Shenzhen: enable another source"
            raise NoData(f"no prices of {symbol}", self.name, cure)
        first, last = start or FIRST, end or self._clock.now().date() + dt.timedelta(days=1)
        return await in_thread(self.name, lambda: self._ask(symbol, code, first, last))

    async def listing(self) -> list[Symbol]:
        """Every share that is traded in Shanghai and Shenzhen."""
        return await in_thread(self.name, self._list)

    def _ask(self, symbol: str, code: str, first: dt.date, last: dt.date) -> Bars:
        with _ONE, _session(self._host, self._port) as client:
            days = {"start_date": str(first), "end_date": str(last)}
            rows = list(
                _rows(client.query_history_k_data_plus(code, _FIELDS, **days, adjustflag="3"))
            )
            # later splits too: how many shares stand for one of the window is known today
            known = {"start_date": str(first), "end_date": str(self._clock.now().date())}
            events = _rows(client.query_adjust_factor(code, **known)) if rows else ()
            years = sorted({row["dividOperateDate"][:4] for row in events})
            paid = [
                row
                for year in years
                for row in _rows(client.query_dividend_data(code, year, yearType="operate"))
            ]
        traded = [row for row in rows if row["tradestatus"] != "0" and _priced(row)]
        if not traded:
            raise NoData(f"no prices of {symbol}", self.name, "check the symbol and the window")
        return bars_of(symbol, traded, paid)

    def _list(self) -> list[Symbol]:
        with _ONE, _session(self._host, self._port) as client:
            rows = list(_rows(client.query_stock_basic()))
        return [share for row in rows if (share := _share(row)) is not None]


def bars_of(symbol: str, rows: list[dict[str, str]], paid: list[dict[str, str]]) -> Bars:
    """The bars of baostock's rows, with what its rows of dividends say of splits and cash."""
    columns = {
        name: array("d", (float(row[name] or 0) for row in rows))
        for name in ("open", "high", "low", "close", "volume")
    }
    events = [
        (dt.date.fromisoformat(row["dividOperateDate"]), row)
        for row in paid
        if row["dividOperateDate"]
    ]
    return Bars(
        symbol=symbol,
        currency="CNY",
        source=BaostockSource.name,
        dates=tuple(dt.date.fromisoformat(row["date"]) for row in rows),
        open=columns["open"],
        high=columns["high"],
        low=columns["low"],
        close=columns["close"],
        volume=columns["volume"],
        splits=tuple(Split(day, _ratio(row)) for day, row in events if _ratio(row) > 1),
        dividends=tuple(
            Dividend(day, cash / _ratio(row))  # it is said for an old share, ours is for a new one
            for day, row in events
            if (cash := float(row["dividCashPsBeforeTax"] or 0)) > 0
        ),
    )


def _priced(row: dict[str, str]) -> bool:
    return all(float(row[name] or 0) > 0 for name in ("open", "high", "low", "close"))


def _ratio(row: dict[str, str]) -> float:
    return 1 + float(row["dividStocksPs"] or 0) + float(row["dividReserveToStockPs"] or 0)


def _share(row: dict[str, str]) -> Symbol | None:
    exchange, _, number = row["code"].partition(".")
    if row["type"] != "1" or row["status"] != "1" or not number:
        return None
    code, name = f"{number}.{exchange.upper()}", row["code_name"].strip()
    return Symbol(code, name, name, exchange.upper(), "CNY", ())


@contextmanager
def _session(host: str | None, port: int | None) -> Iterator[Any]:
    """The client, logged in; logged out at the end."""
    with brought_by(BaostockSource.name, "finance-cn"):
        import baostock
    from baostock.common import contants, context
    from baostock.login import loginout
    from baostock.security import history
    from baostock.util import socketutil

    contants.BAOSTOCK_SERVER_IP = host or contants.BAOSTOCK_SERVER_IP
    contants.BAOSTOCK_SERVER_PORT = port or contants.BAOSTOCK_SERVER_PORT
    socketutil.socket = SimpleNamespace(
        socket=_Careful, AF_INET=socket.AF_INET, SOCK_STREAM=socket.SOCK_STREAM
    )
    for module in (socketutil, loginout, history):
        vars(module)["print"] = _quiet
    try:
        answer = baostock.login()
        if answer.error_code != "0":
            raise down(BaostockSource.name, f"no log-in: {answer.error_msg or 'no answer'}")
        yield baostock
        baostock.logout()
    finally:
        context.default_socket.close()


def _rows(answer: Any) -> Iterator[dict[str, str]]:
    if answer is None or answer.error_code != "0":
        why = getattr(answer, "error_msg", "") or "it answered nothing"
        raise down(BaostockSource.name, why)
    while answer.next():
        yield dict(zip(answer.fields, answer.get_row_data(), strict=True))
    if answer.error_code != "0":
        raise down(BaostockSource.name, answer.error_msg)


def _quiet(*_: object, **__: object) -> None:
    """Takes what the client prints: standard output belongs to whoever runs the gateway."""
