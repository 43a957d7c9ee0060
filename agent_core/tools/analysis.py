"""analyze_stock: trend, indicators, drawdown, levels, volume, phase and risk of one symbol, from its prices alone."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from agent_core.finance import indicators, statistics, trend, wyckoff
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import WARM_UP, Values
from agent_core.finance.levels import Levels, find_levels
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import change_pct
from agent_core.finance.trend import Trend
from agent_core.finance.wyckoff import Diagnosis
from agent_core.tools import answers, notices, series
from agent_core.tools.series import Series, dump, percent, price, signed
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool
from agent_core.tools.wyckoff import phase_fields

CREDIBILITY: Literal["logic tool"] = "logic tool"
SIGNS = 3  # events that are shown
OVERBOUGHT, OVERSOLD = 70.0, 30.0  # Wilder's thresholds for RSI

_WORDS = {
    "en": {"up": "up", "down": "down", "sideways": "sideways"},
    "zh": {"up": "上升", "down": "下降", "sideways": "横盘"},
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the prices of a window say at its end."""

    trend: Trend
    indicators: dict[str, float | None]
    drawdown: statistics.Drawdown
    volatility: float | None
    cagr: float | None
    levels: Levels
    diagnosis: Diagnosis


def analysis_tools(sources: Sources) -> list[ToolSpec]:
    """The tools of this file, on these sources."""

    @tool(
        title={"en": "Stock analysis", "zh": "个股分析"},
        timeout=30,
        credibility=CREDIBILITY,
        output=answers.Analysed,
    )
    async def analyze_stock(
        ctx: ToolContext, symbol: str, start: str | None = None, end: str | None = None
    ) -> ToolOutput:
        """Technical analysis of one symbol at the end of a window.

        Trend, averages, RSI, MACD, Bollinger bands, ATR, drawdown (positive percent), yearly volatility, support and
        resistance, volume, Wyckoff phase (a heuristic: say so). Without dates: the last 12 months.

        Args:
            symbol: Code or name.
            start: YYYY-MM-DD, or a year, quarter or month (2012-Q1).
            end: Likewise.
        """
        found = await series.load(sources, ctx, symbol, start, end)
        result = await asyncio.to_thread(analyze, found.window, found.history)
        return ToolOutput(dump(_fields(ctx, found, result)), _line(ctx, found, result))

    return [analyze_stock]


def analyze(window: Bars, history: Bars) -> Analysis:
    """Figures of `window`; indicators may look back into `history`, which ends where the window ends."""
    longest = max(WARM_UP, len(window))
    back = history.rows(len(history) - longest, len(history))
    values = _indicators(back)
    close = window.close
    return Analysis(
        trend=trend.classify(back.close, values["sma20"], values["sma50"]),
        indicators=values,
        drawdown=statistics.max_drawdown(window.dates, close),
        volatility=statistics.volatility_pct(close),
        cagr=statistics.cagr_pct(window.dates, close),
        levels=find_levels(window, values["atr14"]),
        diagnosis=wyckoff.diagnose(history),
    )


def _indicators(bars: Bars) -> dict[str, float | None]:
    close = bars.close
    macd, bands = indicators.macd(close), indicators.bollinger(close)
    return {
        "sma20": _last(indicators.sma(close, 20)),
        "sma50": _last(indicators.sma(close, 50)),
        "sma200": _last(indicators.sma(close, 200)),
        "rsi14": _last(indicators.rsi(close)),
        "macd": _last(macd.line),
        "macd_signal": _last(macd.signal),
        "macd_histogram": _last(macd.histogram),
        "bollinger_upper": _last(bands.upper),
        "bollinger_lower": _last(bands.lower),
        "atr14": _last(indicators.atr(bars)),
    }


def _last(values: Values) -> float | None:
    return values[-1] if values else None


def _fields(ctx: ToolContext, found: Series, result: Analysis) -> dict[str, object]:
    window = found.window
    return found.head(CREDIBILITY) | {
        "first_close": price(window.close[0]),
        "last_close": price(window.close[-1]),
        "change_pct": percent(change_pct(window.close[0], window.close[-1])),
        "trend": {
            "direction": result.trend.direction,
            "strength": round(result.trend.strength, 2),
            "reason": _reason(ctx, found, result),
        },
        "indicators": {name: _shown(name, value) for name, value in result.indicators.items()},
        "drawdown": {
            "max_pct": percent(result.drawdown.pct),
            "peak_date": _day(result.drawdown.peak),
            "trough_date": _day(result.drawdown.trough),
        },
        "volatility_pct_annual": percent(result.volatility),
        "risk": _risk(window, result),
        "support": [price(level) for level in result.levels.support],
        "resistance": [price(level) for level in result.levels.resistance],
        "phase_note": _phase(ctx, window, result),
        "volume": _volume(found, result),
        "wyckoff": phase_fields(ctx, result.diagnosis, SIGNS),
        "notice": notices.past(ctx.language),
    }


def _volume(found: Series, result: Analysis) -> dict[str, object]:
    """The last volume, and the mean of the 50 bars before it; null where volumes mean nothing."""
    bars = found.history
    before = bars.volume[-51:-1]
    mean = sum(before) / len(before) if before and result.diagnosis.volume_counts else 0.0
    return {
        "last": round(bars.volume[-1]),
        "average_50": round(mean) if mean else None,
        "ratio": percent(bars.volume[-1] / mean) if mean else None,
    }


def _risk(window: Bars, result: Analysis) -> dict[str, object]:
    extremes = statistics.extreme_days(window)
    fields: dict[str, object] = {"cagr_pct": percent(result.cagr)}
    if extremes:
        (worst, worst_day), (best, best_day) = extremes
        fields["worst_day"] = {"change_pct": percent(worst), "date": str(worst_day)}
        fields["best_day"] = {"change_pct": percent(best), "date": str(best_day)}
    return fields


def _shown(name: str, value: float | None) -> float | None:
    return percent(value) if name == "rsi14" else price(value)


def _day(day: object) -> str | None:
    return None if day is None else str(day)


def _reason(ctx: ToolContext, found: Series, result: Analysis) -> str:
    last, values, fit = found.window.close[-1], result.indicators, result.trend.fit
    sma20, sma50 = values["sma20"], values["sma50"]
    zh = ctx.language == "zh"
    parts = []
    if sma50 is not None:
        parts.append(_compared(zh, ("收盘价", "close"), last, ("SMA50", "SMA50"), sma50))
    if sma20 is not None and sma50 is not None:
        parts.append(_compared(zh, ("SMA20", "SMA20"), sma20, ("SMA50", "SMA50"), sma50))
    change, r2 = signed(fit.change_pct), f"{fit.r2:.2f}"
    parts.append(
        f"最近 {fit.bars} 个交易日的拟合线变动 {change}（R² {r2}）"
        if zh
        else f"the line fitted to the last {fit.bars} trading days changes by {change} (R² {r2})"
    )
    return ("；" if zh else "; ").join(parts)


def _compared(zh: bool, left: tuple[str, str], a: float, right: tuple[str, str], b: float) -> str:
    if zh:
        return f"{left[0]} {price(a)} {'高于' if a > b else '不高于'} {right[0]} {price(b)}"
    return f"{left[1]} {price(a)} is {'above' if a > b else 'not above'} {right[1]} {price(b)}"


def _phase(ctx: ToolContext, window: Bars, result: Analysis) -> str:
    """Where the last close stands: within the window, against SMA200, and by RSI."""
    zh = ctx.language == "zh"
    last = window.close[-1]
    below = percent(-change_pct(max(window.high), last))
    above = percent(change_pct(min(window.low), last))
    parts = [
        f"收盘价比区间最高价低 {below}%，比区间最低价高 {above}%"
        if zh
        else f"the close is {below} % below the window's high and {above} % above its low"
    ]
    sma200, rsi = result.indicators["sma200"], result.indicators["rsi14"]
    if sma200 is not None:
        over = last > sma200
        parts.append(
            f"位于 SMA200 {'之上' if over else '之下'}"
            if zh
            else f"it stands {'above' if over else 'below'} its SMA200"
        )
    if rsi is not None:
        parts.append(f"RSI {'显示' if zh else 'reads'} {_mood(zh, rsi)}")
    return ("；" if zh else "; ").join(parts)


def _mood(zh: bool, rsi: float) -> str:
    if rsi >= OVERBOUGHT:
        return "超买" if zh else "overbought"
    if rsi <= OVERSOLD:
        return "超卖" if zh else "oversold"
    return "中性" if zh else "neutral"


def _line(ctx: ToolContext, found: Series, result: Analysis) -> str:
    window = found.window
    change = signed(change_pct(window.close[0], window.close[-1]))
    direction = _WORDS[ctx.language][result.trend.direction]
    word = "趋势" if ctx.language == "zh" else "trend"
    return f"{found.name(ctx.language)} {found.label}: {change}, {word} {direction}"
