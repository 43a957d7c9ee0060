"""Several symbols in one picture: how far each has gone, in percent since the first day that all have a close.

A currency, where symbols have different ones, is each symbol's own: the caller converts or says so.
"""

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from agent_core.finance.bars import Bars
from agent_core.finance.chart_fonts import families, has_han
from agent_core.finance.chart_frame import Frame
from agent_core.finance.chart_theme import DENSE, DRAWING, HEIGHT, TITLE, WORDS, ThemeName

MOST = 6  # lines that are told apart
NAME_LENGTH = 44
NEAR = 0.055  # of the pane's height: names at the right edge stand at least so far apart


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What to draw: 2 to 6 series with at least two days in common."""

    series: tuple[Bars, ...]
    language: Literal["en", "zh"] = "en"
    theme: ThemeName = "light"


async def render_comparison(request: ComparisonRequest) -> bytes:
    """The PNG, 1280 × 720; in a thread, which cancelling leaves to finish."""
    return await asyncio.to_thread(draw_comparison, request)


def common_days(series: Sequence[Bars]) -> list[dt.date]:
    """The days on which all series have a close, in order."""
    shared = set(series[0].dates)
    for bars in series[1:]:
        shared &= set(bars.dates)
    return sorted(shared)


def growth_pct(bars: Bars, days: Sequence[dt.date]) -> list[float]:
    """Change of the close on each of the days since the first of them, in percent."""
    close = dict(zip(bars.dates, bars.close, strict=True))
    return [(close[day] / close[days[0]] - 1) * 100 for day in days]


def draw_comparison(request: ComparisonRequest) -> bytes:
    """The PNG, drawn here and now; safe to call from any thread. Raises ValueError where no two days are common."""
    days = common_days(request.series)
    if len(days) < 2:
        raise ValueError("the series have no two days in common")
    with DRAWING:
        frame = Frame(request.theme, HEIGHT)
        _draw(frame, request, days)
        return frame.png()


def _draw(frame: Frame, request: ComparisonRequest, days: Sequence[dt.date]) -> None:
    zh = request.language == "zh" and has_han()
    theme = frame.theme
    (ax,) = frame.panes([1.0], right=0.855)
    width = 1.5 if len(days) <= DENSE else 1.0
    lines = [growth_pct(bars, days) for bars in request.series]
    for line, color in zip(lines, theme.lines, strict=False):
        ax.plot(range(len(days)), line, color=color, linewidth=width)
    ax.plot((0, len(days) - 1), (0, 0), color=theme.faint, linewidth=0.7)
    ax.set_xlim(-0.01 * len(days), (len(days) - 1) * 1.16)
    ax.margins(y=0.06)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:+,.4g} %" if value else "0 %")
    bottom, top = ax.get_ylim()
    places = spread([line[-1] for line in lines], (top - bottom) * NEAR)
    for bars, place, color in zip(request.series, places, theme.lines, strict=False):
        ax.text(
            (len(days) - 1) * 1.012, place, bars.symbol, color=color, fontsize=WORDS, va="center",
            weight="bold", fontfamily=families(),
            bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
    frame.dates(ax, days, len(days))
    _title(frame, request, days, zh)


def spread(values: Sequence[float], apart: float) -> list[float]:
    """Places as near to the values as names allow that stand `apart` from each other; in the order of the values."""
    order = sorted(range(len(values)), key=values.__getitem__)
    places = list(values)
    for before, index in pairwise(order):
        places[index] = max(places[index], places[before] + apart)
    return places


def _title(frame: Frame, request: ComparisonRequest, days: Sequence[dt.date], zh: bool) -> None:
    theme = frame.theme
    name = " · ".join(bars.symbol for bars in request.series)
    name = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
    sources = ", ".join(dict.fromkeys(bars.source for bars in request.series))
    currencies = ", ".join(dict.fromkeys(bars.currency for bars in request.series))
    what, source = ("涨跌幅", "来源") if zh else ("change", "source")
    below = f"{days[0]} – {days[-1]}, {what}, {currencies}, {source}: {sources}"
    frame.text(0.02, 0.11, name, fontsize=TITLE, weight="bold", color=theme.ink)
    frame.text(0.02, 0.37, below, fontsize=WORDS, color=theme.faint)
