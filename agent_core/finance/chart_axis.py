"""Words on a chart's axes: dates under bars that stand side by side, prices, volumes."""

import datetime as dt
from collections.abc import Callable, Sequence

from agent_core.finance.chart_theme import EDGE

MAX_TICKS = 6
APART = 0.15  # of the width: a label of ten characters and some air

_Step = tuple[Callable[[dt.date], object], str]


def date_ticks(dates: Sequence[dt.date], width: float) -> tuple[list[int], list[str]]:
    """Positions and labels, at most six and never touching: where a day, week, month, quarter or year begins.

    `width` is the width of the axis in bars. Where labels show month and day, the first of each year has the year too.
    """
    starts: list[int] = []
    form = ""
    for key, form in _STEPS:  # noqa: B007 - the step that fits is used below
        starts = [i for i in range(1, len(dates)) if key(dates[i]) != key(dates[i - 1])]
        if len(starts) <= MAX_TICKS:
            break
    else:
        starts = starts[:: -(-len(starts) // MAX_TICKS)]
    starts = [0, *starts] if not starts or starts[0] > width * APART else starts
    if len(starts) < 2:
        starts, form = sorted({0, len(dates) - 1}), "%Y-%m-%d"
    starts = _spread(starts, width * APART, width * EDGE)
    return starts, _labels([dates[i] for i in starts], form)


def price_label(value: float) -> str:
    """1,234 or 56.7 or 0.0123."""
    if abs(value) >= 1000:
        return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
    if abs(value) >= 1 or value == 0:
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{value:.4g}"


def volume_label(value: float) -> str:
    """12M, 3.4B."""
    for limit, letter in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.0f}"


def _spread(ascending: list[int], apart: float, edge: float) -> list[int]:
    """Those that stand far enough from each other. A first label at the edge goes to the right of its place."""
    kept = ascending[:1]
    for position in ascending[1:]:
        at_edge = len(kept) == 1 and kept[0] < edge
        if position - kept[-1] >= apart * (1.3 if at_edge else 1):
            kept.append(position)
    return kept


def _labels(days: list[dt.date], form: str) -> list[str]:
    labels: list[str] = []
    year = 0
    for day in days:
        new_year = day.year != year and form == "%m-%d"
        labels.append(str(day) if new_year else f"{day:{form}}")
        year = day.year
    return labels


_STEPS: tuple[_Step, ...] = (
    (lambda d: d, "%m-%d"),
    (lambda d: d.isocalendar()[:2], "%m-%d"),
    (lambda d: (d.year, d.month), "%Y-%m"),
    (lambda d: (d.year, (d.month - 1) // 2), "%Y-%m"),
    (lambda d: (d.year, (d.month - 1) // 3), "%Y-%m"),
    (lambda d: (d.year, (d.month - 1) // 6), "%Y-%m"),
    (lambda d: d.year, "%Y"),
)
