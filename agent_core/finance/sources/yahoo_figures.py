"""What Yahoo Finance says of companies, through the ticker of yfinance: statements, and ratios of the present."""

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from typing import Any

from agent_core.finance.fundamentals import Period, Statement

# Rows of yfinance's statements by our figures.
ROWS: dict[str, tuple[str, ...]] = {
    "revenue": ("TotalRevenue",),
    "gross_profit": ("GrossProfit",),
    "operating_income": ("OperatingIncome",),
    "net_income": ("NetIncome",),
    "eps_diluted": ("DilutedEPS",),
    "operating_cash_flow": ("OperatingCashFlow",),
    "assets": ("TotalAssets",),
    "liabilities": ("TotalLiabilitiesNetMinorityInterest",),
    "equity": ("StockholdersEquity",),
    "cash": ("CashAndCashEquivalents",),
    "shares": ("OrdinarySharesNumber",),
}
# What Yahoo says of the present, by our names. Shares of one are told in percent.
NOW: dict[str, str] = {
    "marketCap": "market_cap",
    "trailingPE": "pe_trailing",
    "forwardPE": "pe_forward",
    "priceToBook": "price_to_book",
    "beta": "beta",
    "sector": "sector",
    "industry": "industry",
}
_FREQUENCY: dict[Period, str] = {"year": "yearly", "quarter": "quarterly"}


def statements(ticker: Any, period: Period, as_of: dt.date | None) -> tuple[Statement, ...]:
    """The statements that were public on `as_of`, newest first. Blocks."""
    columns: dict[dt.date, dict[str, float]] = {}
    for table in (ticker.get_income_stmt, ticker.get_balance_sheet, ticker.get_cash_flow):
        for day, rows in table(as_dict=True, freq=_FREQUENCY[period]).items():
            columns.setdefault(_day(day), {}).update(_figures(rows))
    made = (
        Statement(day, None, values)
        for day, values in columns.items()
        if "revenue" in values or "net_income" in values
    )
    known = [s for s in made if as_of is None or s.public <= as_of]
    return tuple(sorted(known, key=lambda s: s.period_end, reverse=True))


def present(info: Mapping[str, Any]) -> dict[str, float | str]:
    """The ratios of the present that are there."""
    found: dict[str, float | str] = {}
    for theirs, ours in NOW.items():
        value = info.get(theirs)
        if isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value)):
            found[ours] = value
    return found


def _figures(rows: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for figure, names in ROWS.items():
        for name in names:
            value = rows.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                yield figure, float(value)
                break


def _day(stamp: Any) -> dt.date:
    return stamp.date() if hasattr(stamp, "date") else dt.date.fromisoformat(str(stamp)[:10])
