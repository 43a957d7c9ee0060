"""Price charts as PNG, by matplotlib's Agg canvas: no display, no pyplot, no global state.

A chart is 1280 × 720 pixels drawn at 6.4 × 3.6 inches, so that its letters are still read on a phone; each indicator
adds a pane. Bars stand side by side without gaps for closed days. Up to CANDLES bars are candles, more are a line. Han
names are drawn where the machine has a font with Han glyphs, and left out where it has not, so there are never boxes.

Over the prices stand the overlays of chart_overlays.py. One chart is drawn at a time.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent_core.finance import indicators
from agent_core.finance.bars import Bars
from agent_core.finance.chart_axis import price_label, volume_label
from agent_core.finance.chart_fonts import has_han
from agent_core.finance.chart_frame import Frame, few_ticks
from agent_core.finance.chart_overlays import DEFAULT, Overlay, overlays
from agent_core.finance.chart_theme import DENSE, DRAWING, HEIGHT, PANE, TITLE, WORDS, ThemeName
from agent_core.finance.readings import Asked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["price", "rsi", "macd", "full"]
CANDLES = 90
FEWEST = 20  # fewer bars stand in the middle, so that a candle stays slim
NAME_LENGTH = 28


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """What to draw: the last `shown` of `bars`; those before them only feed the averages."""

    bars: Bars
    shown: int
    name: str
    name_zh: str
    language: Literal["en", "zh"] = "en"
    kind: Kind = "price"
    theme: ThemeName = "light"
    overlays: tuple[Asked, ...] = DEFAULT


async def render(request: ChartRequest) -> bytes:
    """The PNG. Takes about 0.3 s in a thread (1 s more the first time); cancelling leaves that thread to finish."""
    return await asyncio.to_thread(draw, request)


def draw(request: ChartRequest) -> bytes:
    """The PNG, drawn here and now; safe to call from any thread."""
    with DRAWING:
        panes = _panes(request.kind)
        frame = Frame(request.theme, HEIGHT + PANE * len(panes))
        _Chart(request, frame).draw(panes)
        return frame.png()


def _panes(kind: Kind) -> tuple[str, ...]:
    if kind == "price":
        return ()
    return ("rsi", "macd") if kind == "full" else (kind,)


class _Chart:
    """One chart while it is drawn."""

    def __init__(self, request: ChartRequest, frame: Frame) -> None:
        self.request = request
        self.frame = frame
        self.theme = frame.theme
        self.from_ = len(request.bars) - request.shown
        self.bars = request.bars.rows(self.from_, len(request.bars))
        self.zh = request.language == "zh" and has_han()
        self.x = range(len(self.bars))
        self.width = max(len(self.bars), FEWEST)
        self.pad = (self.width - len(self.bars)) / 2

    def draw(self, panes: Sequence[str]) -> None:
        """Lay out the panes and fill them."""
        axes = self.frame.panes([3.0, 0.85] + [1.15] * len(panes))
        self._price(axes[0])
        self._volume(axes[1])
        for ax, pane in zip(axes[2:], panes, strict=True):
            (self._rsi if pane == "rsi" else self._macd)(ax)
        self.frame.dates(axes[-1], self.bars.dates, self.width, self.pad)
        self._title()

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
        self.frame.text(0.02, 0.11, shown, fontsize=TITLE, weight="bold", color=theme.ink)
        self.frame.text(0.98, 0.11, figures, fontsize=TITLE, weight="bold", color=color, ha="right")
        self.frame.text(0.02, 0.37, below, fontsize=WORDS, color=theme.faint)

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
        drawn = overlays(self.request.overlays, self.request.bars, len(self.bars))
        for overlay, color in zip(drawn, theme.lines[1:], strict=False):
            self._overlay(ax, overlay, color)
        ax.set_xlim(-0.8 - self.pad, len(self.bars) + self.pad + self.width * 0.01 - 0.2)
        ax.margins(y=0.06)
        ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        ax.yaxis.set_major_formatter(lambda value, _: price_label(value))
        self.frame.legend(ax, ncols=3 if len(drawn) < 4 else 5)

    def _overlay(self, ax: "Axes", overlay: Overlay, color: str) -> None:
        self._line(ax, overlay.line, color, overlay.label)
        if overlay.lower is None or all(value is None for value in overlay.lower):
            return
        self._line(ax, overlay.lower, color, "_nolegend_")
        upper, lower = _drawable(overlay.line), _drawable(overlay.lower)
        ax.fill_between(self.x, upper, lower, color=color, alpha=0.09, linewidth=0)

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
        ax.yaxis.set_major_locator(few_ticks(2))
        ax.yaxis.set_major_formatter(lambda value, _: volume_label(value))
        self.frame.caption(ax, "成交量" if self.zh else "Volume")

    def _rsi(self, ax: "Axes") -> None:
        values = indicators.rsi(self.request.bars.close)[self.from_ :]
        self._line(ax, values, self.theme.price, "RSI 14")
        for level in (30, 70):
            ax.axhline(level, color=self.theme.faint, linewidth=0.7, linestyle=(0, (4, 3)))
        ax.set_ylim(0, 100)
        ax.set_yticks([30, 50, 70])
        self.frame.caption(ax, "RSI 14")

    def _macd(self, ax: "Axes") -> None:
        values, theme = indicators.macd(self.request.bars.close), self.theme
        histogram = [value or 0.0 for value in values.histogram[self.from_ :]]
        colors = [theme.up if value >= 0 else theme.down for value in histogram]
        ax.bar(self.x, histogram, width=0.72, color=colors, alpha=0.45, linewidth=0)
        self._line(ax, values.line[self.from_ :], theme.price, "MACD")
        self._line(ax, values.signal[self.from_ :], theme.fast, "Signal")
        ax.axhline(0, color=theme.faint, linewidth=0.6)
        ax.yaxis.set_major_locator(few_ticks(3))
        self.frame.caption(ax, "MACD 12/26/9")

    def _line(self, ax: "Axes", values: Sequence[float | None], color: str, label: str) -> None:
        if any(value is not None for value in values):
            numbers = _drawable(values)
            width = 1.1 if len(numbers) <= DENSE else 0.8
            ax.plot(self.x, numbers, color=color, linewidth=width, label=label)

    def _colors(self) -> list[str]:
        pairs = zip(self.bars.open, self.bars.close, strict=True)
        return [self.theme.up if c >= o else self.theme.down for o, c in pairs]


def _drawable(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
