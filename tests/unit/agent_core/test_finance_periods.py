"""Dates and periods as people and models write them."""

import datetime as dt
import itertools

import pytest

from agent_core.finance import periods
from agent_core.finance.chart_axis import APART, MAX_TICKS, date_ticks, price_label, volume_label
from agent_core.finance.periods import Period

DAY = dt.date.fromisoformat


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2012", "2012-01-01", "2012-12-31"),
        ("2012年", "2012-01-01", "2012-12-31"),
        ("2012-02", "2012-02-01", "2012-02-29"),
        ("2012-Q4", "2012-10-01", "2012-12-31"),
        (" 2012-03-05 ", "2012-03-05", "2012-03-05"),
        ("2012年3月5日", "2012-03-05", "2012-03-05"),
        ("2012/3/5", "2012-03-05", "2012-03-05"),
    ],
)
def test_a_period_is_its_days(text: str, start: str, end: str) -> None:
    assert periods.parse(text) == Period(DAY(start), DAY(end))


@pytest.mark.parametrize("text", ["soon", "2012-13", "2012-02-30", "0000", "12", "2012-Q5", ""])
def test_what_is_no_date_says_which_forms_are(text: str) -> None:
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        periods.parse(text)


def test_a_period_alone_is_meant_whole_and_a_day_alone_is_one_side() -> None:
    year = Period(DAY("2012-01-01"), DAY("2012-12-31"))
    assert periods.between("2012", None) == periods.between(None, "2012") == year
    assert periods.between("2010", "2012") == Period(DAY("2010-01-01"), DAY("2012-12-31"))
    assert periods.between("2012-03-05", " ") == Period(DAY("2012-03-05"), None)
    assert periods.between(None, None) == Period(None, None)
    with pytest.raises(ValueError, match="before"):
        periods.between("2012", "2011")


def test_labels_are_short_where_the_period_has_a_name() -> None:
    first, last = DAY("2012-01-03"), DAY("2012-12-31")
    assert periods.label(periods.parse("2012"), first, last) == "2012"
    assert periods.label(periods.parse("2012-Q1"), first, last) == "2012-Q1"
    assert periods.label(periods.parse("2012-03"), first, last) == "2012-03"
    assert periods.label(Period(None, None), first, last) == "2012-01-03 … 2012-12-31"


@pytest.mark.parametrize("days", [1, 2, 5, 22, 64, 130, 251, 760, 3270])
def test_date_labels_never_touch(days: int) -> None:
    dates = [DAY("2000-03-01") + dt.timedelta(days=i * 7 // 5) for i in range(days)]
    ticks, labels = date_ticks(dates, max(days, 20))
    assert 1 <= len(ticks) == len(labels) <= MAX_TICKS
    assert all(b - a >= max(days, 20) * APART for a, b in itertools.pairwise(ticks))
    assert labels[0].startswith("20")


def test_numbers_on_axes_are_short() -> None:
    assert [price_label(v) for v in (1234.0, 56.70, 0.01234, 0)] == [
        "1,234",
        "56.7",
        "0.01234",
        "0",
    ]
    assert [volume_label(v) for v in (3.4e9, 12e6, 1500, 7)] == ["3.4B", "12M", "1.5K", "7"]
