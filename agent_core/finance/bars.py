"""Bars: daily (or coarser) prices of one symbol, in columns.

Dates ascend without repeats and all columns are equally long. Prices are in `currency`, volume is a number of shares.
`splits` lists the share splits that the source knows of for prices as traded; a source whose prices are adjusted
already leaves it empty. `dividends` lists what was paid for one share, as a share stood on its day, or in the shares of
prices that are adjusted. Neither moves a price until `adjusted` is called, and `until` forgets later ones, so that
nothing of the future ever shows in the prices of the past (DESIGN.md 6, `as_of`).
"""

import datetime as dt
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from typing import Literal

Interval = Literal["day", "week", "month"]
Adjust = Literal["splits", "total"]
COLUMNS = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True)
class Split:
    """From `date` on, `ratio` shares stand where one stood."""

    date: dt.date
    ratio: float


@dataclass(frozen=True, slots=True)
class Dividend:
    """Who held a share before `date` (the ex-date) gets `amount`, in the currency of the prices, for each."""

    date: dt.date
    amount: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Prices of one symbol; see the module's docstring.

    Attributes:
        symbol: Canonical symbol id, such as GOOG.
        source: Name of the price source.
        adjustment: What has been done to the prices, in a few words.
        interval: Length of one bar; a coarser bar carries the date of its last trading day.
        applied: The splits that `adjusted` has applied to the prices; who shows a window can say which lie in it.
        fetched_at: When a live source gave them (aware, UTC); None for prices that lie here.
        stale: The source could not be asked again, so these are the ones of `fetched_at`.
    """

    symbol: str
    currency: str
    source: str
    dates: tuple[dt.date, ...]
    open: Sequence[float]
    high: Sequence[float]
    low: Sequence[float]
    close: Sequence[float]
    volume: Sequence[float]
    splits: tuple[Split, ...] = ()
    adjustment: str = "as traded"
    interval: Interval = "day"
    dividends: tuple[Dividend, ...] = ()
    applied: tuple[Split, ...] = ()
    fetched_at: dt.datetime | None = None
    stale: bool = False

    def __post_init__(self) -> None:
        if any(len(getattr(self, name)) != len(self.dates) for name in COLUMNS):
            raise ValueError(f"{self.symbol}: the columns differ in length")

    def __len__(self) -> int:
        return len(self.dates)

    @property
    def first(self) -> dt.date:
        """The first day. Raises IndexError when there is no bar."""
        return self.dates[0]

    @property
    def as_of(self) -> dt.date:
        """The last day: nothing later is known here. Raises IndexError when there is no bar."""
        return self.dates[-1]

    def rows(self, begin: int, end: int) -> "Bars":
        """The bars with indexes from `begin` up to, not including, `end`."""
        begin, end = max(0, begin), max(0, end)
        cut = {name: getattr(self, name)[begin:end] for name in COLUMNS}
        return replace(self, dates=self.dates[begin:end], **cut)

    def window(self, start: dt.date | None, end: dt.date | None) -> "Bars":
        """The bars of `start` to `end`, both included; None leaves that side open. May be empty."""
        begin = 0 if start is None else bisect_left(self.dates, start)
        stop = len(self) if end is None else bisect_right(self.dates, end)
        return self.rows(begin, stop)

    def until(self, as_of: dt.date | None) -> "Bars":
        """What was known at the end of `as_of`: its bars, splits and dividends. None: everything."""
        if as_of is None:
            return self
        splits = tuple(split for split in self.splits if split.date <= as_of)
        paid = tuple(dividend for dividend in self.dividends if dividend.date <= as_of)
        return replace(self.window(None, as_of), splits=splits, dividends=paid)

    def index_until(self, day: dt.date) -> int:
        """The index of the last bar on or before `day`, or -1."""
        return bisect_right(self.dates, day) - 1

    def adjusted(self, how: Adjust = "splits") -> "Bars":
        """Prices (and volumes, and dividends) in today's shares: each known split applied to the bars before it.

        With "total" each dividend is taken out of the prices before it as well, as if it had bought shares at the close
        before its day; the result states no dividends, because they are in the prices.
        """
        shares = self._in_todays_shares()
        return shares if how == "splits" else _reinvested(shares)

    def _in_todays_shares(self) -> "Bars":
        if not self.splits:
            return self
        factors = [1.0] * len(self)
        for split in self.splits:
            for i in range(bisect_left(self.dates, split.date)):
                factors[i] *= split.ratio
        return replace(
            self.scaled([1 / factor for factor in factors]),
            volume=_times(self.volume, factors),
            splits=(),
            applied=(*self.applied, *self.splits),
            dividends=tuple(
                replace(paid, amount=paid.amount / self._shares_since(paid.date))
                for paid in self.dividends
            ),
            adjustment="adjusted for splits, not for dividends",
        )

    def _shares_since(self, day: dt.date) -> float:
        """How many shares now stand for one of `day`."""
        return prod(split.ratio for split in self.splits if split.date > day)

    def as_traded(self) -> "Bars":
        """The opposite of `adjusted`: prices, volumes and dividends in today's shares become those of their day.

        For sources whose prices are adjusted for the splits in `splits`; these stay stated.
        """
        factors = [self._shares_since(day) for day in self.dates]
        return replace(
            self.scaled(factors),
            volume=_times(self.volume, [1 / factor for factor in factors]),
            dividends=tuple(
                replace(paid, amount=paid.amount * self._shares_since(paid.date))
                for paid in self.dividends
            ),
            adjustment="as traded",
        )

    def scaled(self, factors: Sequence[float]) -> "Bars":
        """The same bars with every price times the factor of its day; volumes stay."""
        return replace(
            self,
            open=_times(self.open, factors),
            high=_times(self.high, factors),
            low=_times(self.low, factors),
            close=_times(self.close, factors),
        )

    def by(self, interval: Interval) -> "Bars":
        """The bars joined to calendar weeks (Monday to Sunday) or months; the first and last may be partial."""
        if interval == self.interval:
            return self
        key = _week if interval == "week" else _month
        return replace(self._joined(key), interval=interval)

    def thinned(self, rows: int) -> tuple["Bars", int]:
        """At most `rows` bars, by joining equally many neighbours, and how many went into one."""
        per_row = -(-len(self) // rows) if len(self) > rows else 1
        if per_row == 1:
            return self, 1
        order = {day: i // per_row for i, day in enumerate(self.dates)}
        return self._joined(order.__getitem__), per_row

    def _joined(self, key: Callable[[dt.date], object]) -> "Bars":
        groups = [
            [i for i, _ in group]
            for _, group in groupby(enumerate(self.dates), key=lambda pair: key(pair[1]))
        ]
        return replace(
            self,
            dates=tuple(self.dates[g[-1]] for g in groups),
            open=array("d", (self.open[g[0]] for g in groups)),
            high=array("d", (max(self.high[g[0] : g[-1] + 1]) for g in groups)),
            low=array("d", (min(self.low[g[0] : g[-1] + 1]) for g in groups)),
            close=array("d", (self.close[g[-1]] for g in groups)),
            volume=array("d", (sum(self.volume[g[0] : g[-1] + 1]) for g in groups)),
        )


def _reinvested(bars: Bars) -> Bars:
    if not bars.dividends:
        return bars
    factors = [1.0] * len(bars)
    for paid in bars.dividends:
        after = bisect_left(bars.dates, paid.date)
        if 0 < after < len(bars) and paid.amount < bars.close[after - 1]:
            kept = 1 - paid.amount / bars.close[after - 1]
            for i in range(after):
                factors[i] *= kept
    return replace(
        bars.scaled(factors), dividends=(), adjustment="adjusted for splits and dividends"
    )


def _times(column: Sequence[float], factors: Sequence[float]) -> Sequence[float]:
    return array("d", (value * factor for value, factor in zip(column, factors, strict=True)))


def _week(day: dt.date) -> object:
    return day.isocalendar()[:2]


def _month(day: dt.date) -> object:
    return day.year, day.month
