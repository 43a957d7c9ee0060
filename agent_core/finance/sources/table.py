"""Rows of text as bars: what a CSV file of a person or of a vendor must be, and what is wrong with it, by its line."""

import datetime as dt
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agent_core.finance.bars import COLUMNS, Bars

# How columns are called, lower case; the first name is ours.
NAMES: dict[str, tuple[str, ...]] = {
    "date": (
        "date",
        "datetime",
        "timestamp",
        "day",
        "time",
        "日期",
        "时间",
        "交易日期",
        "trade_date",
    ),
    "open": ("open", "开盘", "开盘价"),
    "high": ("high", "最高", "最高价"),
    "low": ("low", "最低", "最低价"),
    "close": ("close", "收盘", "收盘价"),
    "volume": ("volume", "vol", "成交量"),
}


class BadTable(ValueError):
    """A table that is none: `line` (from 1; the header is 1) and what is wrong there."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


@dataclass(slots=True)
class Table:
    """The columns of a file, days ascending."""

    dates: list[dt.date] = field(default_factory=list)
    columns: dict[str, "array[float]"] = field(
        default_factory=lambda: {name: array("d") for name in COLUMNS}
    )

    def bars(self, symbol: str, currency: str, source: str, adjustment: str) -> Bars:
        """The bars; splits and dividends are stated by who knows them."""
        return Bars(
            symbol=symbol,
            currency=currency,
            source=source,
            dates=tuple(self.dates),
            open=self.columns["open"],
            high=self.columns["high"],
            low=self.columns["low"],
            close=self.columns["close"],
            volume=self.columns["volume"],
            adjustment=adjustment,
        )


def places(header: Sequence[str], own: Mapping[str, str] | None = None) -> dict[str, int]:
    """Where each of our columns stands in a header; `own` are the names that a person gives. Raises BadTable.

    Without a volume the column is missing, and volumes are 0.
    """
    folded = [cell.strip().lower().lstrip("\ufeff") for cell in header]
    found: dict[str, int] = {}
    for ours, names in NAMES.items():
        wanted = (own[ours].strip().lower(),) if own and ours in own else names
        at = next((folded.index(name) for name in wanted if name in folded), None)
        if at is None and ours != "volume":
            raise BadTable(1, f"there is no column {wanted[0]!r}; there are {', '.join(folded)}")
        if at is not None:
            found[ours] = at
    return found


def read(rows: Iterable[tuple[int, Sequence[str]]], at: Mapping[str, int]) -> Table:
    """The rows as a table, in either order of days. `rows` have their line numbers. Raises BadTable."""
    table, lines = Table(), list[int]()
    for line, row in rows:
        if not any(row):
            continue
        if len(row) <= max(at.values()):
            raise BadTable(line, f"there are {len(row)} cells, {max(at.values()) + 1} are wanted")
        table.dates.append(_day(line, row[at["date"]]))
        lines.append(line)
        values = {
            name: _number(line, name, row[at[name]]) if name in at else 0.0 for name in COLUMNS
        }
        _sound(line, values)
        for name, value in values.items():
            table.columns[name].append(value)
    if len(table.dates) > 1 and table.dates[0] > table.dates[-1]:
        table.dates.reverse()
        lines.reverse()
        for column in table.columns.values():
            column.reverse()
    for i in range(1, len(table.dates)):
        if table.dates[i] <= table.dates[i - 1]:
            raise BadTable(lines[i], f"{table.dates[i]} is out of order or there twice")
    return table


def _day(line: int, text: str) -> dt.date:
    word = text.strip()[:10].replace("/", "-")
    try:
        return dt.date.fromisoformat(word)
    except ValueError:
        raise BadTable(line, f"{text.strip()!r} is no date; write it as 2024-01-31") from None


def _number(line: int, name: str, text: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        raise BadTable(line, f"{text.strip()!r} is no number for {name}") from None
    if not math.isfinite(value) or value < 0:
        raise BadTable(line, f"{text.strip()} is no possible {name}")
    return value


def _sound(line: int, row: Mapping[str, float]) -> None:
    if not 0 < row["low"] <= min(row["open"], row["close"]):
        raise BadTable(line, f"low {row['low']:g} is 0 or above open or close")
    if row["high"] < max(row["open"], row["close"]):
        raise BadTable(line, f"high {row['high']:g} is below open or close")
