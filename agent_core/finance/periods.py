"""Periods of time as tools take them: 2012-03-15, 2012-03, 2012 or 2012-Q1; and how they are shown."""

import datetime as dt
import re
from calendar import monthrange
from dataclasses import dataclass

FORMS = "YYYY-MM-DD, YYYY-MM, YYYY-Qn or YYYY"
_FORM = re.compile(r"(\d{4})(?:-?[Qq]([1-4])|[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?)?[年月日]?")


@dataclass(frozen=True, slots=True)
class Period:
    """Days `start` to `end`, both included; None leaves a side open."""

    start: dt.date | None
    end: dt.date | None


def parse(text: str) -> Period:
    """The days that a date, month, quarter or year covers. Raises ValueError with the forms that are understood."""
    match = _FORM.fullmatch(text.strip())
    try:
        period = _covered(*(int(part or 0) for part in match.groups())) if match else None
    except ValueError:  # the 31st of a short month, month 13, year 0
        period = None
    if period is None:
        raise ValueError(f"{text!r} is not a date; use {FORMS}")
    return period


def _covered(year: int, quarter: int, month: int, day: int) -> Period:
    if day:
        single = dt.date(year, month, day)
        return Period(single, single)
    first, last = (month, month) if month else (1, 12)
    if quarter:
        first, last = quarter * 3 - 2, quarter * 3
    start = dt.date(year, first, 1)
    return Period(start, dt.date(year, last, monthrange(year, last)[1]))


def between(start: str | None, end: str | None) -> Period:
    """The period of two arguments of a tool; blank counts as None.

    A year, quarter or month without the other argument is that whole period; a day leaves the other side open.
    Raises ValueError for what is not a date, and when the end lies before the start.
    """
    first = parse(start) if start and start.strip() else None
    last = parse(end) if end and end.strip() else None
    for alone in (first if last is None else None, last if first is None else None):
        if alone is not None and alone.start != alone.end:
            return alone
    period = Period(first.start if first else None, last.end if last else None)
    if period.start and period.end and period.end < period.start:
        raise ValueError(f"the end {period.end} lies before the start {period.start}")
    return period


def label(period: Period, first: dt.date, last: dt.date) -> str:
    """A short name: 2012, 2012-Q1 or 2012-03 where the period is one, else the first and last day of the data."""
    if period.start and period.end and period.start != period.end:
        for form in (f"{period.start:%Y}", _quarter(period.start), f"{period.start:%Y-%m}"):
            if parse(form) == period:
                return form
    return str(first) if first == last else f"{first} … {last}"


def _quarter(day: dt.date) -> str:
    return f"{day:%Y}-Q{(day.month + 2) // 3}"
