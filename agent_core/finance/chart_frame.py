"""The frame of a chart: a figure with styled panes, words at its upper edge, captions, a legend, dates below."""

import datetime as dt
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agent_core.finance.chart_axis import date_ticks
from agent_core.finance.chart_dark import marked
from agent_core.finance.chart_fonts import families
from agent_core.finance.chart_theme import DPI, EDGE, THEMES, TICKS, WIDTH, WORDS, ThemeName

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator


class Frame:
    """One figure while it is drawn. Make and use it under DRAWING only."""

    def __init__(self, theme: ThemeName, height: float) -> None:
        """`height` is in inches."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.theme = THEMES[theme]
        self._mark = marked(theme)
        self.figure = Figure(figsize=(WIDTH, height), dpi=DPI)
        FigureCanvasAgg(self.figure)

    def panes(self, ratios: Sequence[float], right: float = 0.88) -> list["Axes"]:
        """Panes below each other with these shares of the height; `right` is where they end, for the labels."""
        axes = self.figure.subplots(
            len(ratios), 1, sharex=True, squeeze=False,
            gridspec_kw={"height_ratios": list(ratios), "hspace": 0.08},
        )[:, 0]  # fmt: skip
        height = self.figure.get_figheight()
        self.figure.subplots_adjust(
            left=0.02, right=right, top=1 - 0.66 / height, bottom=0.32 / height
        )
        for ax in axes:
            self._style(ax)
        return list(axes)

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

    def text(self, x: float, inches: float, text: str, **style: Any) -> None:
        """Words that far below the upper edge; x is 0..1."""
        y = 1 - inches / self.figure.get_figheight()
        self.figure.text(x, y, text, fontfamily=families(), va="top", **style)

    def caption(self, ax: "Axes", text: str) -> None:
        """What a pane shows, in its upper left corner."""
        ax.text(
            0.006, 0.94, text, transform=ax.transAxes, fontsize=WORDS, color=self.theme.faint,
            va="top", fontfamily=families(),
            bbox={"facecolor": self.theme.paper, "alpha": 0.85, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip

    def legend(self, ax: "Axes", ncols: int = 3) -> None:
        """Above the pane, at the right: it never hides a price. Nothing where no line has a label."""
        if not ax.get_legend_handles_labels()[0]:
            return
        legend = ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 0.985), frameon=False, ncols=ncols,
            labelcolor=self.theme.faint, handlelength=1.3, handletextpad=0.4, columnspacing=1.0,
            borderpad=0.0, borderaxespad=0.25, prop={"family": families(), "size": WORDS},
        )  # fmt: skip
        legend.set_in_layout(False)

    def dates(self, ax: "Axes", dates: Sequence[dt.date], width: float, pad: float = 0.0) -> None:
        """Dates below the last pane; `width` is that of the axis in bars, `pad` what is left free before the first."""
        ticks, labels = date_ticks(dates, width)
        ax.set_xticks(ticks, labels)
        for tick, text in zip(ticks, ax.get_xticklabels(), strict=True):
            if tick + pad < width * EDGE:
                text.set_horizontalalignment("left")

    def png(self) -> bytes:
        """The picture."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", facecolor=self.theme.paper, metadata=self._mark)
        return out.getvalue()


def few_ticks(count: int) -> "MaxNLocator":
    """At most about `count` ticks, two at least."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count, min_n_ticks=2)
