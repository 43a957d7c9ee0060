"""A person's own prices: a folder with one CSV (or Parquet) file a symbol.

    prices/AAPL.csv            date,open,high,low,close,volume    (also in Chinese, and any names by `columns`)
    prices/600519.SH.parquet   the same columns
    prices/EUR_USD.csv         `_` stands for the `/` of a pair
    prices/splits.csv          symbol,date,ratio                  (2 for two shares in place of one)
    prices/dividends.csv       symbol,date,amount                 (by the ex-date, for a share of that day)
    prices/currencies.csv      symbol,currency                    (where it is not that of the symbol's market)

Files may be in either order of days. A mistake is told with its file and line, and the symbol has no prices until it is
mended. Files are read again when they change.
"""

import asyncio
import csv
import datetime as dt
import gzip
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agent_core.finance.bars import Bars, Dividend, Split
from agent_core.finance.sources import codes, parquet, table
from agent_core.finance.sources.source import NoData
from agent_core.symbols import get

ENDINGS = (".csv", ".csv.gz", ".parquet")
MOMENT_NS = 2_000_000_000
BESIDE = frozenset({"splits", "dividends", "currencies"})
_CURRENCIES = {"HK": "HKD", "SH": "CNY", "SZ": "CNY", "BJ": "CNY"}
E = TypeVar("E")
Stamp = tuple[int, ...]


class FolderSource:
    """See PriceSource.

    `currency` is that of symbols whose market says none, `columns` the person's own names of columns, and `adjusted`
    says that the prices are adjusted already.
    """

    name = "folder"

    def __init__(
        self,
        path: Path,
        *,
        currency: str | None = None,
        columns: Mapping[str, str] | None = None,
        adjusted: bool = False,
    ) -> None:
        self._path = path
        self._currency = currency
        self._columns = dict(columns or {})
        self._adjusted = adjusted
        self._read: dict[str, tuple[Stamp, Bars]] = {}
        self._listed: tuple[int, dict[str, Path]] | None = None

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that have a file now, sorted."""
        return tuple(sorted(self._files()))

    async def bars(self, symbol: str, start: dt.date | None, end: dt.date | None) -> Bars:
        """See PriceSource."""
        bars = await asyncio.to_thread(self._whole, symbol)
        window = bars.window(start, end)
        if not len(window):
            cure = f"there is {bars.first} to {bars.as_of}" if len(bars) else "its file is empty"
            raise NoData(f"no prices of {symbol} from {start} to {end}", self.name, cure)
        return window

    def _files(self) -> dict[str, Path]:
        if not self._path.is_dir():
            return {}
        changed = self._path.stat().st_mtime_ns
        if self._listed is None or self._listed[0] != changed:
            found = self._look()
            # within a moment a folder may change again without a new time
            self._listed = (changed, found) if time.time_ns() - changed > MOMENT_NS else None
            return found
        return self._listed[1]

    def _look(self) -> dict[str, Path]:
        found = {}
        for path in sorted(self._path.iterdir()):
            ending = next((e for e in ENDINGS if path.name.lower().endswith(e)), None)
            if ending and path.name[: -len(ending)] not in BESIDE:
                found[path.name[: -len(ending)].upper().replace("_", "/")] = path
        return found

    def _whole(self, symbol: str) -> Bars:
        path = self._files().get(symbol)
        if path is None:
            # people in chats read this: where the folder lies is the operator's matter
            cure = f"put a file {symbol.replace('/', '_')}.csv into the folder of data.folder"
            raise NoData(f"no prices of {symbol}", self.name, cure)
        stamp = _stamp(path, *(self._path / f"{name}.csv" for name in sorted(BESIDE)))
        kept = self._read.get(symbol)
        if kept is None or kept[0] != stamp:
            kept = self._read[symbol] = (stamp, self._parsed(symbol, path))
        return kept[1]

    def _parsed(self, symbol: str, path: Path) -> Bars:
        header, rows = self._told(path, lambda: _rows(path))
        found = self._told(path, lambda: table.read(rows, table.places(header, self._columns)))
        said = "adjusted already, as its owner says" if self._adjusted else "as traded"
        bars = found.bars(symbol, self._currency_of(symbol), self.name, said)
        splits = self._beside(symbol, "splits", "ratio", Split)
        paid = self._beside(symbol, "dividends", "amount", Dividend)
        return replace(bars, splits=() if self._adjusted else splits, dividends=paid)

    def _currency_of(self, symbol: str) -> str:
        path = self._path / "currencies.csv"

        def read() -> list[str]:
            return [_code(line, row) for line, row in _dicts(path) if _is_of(row, symbol)]

        if path.exists() and (said := self._told(path, read)):
            return said[-1]
        currencies, known = codes.pair(symbol), get(symbol)
        if currencies:
            return currencies[1]
        listed = known.currency if known else _CURRENCIES.get(codes.exchange(symbol)[1])
        return listed or self._currency or "USD"

    def _beside(
        self, symbol: str, name: str, value: str, make: Callable[[dt.date, float], E]
    ) -> tuple[E, ...]:
        path = self._path / f"{name}.csv"
        if not path.exists():
            return ()

        def read() -> tuple[E, ...]:
            mine = ((line, row) for line, row in _dicts(path) if _is_of(row, symbol))
            return tuple(make(*_event(line, row, value)) for line, row in mine)

        return self._told(path, read)

    def _told(self, path: Path, read: Callable[[], E]) -> E:
        """What reading gives; a mistake in the file is told with its place."""
        try:
            return read()
        except NoData:
            raise
        except (OSError, EOFError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            cure = f"mend {path.name}: {why}"
            raise NoData(f"{path.name} cannot be read", self.name, cure) from error


def _rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    if path.name.lower().endswith(".parquet"):
        header, cells = parquet.rows(path)
        return header, [(line, list(row)) for line, row in enumerate(cells, 2)]
    reader = csv.reader(_text(path).splitlines())
    header = next(reader, [])
    return header, [(reader.line_num, row) for row in reader]


def _dicts(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    header, rows = _rows(path)
    names = [cell.strip().lower() for cell in header]
    for line, row in rows:
        yield line, dict(zip(names, row, strict=False))


def _is_of(row: Mapping[str, str], symbol: str) -> bool:
    return row.get("symbol", "").strip().upper() == symbol


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")


def _event(line: int, row: Mapping[str, str], value: str) -> tuple[dt.date, float]:
    try:
        day, number = dt.date.fromisoformat(row["date"].strip()), float(row[value])
    except (KeyError, ValueError):
        raise table.BadTable(line, f"there must be symbol, date and {value}") from None
    if not 0 < number < float("inf"):
        raise table.BadTable(line, f"{value} {number:g} must be above 0")
    return day, number


def _code(line: int, row: Mapping[str, str]) -> str:
    code = row.get("currency", "").strip().upper()
    if len(code) < 3 or not code.isalpha():
        raise table.BadTable(line, f"{code!r} is no currency; write it as USD")
    return code


def _stamp(*paths: Path) -> Stamp:
    """What changes when a file does."""
    found: list[int] = []
    for path in paths:
        if path.exists():
            stat = path.stat()
            found += [stat.st_mtime_ns, stat.st_size]
        else:
            found += [0, 0]
    return tuple(found)
