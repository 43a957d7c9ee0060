"""indicators: named technical indicators of one symbol, their last values and recent crossings."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from agent_core.finance import readings
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import WARM_UP, Values
from agent_core.finance.readings import Asked, Reading
from agent_core.finance.sources.chain import Sources
from agent_core.tools import answers, notices, series
from agent_core.tools.series import Series, dump, percent, price
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
DEFAULT = ("sma20", "sma50", "rsi", "macd")
MOST = 12
LAST, CROSSINGS = 5, 4


def indicator_tools(sources: Sources) -> list[ToolSpec]:
    """The tools of this file, on these sources."""

    @tool(
        title={"en": "Indicators", "zh": "技术指标"},
        timeout=30,
        credibility=CREDIBILITY,
        output=answers.Read,
    )
    async def indicators(
        ctx: ToolContext,
        symbol: str,
        names: list[str] | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> ToolOutput:
        """Chosen technical indicators at the end of a window: last five values, recent crossings, warm-up.

        settled is false where a smoothed value still shows where the data begins. obv and vwap count from the window's
        start. Without dates: the last 12 months.

        Args:
            symbol: Code or name in English or Chinese, such as AAPL or 苹果.
            names: Any of sma, ema, rsi, macd, boll, atr, stoch, obv, vwap, adx, donchian, with a period where wanted:
                sma50, ema20. Default: sma20, sma50, rsi, macd.
            start: First day, YYYY-MM-DD, or a year, quarter or month.
            end: Last day, or a year or month, which is taken to its end.
        """
        asked = _asked(names or DEFAULT)
        found = await series.load(sources, ctx, symbol, start, end)
        shown = len(found.window)
        history = found.history.rows(len(found.history) - shown - WARM_UP, len(found.history))
        made = await asyncio.to_thread(readings.read, asked, history, shown)
        fields = found.head(CREDIBILITY) | {
            "last_close": price(found.window.close[-1]),
            "last_dates": [str(day) for day in found.window.dates[-LAST:]],
            "bars_before_window": len(history) - shown,
            "indicators": [_fields(one) for one in made],
            "note": series.joined(ctx, [found.note, _short(ctx, made, history)]),
            "notice": notices.past(ctx.language),
        }
        return ToolOutput(dump(fields), _line(ctx, found, made))

    return [indicators]


def _asked(names: Sequence[str]) -> list[Asked]:
    if len(names) > MOST:
        raise ToolFailure(f"{len(names)} indicators are too many; ask for at most {MOST}")
    try:
        return [readings.parse(name) for name in names]
    except ValueError as e:
        raise ToolFailure(str(e)) from e


def _fields(reading: Reading) -> dict[str, object]:
    recent = reading.crossings[-CROSSINGS:]
    return {
        "name": reading.label,
        "last": {name: _shown(reading, values[-1]) for name, values in reading.lines.items()},
        "last_values": {
            name: [_shown(reading, v) for v in values[-LAST:]]
            for name, values in reading.lines.items()
        },
        "crossings": [
            {"date": str(c.date), "what": c.what, "direction": c.direction} for c in recent
        ],
        "warm_up": {"bars_needed": reading.needs, "settled": reading.settled},
    }


def _shown(reading: Reading, value: float | None) -> float | None:
    if reading.unit == "shares":
        return None if value is None else round(value)
    return percent(value) if reading.unit == "score" else price(value)


def _last(values: Values) -> float | None:
    return values[-1] if values else None


def _short(ctx: ToolContext, made: Sequence[Reading], history: Bars) -> str:
    """Which indicators have no value, and why."""
    lacking = [r for r in made if _last(next(iter(r.lines.values()))) is None]
    if not lacking:
        return ""
    named = ", ".join(f"{r.label} ({r.needs})" for r in lacking)
    if ctx.language == "zh":
        return f"只有 {len(history)} 根K线，不足以计算：{named}"
    return f"only {len(history)} bars, too few for {named}"


def _line(ctx: ToolContext, found: Series, made: Sequence[Reading]) -> str:
    parts = []
    for one in made[:4]:
        value = _shown(one, _last(next(iter(one.lines.values()))))
        parts.append(f"{one.label} {'n/a' if value is None else value}")
    return f"{found.name(ctx.language)} {found.window.as_of}: {', '.join(parts)}"
