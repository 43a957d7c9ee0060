"""What companies report: figures by period, and the filings themselves. Ports; the sources stand in `sources/`.

A figure counts from the day on which it was filed, not from the end of its period: `as_of` leaves out what nobody knew.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Period = Literal["year", "quarter"]
# Where a source does not say when a statement was filed: that long after its period it is public (10-K: 60 to 90 days).
FILED_AFTER = dt.timedelta(days=90)
FIGURES = (
    *("revenue", "gross_profit", "operating_income", "net_income", "eps_diluted"),
    *("operating_cash_flow", "assets", "liabilities", "equity", "cash", "shares"),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """The figures (`FIGURES`, in the currency of the report) of one period. `filed` None: the source does not say."""

    period_end: dt.date
    filed: dt.date | None
    values: Mapping[str, float]

    @property
    def public(self) -> dt.date:
        """From when it was known, as far as that can be told."""
        return self.filed or self.period_end + FILED_AFTER


@dataclass(frozen=True, slots=True)
class Fundamentals:
    """Statements, newest first, and what the source says of the present (`now`): ratios, sector."""

    symbol: str
    name: str
    source: str
    currency: str
    statements: tuple[Statement, ...]
    now: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filing:
    """One document that was filed. `period` is the day on which what it reports on ends, None where it has none."""

    form: str
    filed: dt.date
    period: dt.date | None
    title: str
    url: str


class FundamentalsSource(Protocol):
    """Brings what companies report."""

    name: str

    async def fundamentals(
        self, symbol: str, period: Period, as_of: dt.date | None
    ) -> Fundamentals:
        """What was public on `as_of` (None: now); `now` is empty for a day of the past.

        Raises NoData, SourceDown. There is at least one statement, or something in `now`.
        """
        ...


class FilingsSource(Protocol):
    """Brings filings."""

    name: str

    async def filings(
        self, symbol: str, forms: Sequence[str], as_of: dt.date | None
    ) -> list[Filing]:
        """Filings of these forms (none: all) until `as_of`, newest first; at least one. Raises NoData, SourceDown."""
        ...
