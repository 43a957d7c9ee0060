"""The allocation of a book as a PNG: a bar for each position, the largest first, cash last; by matplotlib's Agg canvas.

The picture is as wide as a price chart and as high as it has bars. Beyond MOST positions the smallest are one bar. Bars
are coloured by their gain; a position whose gain is not known is neither.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agent_core.finance.chart_dark import marked
from agent_core.finance.chart_fonts import families, has_han
from agent_core.finance.chart_theme import (
    DPI,
    DRAWING,
    THEMES,
    TICKS,
    TITLE,
    WIDTH,
    WORDS,
    Theme,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 10
BAR, HEAD, FOOT = 0.32, 0.7, 0.16  # inches
LABEL_CHARS = 18


@dataclass(frozen=True, slots=True)
class Part:
    """A bar: its share of the book in percent, and its gain in percent. `name_zh` may be drawn instead of `name`."""

    name: str
    name_zh: str
    share: float
    gain_pct: float | None = None
    is_cash: bool = False


@dataclass(frozen=True, slots=True)
class Allocation:
    """What to draw: `parts` in any order, and a line of words below the title, in both languages."""

    parts: Sequence[Part]
    total: str
    below: str
    below_zh: str
    language: Literal["en", "zh"] = "en"
    theme: Literal["light", "dark"] = "light"


def draw_allocation(request: Allocation) -> bytes:
    """The PNG; at least one part. Safe to call from any thread."""
    with DRAWING:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        bars = _bars(request.parts)
        figure = Figure(figsize=(WIDTH, HEAD + FOOT + BAR * max(len(bars), 3)), dpi=DPI)
        FigureCanvasAgg(figure)
        _draw(request, bars, figure)
        out = io.BytesIO()
        paper, mark = THEMES[request.theme].paper, marked(request.theme)
        figure.savefig(out, format="png", facecolor=paper, metadata=mark)
        return out.getvalue()


def _bars(parts: Sequence[Part]) -> list[Part]:
    """The largest positions, the others as one, then the cash."""
    held = sorted((p for p in parts if not p.is_cash), key=lambda p: p.share, reverse=True)
    rest = held[MOST:]
    if len(rest) > 1:
        count = len(rest)
        held = [
            *held[:MOST],
            Part(f"{count} others", f"其他 {count} 项", sum(p.share for p in rest)),
        ]
    return [*held, *(p for p in parts if p.is_cash)]


def _draw(request: Allocation, bars: Sequence[Part], figure: "Figure") -> None:
    theme = THEMES[request.theme]
    zh = request.language == "zh" and has_han()
    height = figure.get_figheight()
    ax = figure.add_axes((0.27, FOOT / height, 0.5, 1 - (HEAD + FOOT) / height))
    _style(ax, theme)
    rows = range(len(bars))
    ax.barh(
        rows,
        [p.share for p in bars],
        height=0.62,
        color=[_color(p, theme) for p in bars],
        linewidth=0,
    )
    ax.set_yticks(list(rows), [_clip(p.name_zh if zh else p.name) for p in bars])
    for text in ax.get_yticklabels():
        text.set_fontfamily(families())
    ax.set_ylim(max(len(bars), 3) - 0.5, -0.5)
    ax.set_xlim(min(0.0, *(p.share for p in bars)), max(*(p.share for p in bars), 1.0))
    for row, part in enumerate(bars):
        gain = "" if part.gain_pct is None else f"{part.gain_pct:+.1f} %"
        shown = f"{part.share:.1f} %"
        ax.annotate(
            shown, (part.share, row), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=TICKS, color=theme.ink,
        )  # fmt: skip
        ax.text(
            1.43, row, gain, transform=ax.get_yaxis_transform(), va="center", ha="right",
            fontsize=TICKS, color=_color(part, theme),
        )  # fmt: skip
    _title(request, figure, theme, zh=zh)


def _style(ax: "Axes", theme: Theme) -> None:
    ax.set_facecolor(theme.paper)
    ax.tick_params(colors=theme.ink, labelsize=TICKS, length=0, pad=4)
    ax.xaxis.set_visible(False)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.spines["left"].set_color(theme.grid)


def _title(request: Allocation, figure: "Figure", theme: Theme, *, zh: bool) -> None:
    height = figure.get_figheight()
    title, head = ("持仓分布", "盈亏") if zh else ("Allocation", "Gain")
    style: dict[str, Any] = {"fontfamily": families(), "va": "top"}
    y = 1 - 0.11 / height
    figure.text(0.02, y, title, fontsize=TITLE, weight="bold", color=theme.ink, **style)
    figure.text(
        0.98, y, request.total, fontsize=TITLE, weight="bold", color=theme.ink, ha="right", **style
    )
    y = 1 - 0.37 / height
    below = request.below_zh if zh else request.below
    figure.text(0.02, y, below, fontsize=WORDS, color=theme.faint, **style)
    figure.text(0.985, y, head, fontsize=WORDS, color=theme.faint, ha="right", **style)


def _color(part: Part, theme: Theme) -> str:
    if part.is_cash or part.gain_pct is None:
        return theme.faint
    return theme.up if part.gain_pct >= 0 else theme.down


def _clip(name: str) -> str:
    return name if len(name) <= LABEL_CHARS else name[: LABEL_CHARS - 1] + "…"
