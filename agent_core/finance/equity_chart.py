"""The picture of a backtest: equity against its benchmark, and the drawdown below it; drawn as charts.py draws.

Both curves begin at 0 %, so that they can be compared. A dashed line marks where a walk-forward split lies.
"""

import datetime as dt
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agent_core.finance.chart_axis import date_ticks
from agent_core.finance.chart_dark import marked
from agent_core.finance.chart_fonts import families, has_han
from agent_core.finance.chart_theme import (
    DENSE,
    DPI,
    DRAWING,
    EDGE,
    HEIGHT,
    PANE,
    THEMES,
    TICKS,
    TITLE,
    WIDTH,
    WORDS,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME_LENGTH = 44


@dataclass(frozen=True, slots=True)
class Titles:
    """The words of a picture: what was tested (`macd(12,26,9) · GOOG`), the line below it, the benchmark's name."""

    title: str
    below: str
    against: str


@dataclass(frozen=True, slots=True)
class EquityRequest:
    """What to draw. `equity` and `benchmark` have a value for each date; `split` is the first day after a split.

    Titles are in both languages: English ones stand in where the machine cannot draw Han glyphs.
    """

    dates: tuple[dt.date, ...]
    equity: Sequence[float]
    benchmark: Sequence[float]
    en: Titles
    zh: Titles
    split: dt.date | None = None
    language: Literal["en", "zh"] = "en"
    theme: Literal["light", "dark"] = "light"


def draw_equity(request: EquityRequest) -> bytes:
    """The PNG, 1280 × 940 pixels; at least two dates. Safe to call from any thread."""
    with DRAWING:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, HEIGHT + PANE), dpi=DPI)
        FigureCanvasAgg(figure)
        _Picture(request, figure).draw()
        out = io.BytesIO()
        paper, mark = THEMES[request.theme].paper, marked(request.theme)
        figure.savefig(out, format="png", facecolor=paper, metadata=mark)
        return out.getvalue()


def growth(values: Sequence[float]) -> list[float]:
    """Each value against the first, in percent."""
    return [(value / values[0] - 1) * 100 for value in values]


def drawdowns(values: Sequence[float]) -> list[float]:
    """Each value against the highest before it, in percent, 0 or below."""
    falls, peak = [], values[0]
    for value in values:
        peak = max(peak, value)
        falls.append((value / peak - 1) * 100)
    return falls


class _Picture:
    """One figure while it is drawn."""

    def __init__(self, request: EquityRequest, figure: "Figure") -> None:
        self.request = request
        self.figure = figure
        self.theme = THEMES[request.theme]
        self.zh = request.language == "zh" and has_han()
        self.titles = request.zh if self.zh else request.en
        self.x = range(len(request.dates))

    def draw(self) -> None:
        """Lay out both panes and fill them."""
        upper, lower = self.figure.subplots(
            2, 1, sharex=True, gridspec_kw={"height_ratios": [2.6, 1.0], "hspace": 0.08}
        )
        height = self.figure.get_figheight()
        self.figure.subplots_adjust(
            left=0.02, right=0.885, top=1 - 0.66 / height, bottom=0.32 / height
        )
        for ax in (upper, lower):
            self._style(ax)
        self._equity(upper)
        self._drawdown(lower)
        self._split(upper, lower)
        self._dates(lower)
        self._title()

    def _style(self, ax: "Axes") -> None:
        theme = self.theme
        ax.set_facecolor(theme.paper)
        ax.grid(visible=True, color=theme.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.yaxis.tick_right()
        ax.tick_params(colors=theme.faint, labelsize=TICKS, length=0, pad=3)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g} %")
        for side in ("left", "top", "right"):
            ax.spines[side].set_visible(False)
        ax.spines["bottom"].set_color(theme.grid)

    def _equity(self, ax: "Axes") -> None:
        request, theme = self.request, self.theme
        width = 1.4 if len(self.x) <= DENSE else 1.0
        ax.axhline(0, color=theme.faint, linewidth=0.7)
        ax.plot(
            self.x, growth(request.benchmark), color=theme.faint, linewidth=width * 0.8,
            label=self.titles.against,
        )  # fmt: skip
        ax.plot(
            self.x, growth(request.equity), color=theme.price, linewidth=width,
            label="策略" if self.zh else "Strategy",
        )  # fmt: skip
        ax.set_xlim(-0.01 * len(self.x), 1.01 * (len(self.x) - 1))
        ax.margins(y=0.06)
        handles, labels = ax.get_legend_handles_labels()
        legend = ax.legend(
            handles[::-1], labels[::-1], loc="lower right", bbox_to_anchor=(1.0, 0.985),
            frameon=False, ncols=2, labelcolor=theme.faint, handlelength=1.3, handletextpad=0.4,
            columnspacing=1.0, borderpad=0.0, borderaxespad=0.25,
            prop={"family": families(), "size": WORDS},
        )  # fmt: skip
        legend.set_in_layout(False)

    def _drawdown(self, ax: "Axes") -> None:
        theme = self.theme
        falls = drawdowns(self.request.equity)
        ax.fill_between(self.x, falls, color=theme.down, alpha=0.3, linewidth=0)
        ax.plot(self.x, falls, color=theme.down, linewidth=0.8)
        ax.plot(self.x, drawdowns(self.request.benchmark), color=theme.faint, linewidth=0.7)
        ax.set_ylim(min(*ax.get_ylim(), -1.0), 0)
        self._caption(ax, "回撤" if self.zh else "Drawdown")

    def _split(self, *panes: "Axes") -> None:
        request = self.request
        if request.split is None:
            return
        at = request.dates.index(request.split) - 0.5
        for ax in panes:
            ax.axvline(at, color=self.theme.ink, linewidth=0.9, linestyle=(0, (4, 3)))
        near_edge = at > 0.7 * len(self.x)
        panes[0].annotate(
            "样本外" if self.zh else "out of sample",
            (at, 1.0), (-4 if near_edge else 4, -4), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="right" if near_edge else "left", va="top",
            fontsize=WORDS, color=self.theme.faint, fontfamily=families(),
            bbox={"facecolor": self.theme.paper, "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip

    def _caption(self, ax: "Axes", text: str) -> None:
        ax.text(
            0.006, 0.06, text, transform=ax.transAxes, fontsize=WORDS, color=self.theme.faint,
            va="bottom", fontfamily=families(),
            bbox={"facecolor": self.theme.paper, "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip

    def _dates(self, ax: "Axes") -> None:
        ticks, labels = date_ticks(self.request.dates, len(self.x))
        ax.set_xticks(ticks, labels)
        for tick, text in zip(ticks, ax.get_xticklabels(), strict=True):
            if tick < len(self.x) * EDGE:
                text.set_horizontalalignment("left")

    def _title(self) -> None:
        request, theme = self.request, self.theme
        change = growth(request.equity)[-1]
        color = theme.up if change >= 0 else theme.down
        name = self.titles.title
        name = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
        self._text(0.02, 0.11, name, fontsize=TITLE, weight="bold", color=theme.ink)
        self._text(
            0.98, 0.11, f"{change:+,.2f} %", fontsize=TITLE, weight="bold", color=color, ha="right"
        )
        self._text(0.02, 0.37, self.titles.below, fontsize=WORDS, color=theme.faint)

    def _text(self, x: float, inches: float, text: str, **style: Any) -> None:
        """Words that far below the upper edge."""
        y = 1 - inches / self.figure.get_figheight()
        self.figure.text(x, y, text, fontfamily=families(), va="top", **style)
