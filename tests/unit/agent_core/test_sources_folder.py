"""A person's own folder of prices: what may stand in it, and how a mistake in it is told."""

import datetime as dt
import gzip
import sys
from pathlib import Path

import pytest

from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.sources.folder import FolderSource
from agent_core.finance.sources.source import NoData
from tests.vendors import DAY

HEAD = "date,open,high,low,close,volume\n"
ROWS = "2024-01-02,10,12,9,11,100\n2024-01-03,11,13,10,12,200\n"


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def whole(folder: Path, symbol: str, **more: object) -> Bars:
    return await FolderSource(folder, **more).bars(symbol, None, None)  # type: ignore[arg-type]


async def test_a_file_is_a_symbol_with_the_currency_of_its_market(tmp_path: Path) -> None:
    for name in ("AAPL", "600519.SH", "0700.HK", "EUR_GBP", "UNLISTED"):
        put(tmp_path, f"{name}.csv", HEAD + ROWS)
    put(tmp_path, "notes.txt", "no prices")
    source = FolderSource(tmp_path, currency="CHF")
    assert source.symbols == ("0700.HK", "600519.SH", "AAPL", "EUR/GBP", "UNLISTED")
    currencies = [(await source.bars(name, None, None)).currency for name in source.symbols]
    assert currencies == ["HKD", "CNY", "USD", "GBP", "CHF"]
    bars = await source.bars("AAPL", DAY("2024-01-03"), None)
    assert (bars.dates, list(bars.close), list(bars.volume)) == ((DAY("2024-01-03"),), [12], [200])
    assert (bars.source, bars.adjustment) == ("folder", "as traded")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffDate,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,10,12,9,11,1,100\n"
        "2024-01-03,11,13,10,12,1,200\n",
        "日期,开盘,收盘,最高,最低,成交量\n2024-01-02,10,11,12,9,100\n2024-01-03,11,12,13,10,200\n",
        "date,open,high,low,close,volume\n2024/01/03,11,13,10,12,200\n2024/01/02,10,12,9,11,100\n\n",
        'timestamp,open,high,low,close,volume\n2024-01-02 00:00:00,10,12,9,11,"100"\n'
        "2024-01-03T00:00:00,11,13,10,12,200\n",
    ],
    ids=["yahoo", "chinese", "newest first", "timestamps"],
)
async def test_columns_have_the_names_that_people_use(tmp_path: Path, text: str) -> None:
    put(tmp_path, "X.csv", text)
    bars = await whole(tmp_path, "X")
    assert (bars.first, bars.as_of) == (DAY("2024-01-02"), DAY("2024-01-03"))
    assert [list(c) for c in (bars.open, bars.high, bars.low, bars.close, bars.volume)] == [
        [10, 11],
        [12, 13],
        [9, 10],
        [11, 12],
        [100, 200],
    ]


async def test_columns_may_be_named_in_the_settings_and_volume_may_be_missing(
    tmp_path: Path,
) -> None:
    put(tmp_path, "X.csv", "Day,O,H,L,Last\n2024-01-02,10,12,9,11\n")
    columns = {"date": "day", "open": "O", "high": "H", "low": "L", "close": "last"}
    bars = await whole(tmp_path, "X", columns=columns)
    assert (list(bars.close), list(bars.volume)) == ([11], [0])


async def test_a_packed_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "X.csv.gz").write_bytes(gzip.compress((HEAD + ROWS).encode()))
    assert len(await whole(tmp_path, "X")) == 2


async def test_splits_dividends_and_currencies_stand_beside(tmp_path: Path) -> None:
    put(tmp_path, "X.csv", HEAD + ROWS)
    put(tmp_path, "splits.csv", "symbol,date,ratio\nX,2024-01-03,2\nY,2024-01-03,3\n")
    put(tmp_path, "dividends.csv", "symbol,date,amount\nX,2024-01-03,0.5\n")
    put(tmp_path, "currencies.csv", "symbol,currency\nx,eur\n")
    source = FolderSource(tmp_path)
    assert source.symbols == ("X",)
    bars = await source.bars("X", None, None)
    assert bars.splits == (Split(DAY("2024-01-03"), 2.0),)
    assert bars.dividends == (Dividend(DAY("2024-01-03"), 0.5),)
    assert bars.currency == "EUR"
    adjusted = await whole(tmp_path, "X", adjusted=True)
    assert adjusted.splits == ()
    assert "adjusted" in adjusted.adjustment


async def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = put(tmp_path, "X.csv", HEAD + ROWS)
    source = FolderSource(tmp_path)
    assert (await source.bars("X", None, None)).as_of == DAY("2024-01-03")
    path.write_text(f"{HEAD}{ROWS}2024-01-04,12,13,11,12,1\n")
    assert (await source.bars("X", None, None)).as_of == DAY("2024-01-04")


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("", "line 1: there is no column 'date'"),
        (
            "date,open,high,low\n",
            "line 1: there is no column 'close'; there are date, open, high, low",
        ),
        (HEAD + "2024-01-02,10,12,9,n/a,1\n", "line 2: 'n/a' is no number for close"),
        (
            HEAD + ROWS + "03.01.2024,1,1,1,1,1\n",
            "line 4: '03.01.2024' is no date; write it as 2024-01-31",
        ),
        (HEAD + "2024-01-02,10,12,9\n", "line 2: there are 4 cells, 6 are wanted"),
        (
            HEAD + ROWS + "2024-01-03,11,13,10,12,200\n",
            "line 4: 2024-01-03 is out of order or there twice",
        ),
        (HEAD + "2024-01-02,10,9,8,9,1\n", "line 2: high 9 is below open or close"),
        (HEAD + "2024-01-02,10,12,11,11,1\n", "line 2: low 11 is 0 or above open or close"),
        (HEAD + "2024-01-02,nan,12,9,11,1\n", "line 2: nan is no possible open"),
        (HEAD + "2024-01-02,10,12,9,11,-5\n", "line 2: -5 is no possible volume"),
    ],
)
async def test_a_mistake_is_told_with_its_file_and_line(
    tmp_path: Path, text: str, cure: str
) -> None:
    put(tmp_path, "X.csv", text)
    with pytest.raises(NoData) as error:
        await whole(tmp_path, "X")
    assert str(error.value).startswith(f"X.csv cannot be read (source: folder); mend X.csv: {cure}")


@pytest.mark.parametrize(
    ("name", "text", "cure"),
    [
        (
            "splits.csv",
            "symbol,date,ratio\nX,2024-01-03,two\n",
            "line 2: there must be symbol, date and ratio",
        ),
        ("splits.csv", "symbol,date,ratio\nX,2024-01-03,0\n", "line 2: ratio 0 must be above 0"),
        ("dividends.csv", "symbol,day\nX,1\n", "line 2: there must be symbol, date and amount"),
        ("currencies.csv", "symbol,currency\nX,$\n", "line 2: '$' is no currency"),
    ],
)
async def test_a_mistake_beside_is_told_too(
    tmp_path: Path, name: str, text: str, cure: str
) -> None:
    put(tmp_path, "X.csv", HEAD + ROWS)
    put(tmp_path, name, text)
    with pytest.raises(NoData) as error:
        await whole(tmp_path, "X")
    assert f"mend {name}: {cure}" in str(error.value)


async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    put(tmp_path, "X.csv", HEAD + ROWS)
    (tmp_path / "B.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(NoData, match=r"put a file EUR_USD\.csv into the folder of data"):
        await whole(tmp_path, "EUR/USD")
    with pytest.raises(NoData, match="there is 2024-01-02 to 2024-01-03"):
        await FolderSource(tmp_path).bars("X", dt.date(2025, 1, 1), None)
    with pytest.raises(NoData, match=r"B\.csv\.gz cannot be read"):
        await whole(tmp_path, "B")
    assert FolderSource(tmp_path / "elsewhere").symbols == ()


async def test_a_parquet_file_is_read_like_a_table_of_text(tmp_path: Path) -> None:
    """Days as dates and as times, whole numbers as such, in any order of columns, with what stands beside."""
    import pyarrow as pa
    from pyarrow import parquet

    days = [DAY("2024-01-02"), DAY("2024-01-03")]
    columns = {"date": days, "open": [10.0, 11.0], "high": [12.0, 13.0], "low": [9.0, 10.0]}
    table = pa.table({"volume": [100, 200], **columns, "close": [11.0, 12.25]})
    parquet.write_table(table, tmp_path / "X.parquet")
    times = pa.array([dt.datetime.combine(day, dt.time()) for day in days], pa.timestamp("ns"))
    parquet.write_table(table.set_column(1, "date", times), tmp_path / "Y.parquet")
    (tmp_path / "splits.csv").write_text("symbol,date,ratio\nX,2024-01-03,2\n")
    for symbol in ("X", "Y"):
        bars = await whole(tmp_path, symbol)
        assert (list(bars.close), list(bars.volume)) == ([11, 12.25], [100, 200])
        assert bars.dates == tuple(days)
    assert (await whole(tmp_path, "X")).splits == (Split(DAY("2024-01-03"), 2),)
    assert FolderSource(tmp_path).symbols == ("X", "Y")


async def test_a_parquet_file_that_is_none_is_told_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "X.parquet").write_bytes(b"PAR1, or so it says")
    with pytest.raises(NoData, match=r"X\.parquet.*no Parquet file"):
        await whole(tmp_path, "X")


async def test_parquet_needs_its_package_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pyarrow is not installed, the extra that brings it is named, and what does without."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "X.parquet").write_bytes(b"PAR1")
    with pytest.raises(NoData, match=r"pip install 'swarmgate\[parquet\]', or write .* as CSV"):
        await whole(tmp_path, "X")
