"""chart: a picture of a symbol's prices, or of several symbols' ways, for the person; the model gets a note of it."""

from typing import Literal

from agent_core.finance import chart_overlays, charts
from agent_core.finance.bars import Bars
from agent_core.finance.chart_overlays import DEFAULT
from agent_core.finance.charts import ChartRequest, Kind
from agent_core.finance.comparison_chart import (
    MOST,
    ComparisonRequest,
    common_days,
    growth_pct,
    render_comparison,
)
from agent_core.finance.fx import Rates
from agent_core.finance.indicators import WARM_UP
from agent_core.finance.readings import Asked
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import change_pct
from agent_core.tools import answers, series, several
from agent_core.tools.series import Series, dump, percent, price, signed
from agent_core.tools.several import Several
from agent_core.tools.spec import Artifact, ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["objective fact"] = "objective fact"
MEDIA_TYPE = "image/png"
ThemeName = Literal["light", "dark"]


def chart_tools(sources: Sources, rates: Rates | None = None) -> list[ToolSpec]:
    """The tools of this file, on these sources. `rates` is made when it is not given."""
    exchange = rates or Rates()

    @tool(title={"en": "Chart", "zh": "图表"}, timeout=60, output=answers.Drawn)
    async def chart(
        ctx: ToolContext,
        symbol: str,
        start: str | None = None,
        end: str | None = None,
        kind: Kind = "price",
        theme: ThemeName = "light",
        overlays: list[str] | None = None,
        compare: list[str] | None = None,
        currency: str | None = None,
    ) -> ToolOutput:
        """Draw a chart for the person: prices with lines and volume, or several symbols compared.

        It comes with your answer; you see a note. Without dates: the last 12 months.

        Args:
            symbol: Code or name.
            start: YYYY-MM-DD, or a year, quarter or month (2012-Q1).
            end: Likewise.
            kind: Which indicators to add below; full has both.
            overlays: Up to 4 of sma, ema, boll, donchian, vwap, with a period: ema20.
            compare: Up to 5 further symbols: draws changes in percent instead.
            currency: Convert prices into this one (ISO code).
        """
        if compare and (overlays is not None or kind != "price"):
            raise ToolFailure(
                "`kind` and `overlays` are for one symbol; leave them out with `compare`"
            )
        if compare:
            wanted = [symbol, *compare]
            return await _comparison(sources, exchange, ctx, wanted, start, end, theme, currency)
        lines = _overlays(overlays)
        found = await series.load(sources, ctx, symbol, start, end)
        history = await several.converted(exchange, found.history, currency)
        picture = await charts.render(_request(ctx, found, history, kind, theme, lines))
        bars = history.rows(len(history) - len(found.window), len(history))
        name = _file_name(found.symbol.id, found.label, "" if kind == "price" else kind)
        fields = found.head(CREDIBILITY) | {
            "currency": bars.currency,
            "kind": kind,
            "overlays": [line.label for line in lines],
            "artifact": name,
            "first_close": price(bars.close[0]),
            "last_close": price(bars.close[-1]),
            "change_pct": percent(change_pct(bars.close[0], bars.close[-1])),
            "note": series.joined(ctx, [f"the chart {name} is shown to the person", found.note]),
        }
        shown = Artifact(name, MEDIA_TYPE, picture, _caption(ctx, bars))
        return ToolOutput(dump(fields), _line(ctx, found, bars), (shown,))

    return [chart]


def _overlays(names: list[str] | None) -> tuple[Asked, ...]:
    if names is None:
        return DEFAULT
    try:
        return chart_overlays.parse(names)
    except ValueError as e:
        raise ToolFailure(str(e)) from e


async def _comparison(
    sources: Sources,
    rates: Rates,
    ctx: ToolContext,
    wanted: list[str],
    start: str | None,
    end: str | None,
    theme: ThemeName,
    currency: str | None,
) -> ToolOutput:
    if len(wanted) > MOST:
        raise ToolFailure(
            f"{len(wanted)} symbols are too many for one picture; compare at most {MOST}"
        )
    loaded = await several.load(sources, ctx, wanted, start, end)
    windows = [await several.converted(rates, one.window, currency) for one in loaded.found]
    if len(windows) < 2:
        raise ToolFailure("; ".join(loaded.missing) or f"all names mean {windows[0].symbol}")
    days = common_days(windows)
    if len(days) < 2:
        ids = ", ".join(window.symbol for window in windows)
        raise ToolFailure(f"{ids} have no two days in common; ask for a longer window")
    picture = await render_comparison(ComparisonRequest(tuple(windows), ctx.language, theme))
    changes = {window.symbol: growth_pct(window, days)[-1] for window in windows}
    name = _file_name("-".join(changes), f"{days[0]}_{days[-1]}", "compared")
    note = series.joined(
        ctx,
        [f"the chart {name} is shown to the person", *loaded.notes, several.mixed(ctx, windows)],
    )
    fields = several.envelope(windows, CREDIBILITY) | {
        "kind": "comparison",
        "artifact": name,
        "first_common_day": str(days[0]),
        "last_common_day": str(days[-1]),
        "change_pct": {symbol: percent(change) for symbol, change in changes.items()},
        "missing": loaded.missing,
        "note": note,
    }
    shown = Artifact(name, MEDIA_TYPE, picture, _compared_caption(ctx, loaded, windows))
    line = ", ".join(f"{symbol} {signed(percent(change))}" for symbol, change in changes.items())
    return ToolOutput(dump(fields), line, (shown,))


def _compared_caption(ctx: ToolContext, loaded: Several, windows: list[Bars]) -> str:
    ids = ", ".join(one.symbol.id for one in loaded.found)
    sources = ", ".join(dict.fromkeys(window.source for window in windows))
    if ctx.language == "zh":
        return f"{ids}：涨跌幅比较，来源：{sources}"
    return f"{ids}: change compared, source: {sources}"


def _request(
    ctx: ToolContext,
    found: Series,
    history: Bars,
    kind: Kind,
    theme: ThemeName,
    overlays: tuple[Asked, ...],
) -> ChartRequest:
    length = len(found.window)
    history = history.rows(len(history) - length - WARM_UP, len(history))
    return ChartRequest(
        bars=history,
        shown=length,
        name=found.symbol.name,
        name_zh=found.symbol.name_zh,
        language=ctx.language,
        kind=kind,
        theme=theme,
        overlays=overlays,
    )


def _file_name(of: str, period: str, kind: str) -> str:
    """Letters, digits, dots, dashes and underscores only: GOOG-2012.png, GOOG-2012-01-03_2012-03-30-rsi.png."""
    stem = f"{of}-{period.replace(' … ', '_')}" + (f"-{kind}" if kind else "")
    return "".join(c if c.isascii() and (c.isalnum() or c in "-._") else "_" for c in stem) + ".png"


def _caption(ctx: ToolContext, bars: Bars) -> str:
    head = f"{bars.symbol} {bars.first} … {bars.as_of}"
    if ctx.language == "zh":
        return f"{head}，日线，{bars.currency}，来源：{bars.source}"
    return f"{head}, daily, {bars.currency}, source: {bars.source}"


def _line(ctx: ToolContext, found: Series, bars: Bars) -> str:
    change = signed(change_pct(bars.close[0], bars.close[-1]))
    word = "走势图" if ctx.language == "zh" else "chart"
    return f"{found.name(ctx.language)} {found.label}: {change}, {word}"
