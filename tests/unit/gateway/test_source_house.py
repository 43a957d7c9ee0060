"""Data sources as the gateway makes them from its settings: guarded, kept across restarts, and checked."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.finance.sources import allowed
from agent_core.finance.sources.source import NoData
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolFailure
from gateway.memory.retention import Keeper
from gateway.prices.price_cache import PriceCache
from gateway.prices.source_check import source_problems
from gateway.prices.source_house import SourceHouse, source_house
from gateway.settings.retention import Retention
from gateway.settings.settings import Settings, load
from gateway.storage.db import Database
from gateway.toolbox import Equipment, toolbox
from tests.house import on_sqlite
from tests.vendors import Vendor, Watch, html

pytestmark = pytest.mark.statements

HEAD = "Date,Open,High,Low,Close,Volume\n"
CSV = f"{HEAD}2024-03-06,171.06,171.24,168.68,169.12,68587707\n2024-03-07,169.15,170.73,168.49,169,71765061\n"
STOOQ = "/q/d/l/"
PAGES: dict[str, Any] = {STOOQ: lambda query: CSV if query["s"] == "aapl.us" else "No data"}


def settings(folder: Path, data: str) -> Settings:
    path = folder / "swarmgate.yaml"
    path.write_text(f"version: 1\ndata: {data}\n", encoding="utf-8")
    return load(path, {})


def asking(vendor: Vendor, more: str = "") -> str:
    return f'{{sources: [stooq], stooq: {{base_url: "{vendor.url}"}}{more}}}'


async def call(house: SourceHouse, clock: Watch, name: str, **args: Any) -> dict[str, Any]:
    tools = toolbox(Equipment(sources=house.prices, reports=house.reports))
    return await answer(tools, clock, name, **args)


async def answer(
    tools: Registry, clock: Watch, name: str, sources: tuple[str, ...] | None = None, **args: Any
) -> dict[str, Any]:
    spec = tools.get(name)
    assert spec is not None
    ctx = ToolContext("telegram:1", "s", 1, "c", "en", clock, sources=sources)
    fields: dict[str, Any] = json.loads((await spec.call(ctx, args)).content)
    return fields


async def test_a_restart_fetches_nothing_again(db: Database, tmp_path: Path) -> None:
    """What a live source has answered is in the database, with its source and its time."""
    clock = Watch()
    async with Vendor(PAGES) as vendor:
        for _ in range(2):  # the second house is that of the next process
            house = source_house(settings(tmp_path, asking(vendor)), clock, PriceCache(db))
            found = await call(
                house, clock, "get_market_history", symbol="AAPL", start="2024-03-06"
            )
            assert (found["source"], found["as_of"], found["last_close"]) == (
                "stooq",
                "2024-03-07",
                169,
            )
            assert found["fetched_at"] == "2024-03-08 12:00 UTC"
            assert found["currency"] == "USD"
            clock.pass_by(hours=1)
        assert len(vendor.asked) == 1
        clock.pass_by(days=1)  # the market has closed once more
        vendor.pages[STOOQ] = CSV + "2024-03-08,169,173.7,168.94,170.73,76114600\n"
        found = await call(house, clock, "get_market_history", symbol="AAPL", start="2024-03-06")
    assert (found["as_of"], len(vendor.asked)) == ("2024-03-08", 2)


@on_sqlite
async def test_prices_of_a_source_that_is_down_are_marked_as_old(
    db: Database, tmp_path: Path
) -> None:
    clock = Watch()
    async with Vendor(PAGES) as vendor:
        house = source_house(settings(tmp_path, asking(vendor)), clock, PriceCache(db))
        await call(house, clock, "get_market_history", symbol="AAPL", start="2024-03-06")
        clock.pass_by(days=4)
        vendor.pages[STOOQ] = lambda _: html()
        found = await call(house, clock, "get_market_history", symbol="AAPL", start="2024-03-06")
    assert (
        "stooq cannot be asked now: these prices were fetched at 2024-03-08 12:00 UTC"
        in found["note"]
    )
    assert found["as_of"] == "2024-03-07"


@on_sqlite
async def test_without_a_cache_each_question_is_a_request(db: Database, tmp_path: Path) -> None:
    clock = Watch()
    async with Vendor(PAGES) as vendor:
        config = settings(tmp_path, asking(vendor, ", cache: false"))
        house = source_house(config, clock, PriceCache(db))
        for _ in range(2):
            await call(house, clock, "get_market_history", symbol="AAPL", start="2024-03-06")
        assert len(vendor.asked) == 2


async def test_a_series_that_another_version_wrote_is_fetched_again(
    db: Database, tmp_path: Path
) -> None:
    from sqlalchemy import text

    clock, cache = Watch(), PriceCache(db)
    async with Vendor(PAGES) as vendor:
        house = source_house(settings(tmp_path, asking(vendor)), clock, cache)
        await house.prices.bars("AAPL", None, None)
        await db.write(
            lambda conn: conn.execute(text("update price_series set data = :d"), {"d": b"?"})
        )
        assert len(await house.prices.bars("AAPL", None, None)) == 2
        assert len(vendor.asked) == 2
    older = await cache.load("stooq", "AAPL")
    assert older is not None
    early = replace(older.bars, fetched_at=clock.at - dt.timedelta(days=9)).rows(0, 1)
    await cache.save(replace(older, bars=early))  # an answer that comes late takes nothing back
    kept = await cache.load("stooq", "AAPL")
    assert kept is not None
    assert len(kept.bars) == 2


async def test_what_was_fetched_long_ago_is_deleted(db: Database, tmp_path: Path) -> None:
    """`retention.prices`, 90 days unless the settings say otherwise."""
    clock, cache = Watch(), PriceCache(db)
    async with Vendor(PAGES) as vendor:
        house = source_house(settings(tmp_path, asking(vendor)), clock, cache)
        await house.prices.bars("AAPL", None, None)
    keeper = Keeper(db, clock, Retention())
    clock.pass_by(days=89)
    assert (await keeper.sweep())["prices"] == 0
    clock.pass_by(days=2)
    assert (await keeper.sweep())["prices"] == 1
    assert await cache.load("stooq", "AAPL") is None


async def test_a_code_that_no_table_has_is_asked_for_where_a_source_may_have_it(
    tmp_path: Path,
) -> None:
    clock = Watch()
    async with Vendor({STOOQ: CSV}) as vendor:
        house = source_house(settings(tmp_path, asking(vendor)), clock, None)
        found = await call(house, clock, "get_market_history", symbol="ZZYQ", start="2024-03-06")
        assert found["symbol"] == "ZZYQ"
        assert vendor.asked[0][1]["s"] == "zzyq.us"
        vendor.pages[STOOQ] = lambda _: html()
        with pytest.raises(ToolFailure, match=r"a web page in place of data.*try again later"):
            await call(house, clock, "get_market_history", symbol="ZZYQ", start="2024-03-06")
    bundled = source_house(settings(tmp_path, "{}"), clock, None)
    with pytest.raises(ToolFailure, match="no symbol is named 'ZZYQ'"):
        await call(bundled, clock, "get_market_history", symbol="ZZYQ")


async def test_currency_pairs_are_symbols_where_the_ecb_is_enabled(tmp_path: Path) -> None:
    clock = Watch()
    house = source_house(settings(tmp_path, "{sources: [bundled, ecb]}"), clock, None)
    found = await call(
        house, clock, "get_market_history", symbol="EURUSD", start="2012-01-02", end="2012-01-06"
    )
    assert (found["symbol"], found["source"], found["currency"]) == ("EUR/USD", "ecb", "USD")
    assert found["first_close"] == 1.2935


async def test_a_tool_sees_only_the_sources_of_its_call(tmp_path: Path) -> None:
    """A preset's `data.sources`, enforced for every tool by ToolSpec.call."""
    clock = Watch()
    house = source_house(settings(tmp_path, "{sources: [bundled, ecb]}"), clock, None)
    tools = toolbox(Equipment(sources=house.prices, reports=house.reports))
    asked = {"symbol": "GOOG", "start": "2012"}
    found = await answer(tools, clock, "get_market_history", sources=("bundled",), **asked)
    assert found["source"] == "bundled"
    with pytest.raises(ToolFailure, match="no prices of GOOG"):
        await answer(tools, clock, "get_market_history", sources=("ecb",), **asked)
    assert house.prices.names == ("bundled", "ecb")


FILINGS: dict[str, Any] = {
    "/files/company_tickers.json": {"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."}},
    "/submissions/CIK0000320193.json": {
        "filings": {
            "recent": {
                "accessionNumber": ["0000320193-23-000106"],
                "filingDate": ["2023-11-03"],
                "reportDate": ["2023-09-30"],
                "form": ["10-K"],
                "primaryDocument": ["a.htm"],
                "primaryDocDescription": ["10-K"],
            }
        }
    },
    "/api/xbrl/companyfacts/CIK0000320193.json": {
        "entityName": "Apple Inc.",
        "facts": {
            "us-gaap": {
                name: {"units": {"USD": [
                    {"start": start, "end": end, "val": value, "filed": filed, "form": "10-K"}
                    for start, end, value, filed in rows
                ]}}
                for name, rows in {
                    "Revenues": [
                        ("2021-09-26", "2022-09-24", 400.0, "2022-10-28"),
                        ("2022-09-25", "2023-09-30", 380.0, "2023-11-03"),
                    ],
                    "NetIncomeLoss": [("2022-09-25", "2023-09-30", 95.0, "2023-11-03")],
                }.items()
            }
        },
    },
}  # fmt: skip


async def test_figures_and_filings_come_with_their_source_and_day(tmp_path: Path) -> None:
    clock = Watch()
    async with Vendor(FILINGS) as vendor:
        url = f'base_url: "{vendor.url}", files_url: "{vendor.url}", contact: alice@example.org'
        config = settings(tmp_path, f"{{sources: [bundled, edgar], edgar: {{{url}}}}}")
        house = source_house(config, clock, None)
        found = await call(house, clock, "fundamentals", symbol="苹果")
        assert (found["source"], found["as_of"], found["currency"]) == (
            "edgar",
            "2023-11-03",
            "USD",
        )
        assert found["window"] == {"start": "2022-09-24", "end": "2023-09-30"}
        assert found["credibility"] == "objective fact"
        assert found["statements"][0] == {
            "period_end": "2023-09-30",
            "filed": "2023-11-03",
            "revenue": 380.0,
            "net_income": 95.0,
            "net_margin_pct": 25.0,
            "revenue_growth_pct": -5.0,
        }
        filed = await call(house, clock, "filings", symbol="AAPL", forms=["10-k"])
        assert filed["filings"][0]["url"].endswith("/320193/000032019323000106/a.htm")
        assert (filed["source"], filed["window"]["end"]) == ("edgar", "2023-11-03")
        with allowed.only(("bundled",)), pytest.raises(NoData, match="enable yfinance"):
            await house.reports.fundamentals("AAPL", "year", None)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("fundamentals", "no fundamentals of AAPL (source: none); enable yfinance (pip install 'swarmgate[finance]')"),
        ("filings", "no filings of AAPL (source: none); enable edgar under data.sources"),
    ],
)  # fmt: skip
async def test_without_a_source_what_to_enable_is_said(tool: str, said: str) -> None:
    with pytest.raises(ToolFailure) as error:
        await answer(toolbox(), Watch(), tool, symbol="AAPL")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("symbol", ["BTC-USD", "EUR/USD", "no such company"])
async def test_what_is_no_company_reports_nothing(symbol: str) -> None:
    with pytest.raises(ToolFailure, match=r"no company"):
        await answer(toolbox(), Watch(), "fundamentals", symbol=symbol)


async def test_check_tells_what_a_source_lacks_and_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "X.csv").write_text(f"{HEAD}2024-03-06,1,2,x,1,1\n")
    async with Vendor({STOOQ: lambda _: html()}) as vendor:
        data = "{sources: [bundled, folder, ccxt, stooq], folder: {path: prices},"
        data += f' stooq: {{base_url: "{vendor.url}"}}}}'
        config = settings(tmp_path, data)
        found = [str(p) for _, p in await source_problems(config, Watch(), ask=False)]
        assert vendor.asked == []
        asked = [str(p) for _, p in await source_problems(config, Watch(), ask=True)]
        assert [query["d1"] for _, query, _ in vendor.asked] == ["20240223"]
    assert "folder: X.csv cannot be read; mend X.csv: line 2: 'x' is no number for low" in found[0]
    assert "ccxt: needs the package ccxt; pip install 'swarmgate[crypto]'" in found[1]
    assert len(found) == 2
    assert "stooq: stooq cannot be asked: it answered a web page in place of data" in asked[2]
    config = settings(tmp_path, "{sources: [folder], folder: {path: nowhere}}")
    (missing,) = await source_problems(config, Watch(), ask=False)
    assert missing[0] == "folder"
    assert "there is no folder" in str(missing[1])
