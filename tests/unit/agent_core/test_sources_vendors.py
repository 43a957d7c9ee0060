"""The vendors' own clients against loopback servers that speak as the vendors do, and what is made of their answers.

The clients bring pandas, so what imports them is slow. ccxt changes how every other client looks up names (it brings
aiodns), so it has an environment of its own (`make test-crypto`); what is made of its rows is tested here.
"""

import asyncio
import datetime as dt
import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agent_core.finance.bars import Dividend, Split
from agent_core.finance.sources import akshare_source, baostock_source, ccxt_source
from agent_core.finance.sources.akshare_source import AkshareSource
from agent_core.finance.sources.baostock_source import BaostockSource
from agent_core.finance.sources.ccxt_source import CcxtSource
from agent_core.finance.sources.source import NoData, SourceDown
from agent_core.finance.sources.yahoo import YahooSource, bars_of
from tests.vendors import DAY, Vendor, Watch, html

# --- Yahoo Finance -----------------------------------------------------------------------------------------------

YAHOO = "/query2.finance.yahoo.com"
SPLIT_DAY = 1_598_880_600  # 2020-08-31 13:30 UTC
STAMPS = [SPLIT_DAY - 3 * 86_400, SPLIT_DAY, SPLIT_DAY + 86_400]


def chart(query: dict[str, str]) -> dict[str, Any]:
    """v8/finance/chart: three days around a split of 4 for 1, in today's shares, and a dividend on the last."""
    meta = {
        "currency": "USD",
        "symbol": "AAPL",
        "exchangeTimezoneName": "America/New_York",
        "timezone": "EDT",
        "gmtoffset": -14400,
        "instrumentType": "EQUITY",
        "firstTradeDate": 345479400,
        "regularMarketTime": STAMPS[-1] + 23_400,
        "priceHint": 2,
        "currentTradingPeriod": {
            name: {
                "timezone": "EDT",
                "start": STAMPS[-1],
                "end": STAMPS[-1] + 23_400,
                "gmtoffset": -14400,
            }
            for name in ("pre", "regular", "post")
        },
        "dataGranularity": "1d",
        "range": query.get("range", ""),
        "validRanges": ["1d", "max"],
    }
    quote = {
        "open": [126.0, 127.5, 132.75],
        "high": [126.5, 131.0, 134.75],
        "low": [124.5, 126.0, 130.5],
        "close": [124.75, 129.0, 134.25],
        "volume": [187_000_000, 225_000_000, 151_000_000],
    }
    events = {
        "splits": {
            str(SPLIT_DAY): {
                "date": SPLIT_DAY,
                "numerator": 4,
                "denominator": 1,
                "splitRatio": "4:1",
            }
        },
        "dividends": {str(STAMPS[0]): {"amount": 0.205, "date": STAMPS[0]}},
    }
    result = {
        "meta": meta,
        "timestamp": STAMPS,
        "events": events,
        "indicators": {"quote": [quote], "adjclose": [{"adjclose": quote["close"]}]},
    }
    return {"chart": {"result": [result], "error": None}}


def session_to(url: str) -> Callable[[], Any]:
    """The session of yfinance, whose requests to any host go to this server as /HOST/PATH."""
    import requests
    from requests.adapters import HTTPAdapter

    class ToLoopback(HTTPAdapter):
        def send(self, request: Any, *args: Any, **more: Any) -> Any:
            request.url = url + "/" + request.url.removeprefix("https://")
            return super().send(request, *args, **more)

    made = requests.Session()
    made.mount("https://", ToLoopback())
    return lambda: made


def yahoo(vendor: Vendor, folder: Path) -> YahooSource:
    return YahooSource(Watch(), cache_dir=folder, session=session_to(vendor.url))


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)
async def test_yahoos_prices_are_put_back_as_they_were_traded(tmp_path: Path) -> None:
    """A split after `as_of` must not show: the 124.75 of 28 August 2020 was 499 on the day."""
    pages = {
        f"{YAHOO}/v8/finance/chart/AAPL": chart,
        "/query1.finance.yahoo.com/v1/test/getcrumb": "crumb",
        f"{YAHOO}/v1/test/getcrumb": "crumb",
        "/fc.yahoo.com/": "",
    }
    async with Vendor(pages) as vendor:
        bars = await yahoo(vendor, tmp_path).bars("AAPL", DAY("2020-08-28"), DAY("2020-09-01"))
    assert bars.dates == (DAY("2020-08-28"), DAY("2020-08-31"), DAY("2020-09-01"))
    assert list(bars.close) == [499.0, 129.0, 134.25]
    assert list(bars.volume) == [46_750_000, 225_000_000, 151_000_000]
    assert bars.splits == (Split(DAY("2020-08-31"), 4.0),)
    assert bars.dividends == (Dividend(DAY("2020-08-28"), 0.82),)
    assert list(bars.adjusted().close) == [124.75, 129.0, 134.25]
    assert (bars.currency, bars.source) == ("USD", "yfinance")


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)
async def test_yahoos_refusals_are_reasons(tmp_path: Path) -> None:
    none = {
        "chart": {"result": None, "error": {"code": "Not Found", "description": "No data found"}}
    }
    path = f"{YAHOO}/v8/finance/chart/"
    pages: dict[str, Any] = {
        f"{path}NONE": lambda _: web.json_response(none, status=404),
        f"{path}BUSY": lambda _: web.Response(status=429, text="Too Many"),
    }
    async with Vendor(pages) as vendor:
        source = yahoo(vendor, tmp_path)
        with pytest.raises(NoData, match="nothing of NONE") as error:
            await source.bars("NONE", DAY("2020-08-28"), None)
        assert not isinstance(error.value, SourceDown)
        with pytest.raises(SourceDown, match="limits our requests"):
            await source.bars("BUSY", DAY("2020-08-28"), None)
    with pytest.raises(NoData, match="none of its exchange"):
        await source.bars("920001.BJ", None, None)


STATEMENTS = {
    "annualTotalRevenue": 383_285_000_000,
    "annualNetIncome": 96_995_000_000,
    "annualDilutedEPS": 6.13,
    "annualTotalAssets": 352_583_000_000,
    "annualOperatingCashFlow": 110_543_000_000,
}


def timeseries(query: dict[str, str]) -> dict[str, Any]:
    """ws/fundamentals-timeseries: one object for each type that was asked for and is there."""
    day = int(dt.datetime(2023, 9, 30, tzinfo=dt.UTC).timestamp())
    result = [
        {
            "meta": {"symbol": ["AAPL"], "type": [name]},
            "timestamp": [day],
            name: [
                {"asOfDate": "2023-09-30", "periodType": "12M", "reportedValue": {"raw": value}}
            ],
        }
        for name, value in STATEMENTS.items()
        if name in query["type"].split(",")
    ]
    return {"timeseries": {"result": result, "error": None}}


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)
async def test_yahoos_figures_come_through_its_client(tmp_path: Path) -> None:
    """Statements, and ratios of the present; none of these for a day of the past."""
    summary = {
        "assetProfile": {"sector": "Technology", "industry": "Consumer Electronics"},
        "summaryDetail": {"marketCap": 2_614_000_000_000, "trailingPE": 26.3},
        "financialData": {"financialCurrency": "USD"},
        "quoteType": {"longName": "Apple Inc.", "symbol": "AAPL"},
    }
    pages: dict[str, Any] = {
        f"{YAHOO}/ws/fundamentals-timeseries/v1/finance/timeseries/AAPL": timeseries,
        f"{YAHOO}/v10/finance/quoteSummary/AAPL": {
            "quoteSummary": {"result": [summary], "error": None}
        },
        "/query1.finance.yahoo.com/v7/finance/quote": {
            "quoteResponse": {"result": [], "error": None}
        },
        "/query1.finance.yahoo.com/ws/fundamentals-timeseries/v1/finance/timeseries/AAPL": timeseries,
        "/query1.finance.yahoo.com/v1/test/getcrumb": "crumb",
    }
    async with Vendor(pages) as vendor:
        source = yahoo(vendor, tmp_path)
        now = await source.fundamentals("AAPL", "year", None)
        past = await source.fundamentals("AAPL", "year", DAY("2024-02-01"))
        with pytest.raises(NoData, match="no figures of AAPL until 2023-12-01"):
            await source.fundamentals("AAPL", "year", DAY("2023-12-01"))
    (statement,) = now.statements
    assert (now.name, now.currency, now.source) == ("Apple Inc.", "USD", "yfinance")
    assert statement.period_end == DAY("2023-09-30")
    assert statement.values == {
        "revenue": 383_285_000_000,
        "net_income": 96_995_000_000,
        "eps_diluted": 6.13,
        "assets": 352_583_000_000,
        "operating_cash_flow": 110_543_000_000,
    }
    assert (now.now["pe_trailing"], now.now["sector"]) == (26.3, "Technology")
    assert (past.statements, dict(past.now)) == (now.statements, {})


class Statements:
    """What yfinance's ticker answers when it is asked for dictionaries."""

    def get_income_stmt(self, *, as_dict: bool, freq: str) -> dict[Any, Any]:
        assert as_dict
        if freq == "quarterly":
            return {}
        return {
            dt.datetime(2023, 9, 30, tzinfo=dt.UTC): {
                "TotalRevenue": 383.0,
                "NetIncome": 97.0,
                "DilutedEPS": 6.13,
            },
            dt.datetime(2022, 9, 30, tzinfo=dt.UTC): {
                "TotalRevenue": 394.0,
                "NetIncome": float("nan"),
            },
        }

    def get_balance_sheet(self, *, as_dict: bool, freq: str) -> dict[Any, Any]:
        return {
            dt.datetime(2023, 9, 30, tzinfo=dt.UTC): {"TotalAssets": 352.0},
            dt.datetime(2019, 9, 30, tzinfo=dt.UTC): {"TotalAssets": 1.0},
        }

    def get_cash_flow(self, *, as_dict: bool, freq: str) -> dict[Any, Any]:
        return {}


def test_yahoos_statements_count_from_ninety_days_after_their_period() -> None:
    from agent_core.finance.sources import yahoo_figures

    found = yahoo_figures.statements(Statements(), "year", None)
    assert [(s.period_end, dict(s.values)) for s in found] == [
        (
            DAY("2023-09-30"),
            {"revenue": 383.0, "net_income": 97.0, "eps_diluted": 6.13, "assets": 352.0},
        ),
        (DAY("2022-09-30"), {"revenue": 394.0}),
    ]
    early = yahoo_figures.statements(Statements(), "year", DAY("2023-12-28"))
    assert [s.period_end for s in early] == [DAY("2022-09-30")]
    assert len(yahoo_figures.statements(Statements(), "year", DAY("2023-12-29"))) == 2
    info = {"marketCap": 2.6e12, "trailingPE": float("inf"), "sector": "Technology", "beta": None}
    assert yahoo_figures.present(info) == {"market_cap": 2.6e12, "sector": "Technology"}


# --- baostock ----------------------------------------------------------------------------------------------------

SEP, END = "\1", b"<![CDATA[]]>\n"
DAYS = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]
K_FIELDS = "date,open,high,low,close,volume,tradestatus"
K_ROWS = [
    ["2024-01-02", "20.00", "20.40", "19.80", "20.00", "1000", "1"],
    ["2024-01-03", "20.00", "20.00", "20.00", "20.00", "", "0"],
    ["2024-01-04", "9.80", "10.10", "9.70", "9.90", "2500", "1"],
]
PAID_FIELDS = "code,dividOperateDate,dividCashPsBeforeTax,dividStocksPs,dividReserveToStockPs"
SHARES = [
    ["sh.600519", "贵州茅台", "2001-08-27", "", "1", "1"],
    ["sh.000001", "上证综合指数", "1991-07-15", "", "2", "1"],
    ["sz.000003", "PT金田A", "1991-07-03", "2002-06-14", "1", "0"],
]


class Baostock:
    """Their server: one line a request, `version type length body`, and answers that end with a CDATA mark."""

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.methods: list[str] = []

    async def __aenter__(self) -> "Baostock":
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            body = line.decode()[21:].split(SEP)
            self.methods.append(body[0])
            if self.silent and body[0] != "login":
                break  # hangs up in the middle
            writer.write(self._answer(body))
            await writer.drain()
        writer.close()

    def _answer(self, body: list[str]) -> bytes:
        method = body[0]
        if method == "login":
            return self._frame("01", ["0", "success", method, body[1]])
        if method == "logout":
            return self._frame("03", ["0", "success", method, body[1], "20240108"])
        head = ["0", "success", method, body[1], "1", "10000"]
        if method == "query_history_k_data_plus":
            asked = body[4:10]
            assert (asked[1], asked[4], asked[5]) == (K_FIELDS, "d", "3")
            rows = K_ROWS if asked[0] == "sh.600519" else []
            tail = [self._record(rows), asked[0], K_FIELDS, asked[2], asked[3], "d", "3", "crc"]
            return self._frame("96", [*head, *tail])
        if method == "query_adjust_factor":
            fields = "code,dividOperateDate,foreAdjustFactor,backAdjustFactor,adjustFactor"
            rows = [["sh.600519", "2024-01-04", "1.0", "2.1", "2.1"]]
            return self._frame(
                "16", [*head, self._record(rows), body[4], body[5], body[6], fields, "crc"]
            )
        if method == "query_dividend_data":
            assert (body[5], body[6]) == ("2024", "operate")
            rows = [["sh.600519", "2024-01-04", "0.5", "0.3", "0.7"]]
            return self._frame(
                "14", [*head, self._record(rows), body[4], "2024", "operate", PAID_FIELDS, "crc"]
            )
        assert method == "query_stock_basic"
        fields = "code,code_name,ipoDate,outDate,type,status"
        return self._frame("46", [*head, self._record(SHARES), "", "", fields, "crc"])

    def _record(self, rows: list[list[str]]) -> str:
        return json.dumps({"record": rows}, ensure_ascii=False)

    def _frame(self, kind: str, body: list[str]) -> bytes:
        raw = SEP.join(body).encode()
        if kind == "96":  # prices are compressed
            raw = zlib.compress(raw + b"\n")
        return SEP.join(["00.9.40", kind, f"{len(raw):010d}"]).encode() + raw + END


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
async def test_baostocks_prices_come_with_splits_and_dividends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ten new shares for ten old ones and .50 for an old share, so .25 for a new one; a day without trade is none."""
    async with Baostock() as server:
        source = BaostockSource(Watch(), host="127.0.0.1", port=server.port)
        bars = await source.bars("600519.SH", DAY("2024-01-01"), DAY("2024-01-05"))
        listed = await source.listing()
        with pytest.raises(NoData, match=r"no prices of 000001\.SZ"):
            await source.bars("000001.SZ", DAY("2024-01-01"), DAY("2024-01-05"))
    assert bars.dates == (DAY("2024-01-02"), DAY("2024-01-04"))
    assert (list(bars.close), list(bars.volume)) == ([20.0, 9.9], [1000, 2500])
    assert bars.splits == (Split(DAY("2024-01-04"), 2.0),)
    assert bars.dividends == (Dividend(DAY("2024-01-04"), 0.25),)
    assert (bars.currency, bars.source) == ("CNY", "baostock")
    assert [(s.id, s.name_zh, s.market) for s in listed] == [("600519.SH", "贵州茅台", "SH")]
    assert server.methods[-1] == "logout"
    assert (
        capsys.readouterr().out == ""
    )  # the client prints what it does; standard output is not its own


@pytest.mark.slow
async def test_a_baostock_that_hangs_up_is_down_and_not_read_for_ever() -> None:
    async with Baostock(silent=True) as server:
        source = BaostockSource(Watch(), host="127.0.0.1", port=server.port)
        async with asyncio.timeout(5):
            with pytest.raises(SourceDown, match="baostock cannot be asked"):
                await source.bars("600519.SH", None, None)
    with pytest.raises(SourceDown, match="baostock cannot be asked"):
        await BaostockSource(Watch(), host="127.0.0.1", port=9).bars("600519.SH", None, None)


async def test_baostock_is_asked_for_mainland_shares_alone() -> None:
    for symbol in ("AAPL", "0700.HK", "920001.BJ"):
        with pytest.raises(NoData, match="shares of Shanghai and Shenzhen"):
            await BaostockSource(Watch()).bars(symbol, None, None)


def test_an_event_without_cash_or_shares_is_none() -> None:
    rows = [dict(zip(K_FIELDS.split(","), K_ROWS[0], strict=True))]
    paid = [
        dict(zip(PAID_FIELDS.split(","), row, strict=True))
        for row in (["c", "2024-01-04", "", "", ""], ["c", "", "1", "1", ""])
    ]
    bars = baostock_source.bars_of("600519.SH", rows, paid)
    assert (bars.splits, bars.dividends) == ((), ())


# --- akshare -----------------------------------------------------------------------------------------------------

RECORDS = [
    {
        "日期": dt.date(2024, 1, 2),
        "股票代码": "600519",
        "开盘": 1715.0,
        "收盘": 1685.01,
        "最高": 1718.19,
        "最低": 1678.1,
        "成交量": 32156,
        "成交额": 5.44e9,
        "振幅": 2.32,
        "涨跌幅": -2.37,
        "涨跌额": -40.99,
        "换手率": 0.26,
    }
]


def test_akshares_records_become_bars_with_volumes_in_shares() -> None:
    """stock_zh_a_hist counts lots of a hundred, stock_hk_hist shares."""
    bars = akshare_source.bars_of("600519.SH", RECORDS)
    assert (bars.dates, list(bars.close), list(bars.volume)) == (
        (DAY("2024-01-02"),),
        [1685.01],
        [3_215_600],
    )
    assert (bars.currency, "qfq" in bars.adjustment) == ("CNY", True)
    assert list(akshare_source.bars_of("0700.HK", RECORDS).volume) == [32_156]
    with pytest.raises(NoData, match="check the symbol"):
        akshare_source.bars_of("600519.SH", [])
    with pytest.raises(SourceDown, match="no table of prices"):
        akshare_source.bars_of("600519.SH", [{"日期": "2024-01-02"}])


def kline(query: dict[str, str]) -> dict[str, Any]:
    """push2his.eastmoney.com api/qt/stock/kline/get: a text a day; no data for what it does not know."""
    rows = {
        "1.600519": ["2024-01-02,1715.00,1685.01,1718.19,1678.10,32156,5440082500.00,2.32,-2.37,-40.99,0.26"],
        "116.00700": [
            "2023-12-29,290.0,293.6,294.4,289.6,9000000,2.6e9,1.66,1.31,3.8,0.1",
            "2024-01-02,292.0,287.0,293.0,286.4,11000000,3.1e9,2.25,-2.25,-6.6,0.12",
        ],
    }.get(query["secid"])  # fmt: skip
    assert (query["klt"], query["fqt"]) == ("101", "1"), "days, adjusted (qfq)"
    return {"rc": 0, "data": {"klines": rows} if rows else None}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # pandas' and akshare's own
async def test_akshare_asks_for_mainland_and_hong_kong_shares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own client over requests, every host of which is on loopback; what it does not know is no failure."""
    import requests

    path = "/push2his.eastmoney.com/api/qt/stock/kline/get"
    async with Vendor({path: kline, path.replace("/push", "/33.push"): kline}) as vendor:
        session = session_to(vendor.url)()
        monkeypatch.setattr(
            requests.Session, "get_adapter", lambda _, url: session.adapters["https://"]
        )
        source = AkshareSource(Watch())
        kweichow = await source.bars("600519.SH", DAY("2024-01-01"), DAY("2024-01-31"))
        tencent = await source.bars("0700.HK", DAY("2024-01-01"), DAY("2024-01-31"))
        asked = [query for _, query, _ in vendor.asked]
        for unknown in ("600000.SH", "0001.HK"):
            with pytest.raises(NoData, match="check the symbol") as error:
                await source.bars(unknown, None, None)
            assert not isinstance(error.value, SourceDown)
        vendor.pages[path] = html()
        with pytest.raises(SourceDown):
            await source.bars("600519.SH", None, None)
    assert (kweichow.dates, list(kweichow.close)) == ((DAY("2024-01-02"),), [1685.01])
    assert (list(kweichow.volume), kweichow.currency) == ([3_215_600], "CNY")
    assert (tencent.dates, list(tencent.close)) == ((DAY("2024-01-02"),), [287.0])
    assert (list(tencent.volume), tencent.currency) == ([11_000_000], "HKD")
    assert (asked[0]["beg"], asked[0]["end"]) == ("20240101", "20240131")


async def test_a_client_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("akshare", "ccxt"):
        monkeypatch.setitem(sys.modules, module, None)

    async def ask(source: Any, symbol: str) -> str:
        with pytest.raises(NoData) as error:
            await source.bars(symbol, None, None)
        assert not isinstance(error.value, SourceDown)
        return error.value.cure

    cure = await ask(AkshareSource(Watch()), "600519.SH")
    assert cure == "pip install 'swarmgate[finance-cn]'"
    cure = await ask(CcxtSource(Watch()), "BTC-USD")
    assert cure == "pip install 'swarmgate[crypto]'"
    assert "another source" in await ask(AkshareSource(Watch()), "AAPL")
    assert "such as BTC-USD" in await ask(CcxtSource(Watch()), "AAPL")


# --- ccxt --------------------------------------------------------------------------------------------------------

MIDNIGHT = 1_709_769_600_000  # 2024-03-07 00:00 UTC


def test_ccxts_rows_become_bars_of_utc_days() -> None:
    rows = [[MIDNIGHT - 86_400_000, 1, 3, 0.5, 2, 9.5], [MIDNIGHT, 2, 4, 1, 3, 8.5]]
    bars = ccxt_source.bars_of("BTC-USD", rows, "USDT", DAY("2024-03-07"))
    assert bars.dates == (DAY("2024-03-06"), DAY("2024-03-07"))
    assert (list(bars.close), list(bars.volume), bars.currency) == ([2, 3], [9.5, 8.5], "USDT")
    assert len(ccxt_source.bars_of("BTC-USD", rows, "USDT", DAY("2024-03-06"))) == 1
    with pytest.raises(NoData, match="check the symbol"):
        ccxt_source.bars_of("BTC-USD", [], "USD", DAY("2024-03-07"))
    with pytest.raises(SourceDown, match="without prices"):
        ccxt_source.bars_of(
            "BTC-USD", [[MIDNIGHT, None, None, None, None, None]], "USD", DAY("2024-03-07")
        )
    with pytest.raises(SourceDown, match="without prices"):
        ccxt_source.bars_of("BTC-USD", [[MIDNIGHT, 0, 4, 0, 3, 8.5]], "USD", DAY("2024-03-07"))


@pytest.mark.slow
def test_days_to_which_yahoo_gives_no_price_are_left_out() -> None:
    """It fills in zeros for some days without trade: no order and no gain is figured from such."""
    from pandas import DataFrame, Timestamp

    days = [Timestamp(day) for day in ("2024-03-05", "2024-03-06", "2024-03-07")]
    columns = {name: [10.0, 0.0, 11.0] for name in ("Open", "High", "Low", "Close")}
    frame = DataFrame(columns | {"Volume": [5.0, 0.0, 6.0]}, index=days)
    bars = bars_of("X", frame, "USD")
    assert (bars.dates, list(bars.close)) == ((DAY("2024-03-05"), DAY("2024-03-07")), [10.0, 11.0])
