"""stooq and EDGAR against a loopback server that answers as their documentation says, and as they do on bad days."""

import datetime as dt
from typing import Any

import pytest
from aiohttp import web

from agent_core.finance.sources import codes
from agent_core.finance.sources.ecb import EcbSource
from agent_core.finance.sources.edgar import EdgarSource, statements_of
from agent_core.finance.sources.fetch import fetch, seconds
from agent_core.finance.sources.source import NoData, SourceDown
from agent_core.finance.sources.stooq import StooqSource
from tests.vendors import DAY, NOON, Vendor, Watch, html, limit

CSV = """Date,Open,High,Low,Close,Volume
2024-03-06,171.06,171.24,168.68,169.12,68587707
2024-03-07,169.15,170.73,168.49,169,71765061
"""
STOOQ = "/q/d/l/"


async def test_stooq_is_asked_with_its_codes_and_days() -> None:
    async with Vendor({STOOQ: CSV}) as vendor:
        source = StooqSource(Watch(), base_url=vendor.url, api_key="k1")
        bars = await source.bars("AAPL", DAY("2024-03-06"), DAY("2024-03-07"))
    asked = {"s": "aapl.us", "i": "d", "d1": "20240306", "d2": "20240307", "apikey": "k1"}
    assert vendor.asked[0][1] == asked
    assert (list(bars.close), bars.currency, bars.source) == ([169.12, 169], "USD", "stooq")
    assert bars.dates == (DAY("2024-03-06"), DAY("2024-03-07"))
    assert "adjusted by stooq" in bars.adjustment


async def test_a_long_history_is_read_to_its_end_however_many_pieces_it_comes_in() -> None:
    """Half a century of days is more than one packet."""
    days = [dt.date(1975, 1, 1) + dt.timedelta(days=i) for i in range(18_000)]
    lines = ["Date,Open,High,Low,Close,Volume", *(f"{day},10,12,9,11.25,68587707" for day in days)]
    async with Vendor({STOOQ: "\n".join(lines)}) as vendor:
        bars = await StooqSource(Watch(), base_url=vendor.url).bars("AAPL", None, None)
    assert (len(bars), bars.as_of) == (18_000, days[-1])


async def test_stooq_quotes_pairs_without_volume() -> None:
    async with Vendor(
        {STOOQ: "Date,Open,High,Low,Close\n2024-03-07,1.09,1.095,1.0885,1.0945\n"}
    ) as v:
        bars = await StooqSource(Watch(), base_url=v.url).bars("EUR/USD", None, None)
    assert v.asked[0][1] == {"s": "eurusd", "i": "d"}
    assert (bars.currency, list(bars.volume)) == ("USD", [0])


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("No data", "no prices of AAPL"),
        ("Date,Open,High,Low,Close,Volume\n", "no prices of AAPL"),
        ("Exceeded the daily hits limit", "limits our requests"),
        (html(), "a web page in place of data"),
        ("<!doctype html><p>hello", "a web page in place of data"),
        ("Date,Open,High,Low,Close,Volume\n2024-03-07,x,1,1,1,1\n", "no table of prices"),
        (limit(90), "limits our requests (source: stooq); try again in 90 s"),
        (html(500), "it answered 500"),
        (None, "no such page"),
    ],
)
async def test_what_is_no_price_is_a_reason(page: Any, said: str) -> None:
    """A source that is down, limits us or answers HTML is a reason with a cure, never a price."""
    pages = {} if page is None else {STOOQ: page if isinstance(page, str) else lambda _: page}
    async with Vendor(pages) as vendor:
        with pytest.raises(NoData) as error:
            await StooqSource(Watch(), base_url=vendor.url).bars("AAPL", None, None)
    assert said in str(error.value)
    assert error.value.cure
    if "limits" in said:
        assert isinstance(error.value, SourceDown)
        assert error.value.retry_after


async def test_what_a_vendor_does_not_have_is_not_asked_for() -> None:
    async with Vendor({}) as vendor:
        for symbol in ("600519.SH", "BTC-USD"):
            with pytest.raises(NoData, match="enable another source"):
                await StooqSource(Watch(), base_url=vendor.url).bars(symbol, None, None)
        assert vendor.asked == []


async def test_a_server_that_is_not_there_or_says_nothing_is_down() -> None:
    source = StooqSource(Watch(), base_url="http://127.0.0.1:9")
    with pytest.raises(SourceDown, match="cannot be asked: ClientConnectorError"):
        await source.bars("AAPL", None, None)


async def test_a_server_that_says_nothing_costs_the_time_out() -> None:
    async with Vendor({}) as vendor:
        vendor.pages["/slow"] = web.Response(headers={"X": "1"})
        with pytest.raises(SourceDown, match=r"no answer within 1e-09 s"):
            await fetch("a", f"{vendor.url}/slow", clock=Watch(), within=1e-9)


async def test_more_than_anybody_sends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.finance.sources.fetch.MAX_BYTES", 10)
    async with Vendor({"/long": "x" * 5_000}) as vendor:
        with pytest.raises(SourceDown, match="it answered more than"):
            await fetch("a", f"{vendor.url}/long", clock=Watch())


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("120", 120.0),
        ("Fri, 08 Mar 2024 12:01:00 GMT", 60.0),
        ("Fri, 08 Mar 2024 11:00:00 GMT", 0.0),
        ("soon", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, wanted: float | None) -> None:
    assert seconds(header, Watch(NOON)) == wanted


@pytest.mark.parametrize(
    ("symbol", "yahoo", "stooq", "baostock"),
    [
        ("AAPL", "AAPL", "aapl.us", None),
        ("BRK.B", "BRK-B", "brk-b.us", None),
        ("0700.HK", "0700.HK", "700.hk", None),
        ("600519.SH", "600519.SS", None, "sh.600519"),
        ("000001.SZ", "000001.SZ", None, "sz.000001"),
        ("920001.BJ", None, None, None),
        ("BTC-USD", "BTC-USD", None, None),
        ("EUR/USD", "EURUSD=X", "eurusd", None),
    ],
)
def test_vendors_write_our_symbols_in_their_way(
    symbol: str, yahoo: str | None, stooq: str | None, baostock: str | None
) -> None:
    assert codes.yahoo(symbol) == yahoo
    assert codes.stooq(symbol) == stooq
    assert codes.baostock(symbol) == baostock


TICKERS = {
    "0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."},
    "1": {"cik_str": 1067983, "ticker": "BRK-B", "title": "BERKSHIRE HATHAWAY INC"},
}
RECENT = {
    "accessionNumber": ["0000320193-24-000010", "0000320193-23-000106", "0000320193-23-000100"],
    "filingDate": ["2024-02-02", "2023-11-03", "2023-11-02"],
    "reportDate": ["2023-12-30", "2023-09-30", ""],
    "form": ["10-Q", "10-K", "8-K"],
    "primaryDocument": ["aapl-20231230.htm", "aapl-20230930.htm", "ex.htm"],
    "primaryDocDescription": ["10-Q", "10-K", ""],
}
LISTED = {
    "fields": ["cik", "name", "ticker", "exchange"],
    "data": [
        [320193, "Apple Inc.", "AAPL", "Nasdaq"],
        [1067983, "BERKSHIRE HATHAWAY INC", "BRK-B", "NYSE"],
        [1, "Somewhere Corp", "OTCX", "OTC"],
        [2, "Nowhere Corp", "NONE", None],
    ],
}


def fact(end: str, value: float, filed: str, form: str = "10-K", start: str = "") -> dict[str, Any]:
    row = {"end": end, "val": value, "filed": filed, "form": form}
    return row | ({"start": start} if start else {})


FACTS = {
    "us-gaap": {
        "Revenues": {
            "units": {"USD": [fact("2021-09-25", 365.0, "2021-10-29", start="2020-09-27")]}
        },
        "RevenueFromContractWithCustomerExcludingAssessedTax": {
            "units": {
                "USD": [
                    fact("2022-09-24", 394.0, "2022-10-28", start="2021-09-26"),
                    fact("2022-09-24", 395.0, "2023-11-03", start="2021-09-26"),
                    fact("2022-12-31", 117.0, "2023-02-03", "10-Q", start="2022-09-25"),
                    fact("2023-09-30", 383.0, "2023-11-03", start="2022-09-25"),
                ]
            }
        },
        "NetIncomeLoss": {
            "units": {"USD": [fact("2023-09-30", 97.0, "2023-11-03", start="2022-09-25")]}
        },
        "EarningsPerShareDiluted": {
            "units": {"USD/shares": [fact("2023-09-30", 6.13, "2023-11-03", start="2022-09-25")]}
        },
        "Assets": {"units": {"USD": [fact("2023-09-30", 352.0, "2023-11-03")]}},
    }
}
PAGES = {
    "/files/company_tickers.json": TICKERS,
    "/files/company_tickers_exchange.json": LISTED,
    "/submissions/CIK0000320193.json": {"name": "Apple Inc.", "filings": {"recent": RECENT}},
    "/api/xbrl/companyfacts/CIK0000320193.json": {"entityName": "Apple Inc.", "facts": FACTS},
}


def edgar(vendor: Vendor) -> EdgarSource:
    return EdgarSource(
        Watch(), contact="alice@example.org", base_url=vendor.url, files_url=vendor.url
    )


async def test_edgar_tells_filings_newest_first_with_their_addresses() -> None:
    async with Vendor(PAGES) as vendor:
        source = edgar(vendor)
        found = await source.filings("AAPL", (), None)
        reports = await source.filings("AAPL", ("10-K", "10-Q"), DAY("2023-12-31"))
        assert {headers["User-Agent"] for _, _, headers in vendor.asked} == {
            "swarmgate alice@example.org"
        }
        lists = [path for path, _, _ in vendor.asked if path == "/files/company_tickers.json"]
    assert [(f.form, f.filed) for f in found] == [
        ("10-Q", DAY("2024-02-02")),
        ("10-K", DAY("2023-11-03")),
        ("8-K", DAY("2023-11-02")),
    ]
    assert [f.form for f in reports] == ["10-K"]
    assert reports[0].url.endswith(
        "/Archives/edgar/data/320193/000032019323000106/aapl-20230930.htm"
    )
    assert (found[2].period, found[2].title) == (None, "8-K")
    assert len(lists) == 1


async def test_edgar_says_what_it_does_not_have() -> None:
    async with Vendor(PAGES) as vendor:
        source = edgar(vendor)
        with pytest.raises(NoData, match="forms that it filed: 10-K, 10-Q, 8-K"):
            await source.filings("AAPL", ("13F",), None)
        with pytest.raises(NoData, match="no such ticker"):
            await source.filings("TSLA", (), None)
        with pytest.raises(NoData, match="EDGAR has US companies"):
            await source.filings("600519.SH", (), None)
        vendor.pages["/submissions/CIK0000320193.json"] = {"filings": {}}
        with pytest.raises(SourceDown, match="another form"):
            await source.filings("AAPL", (), None)
        vendor.pages["/submissions/CIK0000320193.json"] = lambda _: html(200)
        with pytest.raises(SourceDown, match="a web page"):
            await source.filings("AAPL", (), None)
        vendor.pages["/submissions/CIK0000320193.json"] = "{broken"
        with pytest.raises(SourceDown, match="no JSON"):
            await source.filings("AAPL", (), None)


async def test_figures_count_from_the_day_on_which_they_were_filed() -> None:
    """A correction of 2022 that was filed in November 2023 is not known in October."""
    async with Vendor(PAGES) as vendor:
        source = edgar(vendor)
        now = await source.fundamentals("AAPL", "year", None)
        past = await source.fundamentals("AAPL", "year", DAY("2023-10-01"))
        asked = [path for path, _, _ in vendor.asked if "companyfacts" in path]
    assert (len(asked), past.statements[0].period_end) == (1, DAY("2022-09-24"))
    assert [(s.period_end, s.filed) for s in now.statements] == [
        (DAY("2023-09-30"), DAY("2023-11-03")),
        (DAY("2022-09-24"), DAY("2023-11-03")),
        (DAY("2021-09-25"), DAY("2021-10-29")),
    ]
    newest = {"revenue": 383.0, "net_income": 97.0, "eps_diluted": 6.13, "assets": 352.0}
    assert now.statements[0].values == newest
    assert now.statements[1].values == {"revenue": 395.0}
    before = statements_of(FACTS, "year", DAY("2023-10-01"))
    assert [(s.period_end, s.values["revenue"]) for s in before] == [
        (DAY("2022-09-24"), 394.0),
        (DAY("2021-09-25"), 365.0),
    ]
    quarters = statements_of(FACTS, "quarter", None)
    assert [(s.period_end, s.values) for s in quarters] == [(DAY("2022-12-31"), {"revenue": 117.0})]


async def test_edgar_lists_what_is_on_an_exchange() -> None:
    async with Vendor(PAGES) as vendor:
        found = await edgar(vendor).listing()
    assert [(s.id, s.name) for s in found] == [
        ("AAPL", "Apple Inc."),
        ("BRK.B", "BERKSHIRE HATHAWAY INC"),
    ]


async def test_the_ecb_fixes_pairs_once_a_day() -> None:
    """Its rate of the dollar of 2 January 2012 was 1.2935, of sterling .83514 (ECB, euro reference rates)."""
    source = EcbSource()
    bars = await source.bars("EUR/USD", DAY("2012-01-02"), DAY("2012-01-06"))
    assert (bars.close[0], bars.currency, set(bars.volume)) == (1.2935, "USD", {0.0})
    assert len(bars) == 5
    cross = await source.bars("GBP/USD", DAY("2012-01-02"), DAY("2012-01-02"))
    assert cross.close[0] == pytest.approx(1.2935 / 0.83514)
    assert "fixing" in cross.adjustment
    for symbol, said in (("AAPL", "pairs"), ("EUR/XXX", "no exchange rates for XXX")):
        with pytest.raises(NoData, match=said):
            await source.bars(symbol, None, None)
    with pytest.raises(NoData, match="there is 1999-01-04 to"):
        await source.bars("EUR/USD", dt.date(1990, 1, 1), dt.date(1990, 2, 1))
