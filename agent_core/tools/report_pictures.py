"""The pictures of a report: each on light paper, and on dark paper too where the report's form can choose."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from agent_core.finance.chart_theme import ThemeName
from agent_core.finance.charts import ChartRequest, draw
from agent_core.finance.comparison_chart import (
    MOST,
    ComparisonRequest,
    common_days,
    draw_comparison,
)
from agent_core.finance.indicators import WARM_UP
from agent_core.finance.portfolio_chart import Allocation, draw_allocation
from agent_core.finance.report_document import Picture
from agent_core.tools.calculated import calculated
from agent_core.tools.series import Series
from agent_core.tools.spec import ToolContext

Request = TypeVar("Request", ChartRequest, ComparisonRequest, Allocation)


async def chart(ctx: ToolContext, found: Series, *, dark: bool) -> Picture:
    """Prices of a window with averages and volume."""
    bars, shown = found.history, len(found.window)
    request = ChartRequest(
        bars=bars.rows(len(bars) - shown - WARM_UP, len(bars)),
        shown=shown,
        name=found.symbol.name,
        name_zh=found.symbol.name_zh,
        language=ctx.language,
    )
    code, window = found.symbol.id, found.window
    said = f"{code} {window.first} – {window.as_of}"
    words = (
        "收盘价、SMA20、SMA50 与成交量"
        if ctx.language == "zh"
        else "prices, SMA20, SMA50 and volume"
    )
    caption = f"{said}，{words}" if ctx.language == "zh" else f"{said}: {words}"
    return await _both(
        draw, request, safe(f"{code}-{window.first}_{window.as_of}.png"), caption, dark=dark
    )


async def comparison(ctx: ToolContext, found: Sequence[Series], *, dark: bool) -> Picture | None:
    """The ways of the first symbols in percent; None where they are one, or have no two days in common."""
    windows = [one.window for one in found[:MOST]]
    if len(windows) < 2 or len(days := common_days(windows)) < 2:
        return None
    codes = ", ".join(window.symbol for window in windows)
    caption = (
        f"{days[0]} 至 {days[-1]} 的涨跌幅：{codes}" if ctx.language == "zh"
        else f"change since {days[0]} until {days[-1]}: {codes}"
    )  # fmt: skip
    request = ComparisonRequest(tuple(windows), ctx.language)
    return await _both(draw_comparison, request, "compared.png", caption, dark=dark)


async def allocation(ctx: ToolContext, request: Allocation, *, dark: bool) -> Picture:
    """How a book is spread."""
    words = request.below_zh if ctx.language == "zh" else request.below
    caption = f"{request.total}" + (f" · {words}" if words else "")
    return await _both(draw_allocation, request, "portfolio.png", caption, dark=dark)


def safe(stem: str) -> str:
    """A file's name of letters, digits, dots, dashes and underscores only."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "_" for c in stem)


async def _both(
    how: Callable[[Request], bytes], request: Request, name: str, caption: str, *, dark: bool
) -> Picture:
    themes: tuple[ThemeName, ...] = ("light", "dark") if dark else ("light",)
    drawn = [await calculated(how, replace(request, theme=theme)) for theme in themes]
    return Picture(name, drawn[0], drawn[1] if dark else None, caption)
