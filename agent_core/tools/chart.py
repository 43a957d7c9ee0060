"""chart: a picture of one symbol's prices, for the person; the model gets a note of what it shows."""

from typing import Literal

from agent_core.finance import charts
from agent_core.finance.charts import ChartRequest, Kind
from agent_core.finance.indicators import WARM_UP
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import change_pct
from agent_core.tools import series
from agent_core.tools.series import Series, dump, percent, price, signed
from agent_core.tools.spec import Artifact, ToolContext, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["objective fact"] = "objective fact"
MEDIA_TYPE = "image/png"


def chart_tools(sources: Sources) -> list[ToolSpec]:
    """The tools of this file, on these sources."""

    @tool(title={"en": "Chart", "zh": "图表"}, timeout=60)
    async def chart(
        ctx: ToolContext,
        symbol: str,
        start: str | None = None,
        end: str | None = None,
        kind: Kind = "price",
        theme: Literal["light", "dark"] = "light",
    ) -> ToolOutput:
        """Draw a chart and show it to the person: price with SMA20 and SMA50, and volume.

        The picture is sent to the person together with your answer; you see only this note. Without dates: the last
        12 months.

        Args:
            symbol: Code or name in English or Chinese, such as GOOG or 谷歌.
            start: First day, YYYY-MM-DD. A year, quarter or month alone (2012, 2012-Q1, 2012-03) is that whole period.
            end: Last day, YYYY-MM-DD, or a year or month, which is taken to its end.
            kind: price; or rsi, macd or full to add these indicators below.
            theme: Colours of the picture.
        """
        found = await series.load(sources, ctx, symbol, start, end)
        picture = await charts.render(_request(ctx, found, kind, theme))
        bars = found.window
        name = _file_name(found, kind)
        caption = _caption(ctx, found)
        fields = found.head(CREDIBILITY) | {
            "kind": kind,
            "artifact": name,
            "first_close": price(bars.close[0]),
            "last_close": price(bars.close[-1]),
            "change_pct": percent(change_pct(bars.close[0], bars.close[-1])),
            "note": "; ".join(
                filter(None, [f"the chart {name} is shown to the person", found.note])
            ),
        }
        shown = Artifact(name, MEDIA_TYPE, picture, caption)
        return ToolOutput(dump(fields), _line(ctx, found), (shown,))

    return [chart]


def _request(
    ctx: ToolContext, found: Series, kind: Kind, theme: Literal["light", "dark"]
) -> ChartRequest:
    length = len(found.window)
    begin = max(0, len(found.history) - length - WARM_UP)
    history = found.history.rows(begin, len(found.history))
    return ChartRequest(
        bars=history,
        shown=length,
        name=found.symbol.name,
        name_zh=found.symbol.name_zh,
        language=ctx.language,
        kind=kind,
        theme=theme,
    )


def _file_name(found: Series, kind: Kind) -> str:
    """Letters, digits, dots, dashes and underscores only: GOOG-2012.png, GOOG-2012-01-03_2012-03-30-rsi.png."""
    period = found.label.replace(" … ", "_")
    stem = f"{found.symbol.id}-{period}" + ("" if kind == "price" else f"-{kind}")
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "_" for c in stem) + ".png"


def _caption(ctx: ToolContext, found: Series) -> str:
    bars = found.window
    head = f"{found.symbol.id} {bars.first} … {bars.as_of}"
    if ctx.language == "zh":
        return f"{head}，日线，{bars.currency}，来源：{bars.source}"
    return f"{head}, daily, {bars.currency}, source: {bars.source}"


def _line(ctx: ToolContext, found: Series) -> str:
    bars = found.window
    change = signed(change_pct(bars.close[0], bars.close[-1]))
    word = "走势图" if ctx.language == "zh" else "chart"
    return f"{found.name(ctx.language)} {found.label}: {change}, {word}"
