"""market_regime: trend, volatility and breadth of a market, which is one index or several symbols."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from agent_core.finance import regime
from agent_core.finance.bars import Bars
from agent_core.finance.regime import Mood, Regime
from agent_core.finance.sources.chain import Sources
from agent_core.finance.work import outside
from agent_core.tools import answers, notices, series, several
from agent_core.tools.series import dump, percent, signed
from agent_core.tools.several import Several
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
MOST = 500
FEW = 20  # members that are judged beside the loop; more go to the worker process

_TRENDS = {"up": "上升", "down": "下降", "sideways": "横盘"}
MOODS: dict[Mood, str] = {"calm": "平静", "normal": "正常", "rough": "剧烈", "unknown": "未知"}


def regime_tools(sources: Sources) -> list[ToolSpec]:
    """The tools of this file, on these sources."""

    @tool(
        title={"en": "Market regime", "zh": "市场状态"},
        timeout=60,
        credibility=CREDIBILITY,
        output=answers.State,
    )
    async def market_regime(
        ctx: ToolContext, symbols: list[str] | None = None, end: str | None = None
    ) -> ToolOutput:
        """State of a market: trend, volatility against its own year (calm, normal, rough), and breadth.

        The market is one index, or the equally weighted mean of several symbols. Rules, not a forecast.

        Args:
            symbols: One index, or up to 500 codes or names; every symbol with data when left out.
            end: Last day to look at, YYYY-MM-DD, or a year or month; the newest when left out.
        """
        wanted = list(sources.symbols) if symbols is None else symbols
        if len(wanted) > MOST:
            raise ToolFailure(
                f"{len(wanted)} symbols are too many; name an index, or at most {MOST}"
            )
        loaded = await several.load(sources, ctx, wanted, None, end)
        result = await _judged([one.history for one in loaded.found])
        return ToolOutput(dump(_fields(ctx, loaded, result)), _line(ctx, loaded, result))

    return [market_regime]


async def _judged(members: Sequence[Bars]) -> Regime:
    if len(members) > FEW:
        return await outside(regime.judge, members)
    return await asyncio.to_thread(regime.judge, members)


def _fields(ctx: ToolContext, loaded: Several, result: Regime) -> dict[str, object]:
    fit = result.trend.fit
    windows = [one.window for one in loaded.found]
    ids = [one.symbol.id for one in loaded.found]
    said = [*loaded.notes, several.mixed(ctx, windows, cure=False), _few(ctx, result)]
    return several.envelope(windows, CREDIBILITY) | {
        "market": ids[0] if len(ids) == 1 else f"equal weight of {len(ids)}",
        "members": ids[:12],
        "trend": {
            "direction": result.trend.direction,
            "strength": round(result.trend.strength, 2),
            "reason": _reason(ctx, result),
        },
        "change_60_days_pct": percent(fit.change_pct),
        "volatility": {
            "regime": result.mood,
            "pct_annual_20_days": percent(result.volatility),
            "percentile_of_year": percent(result.rank),
        },
        "breadth_pct": {
            "above_sma50": percent(result.above_sma50),
            "above_sma200": percent(result.above_sma200),
        },
        "missing": loaded.missing,
        "note": series.joined(ctx, said),
        "notice": notices.past(ctx.language),
    }


def _reason(ctx: ToolContext, result: Regime) -> str:
    """The three votes of the trend's rule."""
    close, averages, line = result.trend.votes
    if ctx.language == "zh":
        votes = ("看涨", "中性", "看跌")
        words = ("收盘价对 SMA50", "SMA20 对 SMA50", "60 日拟合线")
    else:
        votes = ("up", "neither", "down")
        words = ("close against SMA50", "SMA20 against SMA50", "line fitted to 60 days")
    colon = "：" if ctx.language == "zh" else ": "
    said = (
        f"{w}{colon}{votes[1 - v]}" for w, v in zip(words, (close, averages, line), strict=True)
    )
    return series.joined(ctx, said)


def _few(ctx: ToolContext, result: Regime) -> str:
    if result.rank is not None:
        return ""
    if ctx.language == "zh":
        return "数据不足一年中的三个月，波动无法排名"
    return "too few days to rank the volatility among those of a year"


def _line(ctx: ToolContext, loaded: Several, result: Regime) -> str:
    ids: Sequence[str] = [one.symbol.id for one in loaded.found]
    direction, mood = result.trend.direction, result.mood
    change = signed(percent(result.trend.fit.change_pct))
    if ctx.language == "zh":
        name = ids[0] if len(ids) == 1 else f"{len(ids)} 只等权"
        return f"{name}：趋势{_TRENDS[direction]}（60 日 {change}），波动{MOODS[mood]}"
    name = ids[0] if len(ids) == 1 else f"{len(ids)} symbols"
    return f"{name}: trend {direction} ({change} in 60 days), volatility {mood}"
