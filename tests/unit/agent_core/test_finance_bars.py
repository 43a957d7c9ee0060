"""Bars, the bundled source, and the gate that keeps the future out."""

import csv
import datetime as dt
import gzip
import hashlib
import io
from array import array
from collections.abc import Iterator
from importlib.resources import files

import pytest

from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.sources.bundled import SYMBOLS, BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import Listed, NoData, PriceSource

DAY = dt.date.fromisoformat


def made(closes: list[float], first: str = "2024-01-01", **more: object) -> Bars:
    dates = tuple(DAY(first) + dt.timedelta(days=i) for i in range(len(closes)))
    fields: dict[str, object] = {
        "symbol": "TEST",
        "currency": "USD",
        "source": "made",
        "dates": dates,
        "open": array("d", closes),
        "high": array("d", (c + 1 for c in closes)),
        "low": array("d", (c - 1 for c in closes)),
        "close": array("d", closes),
        "volume": array("d", [100.0] * len(closes)),
    }
    return Bars(**(fields | more))  # type: ignore[arg-type]


def raw_rows(symbol: str) -> Iterator[dict[str, str]]:
    data = files("agent_core.finance").joinpath("data", f"{symbol}.csv.gz").read_bytes()
    return csv.DictReader(io.StringIO(gzip.decompress(data).decode()))


def test_windows_include_both_ends_and_may_be_empty() -> None:
    bars = made([1, 2, 3, 4])
    assert list(bars.window(DAY("2024-01-02"), DAY("2024-01-03")).close) == [2, 3]
    assert list(bars.window(None, DAY("2024-01-02")).close) == [1, 2]
    assert len(bars.window(DAY("2025-01-01"), None)) == 0
    assert bars.index_until(DAY("2023-12-31")) == -1


def test_a_split_is_applied_to_prices_and_volumes_before_it() -> None:
    bars = made([100, 100, 50], splits=(Split(DAY("2024-01-03"), 2.0),))
    adjusted = bars.adjusted()
    assert list(adjusted.close) == [50, 50, 50]
    assert list(adjusted.volume) == [200, 200, 100]
    assert adjusted.adjusted() is adjusted


def test_a_dividend_is_taken_out_of_the_prices_before_it_only_when_asked() -> None:
    """The close before the ex-date is 50; 1 of it was paid, so 98 % of every earlier price remain."""
    bars = made([40, 50, 49, 51], dividends=(Dividend(DAY("2024-01-03"), 1.0),))
    assert bars.adjusted() is bars
    total = bars.adjusted("total")
    assert list(total.close) == pytest.approx([39.2, 49, 49, 51])
    assert list(total.volume) == [100] * 4
    assert (total.dividends, total.adjustment) == ((), "adjusted for splits and dividends")
    assert total.adjusted("total") is total


def test_a_dividend_before_a_split_counts_in_the_shares_of_its_day() -> None:
    """2 for one of 100 is 1 for one of 50; one that is paid on the day of the split is in new shares already."""
    paid = (Dividend(DAY("2024-01-02"), 2.0), Dividend(DAY("2024-01-03"), 0.5))
    bars = made([100, 100, 50], splits=(Split(DAY("2024-01-03"), 2.0),), dividends=paid)
    assert [d.amount for d in bars.adjusted().dividends] == [1.0, 0.5]
    assert list(bars.adjusted("total").close) == pytest.approx([50 * 0.98 * 0.99, 50 * 0.99, 50])


def test_prices_in_todays_shares_are_put_back_as_they_were_traded() -> None:
    """A source that adjusts to today's shares would show a later split in the prices of an earlier `as_of`."""
    split, paid = Split(DAY("2024-01-03"), 2.0), Dividend(DAY("2024-01-02"), 1.0)
    bars = made([50, 50, 50], splits=(split,), dividends=(paid,), adjustment="by the source")
    traded = bars.as_traded()
    assert (list(traded.close), list(traded.volume)) == ([100, 100, 50], [50, 50, 100])
    assert [d.amount for d in traded.dividends] == [2.0]
    assert list(traded.until(DAY("2024-01-02")).adjusted().close) == [100, 100]
    assert list(traded.adjusted().close) == [50, 50, 50]


def test_a_dividend_after_as_of_or_outside_of_the_window_moves_no_price() -> None:
    bars = made([40, 50, 49, 51], dividends=(Dividend(DAY("2024-01-03"), 1.0),))
    assert list(bars.until(DAY("2024-01-02")).adjusted("total").close) == [40, 50]
    assert list(bars.window(DAY("2024-01-03"), None).adjusted("total").close) == [49, 51]
    assert list(bars.window(None, DAY("2024-01-02")).adjusted("total").close) == [40, 50]


def test_a_split_after_as_of_shows_in_no_earlier_price() -> None:
    bars = made([100, 100, 50], splits=(Split(DAY("2024-01-03"), 2.0),))
    assert list(bars.until(DAY("2024-01-02")).adjusted().close) == [100, 100]


def test_bars_join_to_weeks_and_months() -> None:
    bars = made([float(i) for i in range(1, 41)])  # Monday 2024-01-01 to Friday 2024-02-09
    weeks = bars.by("week")
    assert weeks.dates[0] == DAY("2024-01-07")
    assert (weeks.open[0], weeks.high[0], weeks.low[0], weeks.close[0]) == (1, 8, 0, 7)
    assert weeks.volume[0] == 700
    assert [d.isoformat() for d in bars.by("month").dates] == ["2024-01-31", "2024-02-09"]


def test_thinning_joins_neighbours_and_says_how_many() -> None:
    thin, per_row = made([float(i) for i in range(1, 131)]).thinned(60)
    assert (len(thin), per_row) == (44, 3)
    assert (thin.open[0], thin.close[-1]) == (1, 130)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        made([1, 2], close=array("d", [1]))


async def test_bundled_series_are_whole_and_sound() -> None:
    source = BundledSource()
    assert isinstance(source, Listed)
    for symbol, first, count in [
        ("AAPL", "2000-03-01", 3270),
        ("GOOG", "2004-08-19", 2148),
        ("IBM", "2000-03-01", 3270),
        ("MSFT", "2000-03-01", 3270),
    ]:
        bars = await source.bars(symbol, None, None)
        assert (bars.first, bars.as_of, len(bars)) == (DAY(first), DAY("2013-03-01"), count)
        assert list(bars.dates) == sorted(set(bars.dates))
        columns = zip(bars.open, bars.high, bars.low, bars.close, bars.volume, strict=True)
        assert all(0 < l <= min(o, c) <= max(o, c) <= h and v > 0 for o, h, l, c, v in columns)  # noqa: E741


async def test_bundled_splits_make_the_series_continuous() -> None:
    """The day of a split moves by less than a fifth once it is applied."""
    for symbol in ("AAPL", "MSFT"):
        raw = await BundledSource().bars(symbol, None, None)
        adjusted = raw.adjusted()
        assert raw.splits
        for split in raw.splits:
            i = raw.index_until(split.date)
            assert raw.close[i] / raw.close[i - 1] < 0.6
            assert 0.8 < adjusted.close[i] / adjusted.close[i - 1] < 1.2


async def test_bundled_close_equals_the_file() -> None:
    rows = {row["date"]: row for row in raw_rows("GOOG")}
    bars = await BundledSource().bars("GOOG", DAY("2012-01-01"), DAY("2012-12-31"))
    assert [str(d) for d in bars.dates] == [d for d in rows if d.startswith("2012")]
    assert bars.close[0] == float(rows["2012-01-03"]["close"]) == 665.41
    assert bars.close[-1] == float(rows["2012-12-31"]["close"]) == 707.38


def test_the_data_files_are_these_and_named_in_the_notice() -> None:
    """Origin and licence are stated for what ships, and nothing ships unseen."""
    folder = files("agent_core.finance").joinpath("data")
    notice = folder.joinpath("NOTICE").read_text()
    names = {f"{symbol}.csv.gz" for symbol in SYMBOLS} | {"splits.csv"}
    assert {entry.name for entry in folder.iterdir()} == names | {"NOTICE"}
    assert all(name in notice for name in names)
    assert "Redistribution and use in source and binary forms" in notice
    digest = hashlib.sha256()
    for symbol in SYMBOLS:
        digest.update(gzip.decompress(folder.joinpath(f"{symbol}.csv.gz").read_bytes()))
    assert digest.hexdigest()[:16] == "12a91bfd8fa46878"


class Fixed:
    """A price source with one series, as a vendor's client would be."""

    def __init__(self, name: str, bars: Bars | None) -> None:
        self._name, self._bars = name, bars

    @property
    def name(self) -> str:
        return self._name

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        if self._bars is None or symbol != self._bars.symbol:
            raise NoData(f"no prices of {symbol}", self._name, "try another name")
        return self._bars  # careless on purpose: ignores the window


async def test_the_first_source_that_has_the_symbol_answers() -> None:
    first: PriceSource = Fixed("first", None)
    sources = Sources([first, BundledSource(), Fixed("last", made([1, 2, 3]))])
    assert (await sources.bars("GOOG", None, None)).source == "bundled"
    assert (await sources.bars("TEST", None, None)).source == "made"
    assert sources.names == ("first", "bundled", "last")
    assert sources.has("GOOG") is True
    assert sources.has("TSLA") is None


async def test_nothing_later_than_as_of_passes_even_from_a_careless_source() -> None:
    sources = Sources([Fixed("careless", made([1, 2, 3, 4]))])
    bars = await sources.bars("TEST", None, DAY("2024-01-04"), as_of=DAY("2024-01-02"))
    assert bars.as_of == DAY("2024-01-02")
    with pytest.raises(NoData):
        await sources.bars("TEST", None, None, as_of=DAY("2023-01-01"))


async def test_as_of_gives_prices_in_the_shares_of_that_day() -> None:
    sources = Sources([BundledSource()])
    before = await sources.bars("AAPL", None, None, as_of=DAY("2004-12-31"))
    later = await sources.bars("AAPL", None, DAY("2004-12-31"))
    assert before.close[-1] == 64.40  # as traded
    assert later.close[-1] == 32.20  # in the shares after the split of 2005-02-28


async def test_no_source_has_it_says_what_where_and_what_instead() -> None:
    with pytest.raises(NoData, match=r"TSLA.*bundled.*AAPL, GOOG, IBM, MSFT"):
        await Sources([BundledSource()]).bars("TSLA", None, None)
    with pytest.raises(NoData, match=r"a: try another.*bundled: there are"):
        await Sources([Fixed("a", None), BundledSource()]).bars("TSLA", None, None)
    with pytest.raises(ValueError, match="same name"):
        Sources([BundledSource(), BundledSource()])
