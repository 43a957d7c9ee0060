"""Symbols that an operator fetches from data sources: what is written, and what people's words come to mean by it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent_core import symbols, symbols_file
from gateway.cli.main import app
from gateway.prices.symbol_refresh import Refreshed, listing_sources, refresh, table_of, use_fetched
from gateway.settings.settings import Settings, load
from tests.vendors import Vendor, Watch, html

PATH = "/files/company_tickers_exchange.json"
LISTED: dict[str, Any] = {
    "fields": ["cik", "name", "ticker", "exchange"],
    "data": [
        [1, "Apple Inc.", "AAPL", "Nasdaq"],
        [2, "Zebrafish Analytics Corp", "ZFSH", "NYSE"],
        [3, "Nowhere", "NOW2", "NYSE"],
    ],
}


@pytest.fixture(autouse=True)
def _as_shipped() -> Iterator[None]:
    """Every test leaves the table as it ships."""
    yield
    symbols._FETCHED.clear()
    symbols._index.cache_clear()


def settings(folder: Path, url: str) -> Settings:
    path = folder / "swarmgate.yaml"
    text = f'{{contact: alice@example.org, base_url: "{url}", files_url: "{url}"}}'
    path.write_text(f"version: 1\ndata: {{sources: [bundled, edgar], edgar: {text}}}\n")
    return load(path, {})


async def test_what_a_source_lists_is_written_and_used(tmp_path: Path) -> None:
    async with Vendor({PATH: LISTED}) as vendor:
        config = settings(tmp_path, vendor.url)
        assert listing_sources(config) == ("edgar",)
        assert await refresh(config, Watch(), ("edgar",)) == [Refreshed("edgar", 3)]
    assert symbols.lookup("ZFSH") is None
    use_fetched(config)
    found = symbols.lookup("zfsh")
    assert found is not None
    assert (found.id, found.name, found.market, found.currency) == (
        "ZFSH",
        "Zebrafish Analytics Corp",
        "US",
        "USD",
    )
    assert symbols.ids("buy Zebrafish Analytics Corp and $ZFSH now") == ("ZFSH",)
    apple = symbols.lookup("AAPL")
    assert apple is not None
    assert apple.name_zh == "苹果"  # ours has better names, so it stays
    rows = symbols_file.fetched(table_of(config))
    assert [row["id"] for row in rows] == ["AAPL", "NOW2", "ZFSH"]


def table(folder: Path, *rows: tuple[str, str, str]) -> Path:
    path = folder / "symbols.csv"
    symbols_file.write(
        path,
        [
            {"id": i, "market": m, "currency": "CNY", "name": n, "name_zh": n, "source": "x"}
            for i, m, n in rows
        ],
    )
    return path


def test_words_of_everyday_do_not_become_symbols(tmp_path: Path) -> None:
    """Longest match wins; a theme, a short name, a ticker that is a word: found when asked for, not in running text."""
    symbols.use(
        table(
            tmp_path,
            ("300024.SZ", "SZ", "机器人"),
            ("002582.SZ", "SZ", "好想你"),
            ("601866.SH", "SH", "中远海发"),
            ("688999.SH", "SH", "中远海发科技"),
            ("REAL", "US", "REAL"),
        )
    )
    assert symbols.ids("好想你，机器人行业 REAL quick") == ()
    assert symbols.ids("中远海发科技和中远海发") == ("688999.SH", "601866.SH")
    assert symbols.ids("002582 and $REAL") == ("002582.SZ", "REAL")
    asked = symbols.lookup("好想你")
    assert asked is not None
    assert asked.id == "002582.SZ"
    assert symbols.lookup("机器人") is None  # a theme word is no symbol, whoever is called so
    robot = symbols.lookup("300024")
    assert robot is not None
    assert robot.name_zh == "机器人"


async def test_a_source_that_fails_loses_nothing_that_it_gave_before(tmp_path: Path) -> None:
    async with Vendor({PATH: LISTED}) as vendor:
        config = settings(tmp_path, vendor.url)
        await refresh(config, Watch(), ("edgar",))
        before = table_of(config).read_bytes()
        for page in (lambda _: html(), {"fields": [], "data": [[1]]}, {**LISTED, "data": []}):
            vendor.pages[PATH] = page
            (result,) = await refresh(config, Watch(), ("edgar",))
            assert result.problem
            assert table_of(config).read_bytes() == before
        vendor.pages[PATH] = {**LISTED, "data": LISTED["data"][:1]}
        await refresh(config, Watch(), ("edgar",))
    assert [row["id"] for row in symbols_file.fetched(table_of(config))] == ["AAPL"]


def test_a_broken_table_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = settings(tmp_path, "http://127.0.0.1:9")
    use_fetched(config)  # there is none: nothing happens
    table_of(config).parent.mkdir()
    table_of(config).write_text("id,market\nX,US\n")
    use_fetched(config)
    assert [record.message for record in caplog.records] == ["symbols_not_read"]
    assert "line 2: no symbol; fetch it anew" in caplog.records[0].why  # type: ignore[attr-defined]
    assert symbols.lookup("AAPL") is not None


async def test_the_command_tells_how_many_there_are(tmp_path: Path) -> None:
    import asyncio

    runner = CliRunner()
    async with Vendor({PATH: LISTED}) as vendor:
        config = settings(tmp_path, vendor.url)
        command = ["symbols", "refresh", "-c", str(tmp_path / "swarmgate.yaml")]
        done = await asyncio.to_thread(runner.invoke, app, [*command, "--json"])
        assert done.exit_code == 0, done.output
        (row,) = json.loads(done.stdout)
        assert (row["id"], row["symbols"], row["file"]) == ("edgar", 3, str(table_of(config)))
        vendor.pages[PATH] = lambda _: html()
        failed = await asyncio.to_thread(runner.invoke, app, command)
        assert failed.exit_code == 1
        assert "a web page in place of data" in failed.output
        wrong = await asyncio.to_thread(runner.invoke, app, [*command, "--source", "bundled"])
    assert wrong.exit_code == 1
    assert "sources with a list of symbols: edgar; name one of them" in wrong.output


def test_without_such_a_source_the_command_says_what_to_enable(tmp_path: Path) -> None:
    (tmp_path / "swarmgate.yaml").write_text("version: 1\n")
    done = CliRunner().invoke(app, ["symbols", "refresh", "-c", str(tmp_path / "swarmgate.yaml")])
    assert done.exit_code == 1
    assert "enable edgar, baostock or ccxt under data.sources" in done.output
