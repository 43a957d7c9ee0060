"""Price charts as PNG, by matplotlib's Agg canvas: no display, no pyplot, no global state.

A chart is 1280 × 720 pixels drawn at 6.4 × 3.6 inches, so that its letters are still read on a phone; each indicator
adds a pane. Bars stand side by side without gaps for closed days. Up to CANDLES bars are candles, more are a line. Han
names are drawn where the machine has a font with Han glyphs, and left out where it has not, so there are never boxes.

matplotlib's font objects are not safe in threads: one chart is drawn at a time.
"""

import asyncio
import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agent_core.finance import indicators
from agent_core.finance.bars import Bars
from agent_core.finance.chart_axis import date_ticks, price_label, volume_label
from agent_core.finance.chart_fonts import families, has_han

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

Kind = Literal["price", "rsi", "macd", "full"]
CANDLES = 90
DENSE = 400  # bars; beyond, single bars are thinner than two pixels
FEWEST = 20  # fewer bars stand in the middle, so that a candle stays slim
EDGE = 0.06  # share of the width in which a centred label would be cut off
NAME_LENGTH = 28
DPI = 200
WIDTH, HEIGHT, PANE = 6.4, 3.6, 1.1  # inches
# Points. A phone shows the picture half as wide as it is: these stay readable there.
TITLE, WORDS, TICKS = 12.0, 9.0, 9.5

DRAWING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a chart."""

    paper: str
    ink: str
    faint: str
    grid: str
    price: str
    fast: str
    slow: str
    up: str
    down: str


THEMES = {
    "light": Theme(
        paper="#ffffff", ink="#1f2933", faint="#616e7c", grid="#e4e7eb",
        price="#1d4ed8", fast="#d97706", slow="#7c3aed", up="#15803d", down="#c81e1e",
    ),
    "dark": Theme(
        paper="#12161c", ink="#e6e9ed", faint="#9aa5b1", grid="#2a323c",
        price="#6ea8fe", fast="#fbbf24", slow="#c4a1ff", up="#4ade80", down="#f87171",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """What to draw: the last `shown` of `bars`; those before them only feed the averages."""

    bars: Bars
    shown: int
    name: str
    name_zh: str
    language: Literal["en", "zh"] = "en"
    kind: Kind = "price"
    theme: Literal["light", "dark"] = "light"


async def render(request: ChartRequest) -> bytes:
    """The PNG. Takes about 0.3 s in a thread (1 s more the first time); cancelling leaves that thread to finish."""
    return await asyncio.to_thread(draw, request)


def draw(request: ChartRequest) -> bytes:
    """The PNG, drawn here and now; safe to call from any thread."""
    with DRAWING:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        panes = _panes(request.kind)
        figure = Figure(figsize=(WIDTH, HEIGHT + PANE * len(panes)), dpi=DPI)
        FigureCanvasAgg(figure)
        _Chart(request, figure).draw(panes)
        out = io.BytesIO()
        figure.savefig(out, format="png", facecolor=THEMES[request.theme].paper)
        return out.getvalue()


def _panes(kind: Kind) -> tuple[str, ...]:
    if kind == "price":
        return ()
    return ("rsi", "macd") if kind == "full" else (kind,)


class _Chart:
    """One figure while it is drawn."""

    def __init__(self, request: ChartRequest, figure: "Figure") -> None:
        self.request = request
        self.figure = figure
        self.theme = THEMES[request.theme]
        self.from_ = len(request.bars) - request.shown
        self.bars = request.bars.rows(self.from_, len(request.bars))
        self.zh = request.language == "zh" and has_han()
        self.x = range(len(self.bars))
        self.width = max(len(self.bars), FEWEST)
        self.pad = (self.width - len(self.bars)) / 2

    def draw(self, panes: Sequence[str]) -> None:
        """Lay out the panes and fill them."""
        ratios = [3.0, 0.85] + [1.15] * len(panes)
        axes = self.figure.subplots(
            len(ratios), 1, sharex=True, squeeze=False,
            gridspec_kw={"height_ratios": ratios, "hspace": 0.08},
        )[:, 0]  # fmt: skip
        top = 1 - 0.66 / self.figure.get_figheight()
        bottom = 0.32 / self.figure.get_figheight()
        self.figure.subplots_adjust(left=0.02, right=0.88, top=top, bottom=bottom)
        for ax in axes:
            self._style(ax)
        self._price(axes[0])
        self._volume(axes[1])
        for ax, pane in zip(axes[2:], panes, strict=True):
            (self._rsi if pane == "rsi" else self._macd)(ax)
        self._dates(axes[-1])
        self._title()

    def _style(self, ax: "Axes") -> None:
        theme = self.theme
        ax.set_facecolor(theme.paper)
        ax.grid(visible=True, color=theme.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.yaxis.tick_right()
        ax.tick_params(colors=theme.faint, labelsize=TICKS, length=0, pad=3)
        for text in ax.get_yticklabels():
            text.set_fontfamily(families())
        for side in ("left", "top", "right"):
            ax.spines[side].set_visible(False)
        ax.spines["bottom"].set_color(theme.grid)

    def _title(self) -> None:
        request, theme, bars = self.request, self.theme, self.bars
        change = (bars.close[-1] / bars.close[0] - 1) * 100
        name = request.name_zh if self.zh else request.name
        name = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
        shown = bars.symbol if name == bars.symbol else f"{bars.symbol}  {name}"
        daily, source = ("日线", "来源") if self.zh else ("daily", "source")
        below = f"{bars.first} – {bars.as_of}, {daily}, {source}: {bars.source}"
        figures = f"{price_label(bars.close[-1])} {bars.currency}  {change:+.2f} %"
        color = theme.up if change >= 0 else theme.down
        self._text(0.02, 0.11, shown, fontsize=TITLE, weight="bold", color=theme.ink)
        self._text(0.98, 0.11, figures, fontsize=TITLE, weight="bold", color=color, ha="right")
        self._text(0.02, 0.37, below, fontsize=WORDS, color=theme.faint)

    def _text(self, x: float, inches: float, text: str, **style: Any) -> None:
        """Words that far below the upper edge."""
        y = 1 - inches / self.figure.get_figheight()
        self.figure.text(x, y, text, fontfamily=families(), va="top", **style)

    def _price(self, ax: "Axes") -> None:
        theme, close = self.theme, self.bars.close
        if len(self.bars) <= CANDLES:
            self._candles(ax)
        else:
            width = 1.3 if len(close) <= DENSE else 0.9
            ax.plot(
                self.x,
                close,
                color=theme.price,
                linewidth=width,
                label="收盘价" if self.zh else "Close",
            )
        for period, color in ((20, theme.fast), (50, theme.slow)):
            line = indicators.sma(self.request.bars.close, period)[self.from_ :]
            self._line(ax, line, color, f"SMA{period}")
        ax.set_xlim(-0.8 - self.pad, len(self.bars) + self.pad + self.width * 0.01 - 0.2)
        ax.margins(y=0.06)
        ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        ax.yaxis.set_major_formatter(lambda value, _: price_label(value))
        if ax.get_legend_handles_labels()[0]:
            self._legend(ax)

    def _candles(self, ax: "Axes") -> None:
        bars, theme = self.bars, self.theme
        colors = self._colors()
        ax.vlines(self.x, bars.low, bars.high, colors=colors, linewidth=0.9)
        bodies = [abs(c - o) for o, c in zip(bars.open, bars.close, strict=True)]
        floor = (max(bars.high) - min(bars.low)) * 0.002  # a doji stays visible
        lows = [min(o, c) for o, c in zip(bars.open, bars.close, strict=True)]
        ax.bar(
            self.x, [max(body, floor) for body in bodies], bottom=lows, width=0.66,
            color=colors, edgecolor=theme.paper, linewidth=0,
        )  # fmt: skip

    def _volume(self, ax: "Axes") -> None:
        if len(self.bars) <= DENSE:
            ax.bar(
                self.x, self.bars.volume, width=0.72, color=self._colors(), alpha=0.55, linewidth=0
            )
        else:
            ax.fill_between(
                self.x,
                self.bars.volume,
                step="mid",
                color=self.theme.faint,
                alpha=0.55,
                linewidth=0,
            )
        ax.set_ylim(0, max(max(self.bars.volume) * 1.1, 1))
        ax.yaxis.set_major_locator(self._few_ticks(2))
        ax.yaxis.set_major_formatter(lambda value, _: volume_label(value))
        self._caption(ax, "成交量" if self.zh else "Volume")

    def _rsi(self, ax: "Axes") -> None:
        values = indicators.rsi(self.request.bars.close)[self.from_ :]
        self._line(ax, values, self.theme.price, "RSI 14")
        for level in (30, 70):
            ax.axhline(level, color=self.theme.faint, linewidth=0.7, linestyle=(0, (4, 3)))
        ax.set_ylim(0, 100)
        ax.set_yticks([30, 50, 70])
        self._caption(ax, "RSI 14")

    def _macd(self, ax: "Axes") -> None:
        values, theme = indicators.macd(self.request.bars.close), self.theme
        histogram = [value or 0.0 for value in values.histogram[self.from_ :]]
        colors = [theme.up if value >= 0 else theme.down for value in histogram]
        ax.bar(self.x, histogram, width=0.72, color=colors, alpha=0.45, linewidth=0)
        self._line(ax, values.line[self.from_ :], theme.price, "MACD")
        self._line(ax, values.signal[self.from_ :], theme.fast, "Signal")
        ax.axhline(0, color=theme.faint, linewidth=0.6)
        ax.yaxis.set_major_locator(self._few_ticks(3))
        self._caption(ax, "MACD 12/26/9")

    def _line(self, ax: "Axes", values: Sequence[float | None], color: str, label: str) -> None:
        if any(value is not None for value in values):
            numbers = [float("nan") if value is None else value for value in values]
            width = 1.1 if len(numbers) <= DENSE else 0.8
            ax.plot(self.x, numbers, color=color, linewidth=width, label=label)

    def _legend(self, ax: "Axes") -> None:
        """Above the pane, at the right: it never hides a price."""
        legend = ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 0.985), frameon=False, ncols=3,
            labelcolor=self.theme.faint, handlelength=1.3, handletextpad=0.4, columnspacing=1.0,
            borderpad=0.0, borderaxespad=0.25, prop={"family": families(), "size": WORDS},
        )  # fmt: skip
        legend.set_in_layout(False)

    def _caption(self, ax: "Axes", text: str) -> None:
        ax.text(
            0.006, 0.94, text, transform=ax.transAxes, fontsize=WORDS, color=self.theme.faint,
            va="top", fontfamily=families(),
            bbox={"facecolor": self.theme.paper, "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip

    def _dates(self, ax: "Axes") -> None:
        ticks, labels = date_ticks(self.bars.dates, self.width)
        ax.set_xticks(ticks, labels)
        for tick, text in zip(ticks, ax.get_xticklabels(), strict=True):
            if tick + self.pad < self.width * EDGE:
                text.set_horizontalalignment("left")

    def _colors(self) -> list[str]:
        pairs = zip(self.bars.open, self.bars.close, strict=True)
        return [self.theme.up if c >= o else self.theme.down for o, c in pairs]

    @staticmethod
    def _few_ticks(count: int) -> "MaxNLocator":
        from matplotlib.ticker import MaxNLocator

        return MaxNLocator(count, min_n_ticks=2)
