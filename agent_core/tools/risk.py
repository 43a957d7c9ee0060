"""risk_metrics and correlation: how much a symbol may lose, and how several move together."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from agent_core.finance import correlation as pairs
from agent_core.finance import risk, statistics
from agent_core.finance.bars import Bars
from agent_core.finance.correlation import Pair
from agent_core.finance.fx import Rates
from agent_core.finance.regime import equal_weight
from agent_core.finance.returns import simple_returns
from agent_core.finance.risk import Beta, Tail
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import Drawdown
from agent_core.finance.work import outside
from agent_core.tools import answers, notices, series, several
from agent_core.tools.series import Series, dump, percent
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
LEVELS = (95, 99)
MOST = 12
UNIVERSE, MOST_UNIVERSE = "universe", 500


@dataclass(frozen=True, slots=True)
class _Risk:
    volatility: float | None
    downside: float | None
    drawdown: Drawdown
    tails: tuple[Tail, ...]
    beta: Beta | None


def risk_tools(sources: Sources, rates: Rates | None = None) -> list[ToolSpec]:
    """The tools of this file, on these sources. `rates` is made when it is not given."""
    return [_metrics(sources), _correlation(sources, rates or Rates())]


def _metrics(sources: Sources) -> ToolSpec:
    @tool(
        title={"en": "Risk metrics", "zh": "风险指标"},
        timeout=30,
        credibility=CREDIBILITY,
        output=answers.Risks,
    )
    async def risk_metrics(
        ctx: ToolContext,
        symbol: str,
        benchmark: str | None = None,
        start: str | None = None,
        end: str | None = None,
    ) -> ToolOutput:
        """Risk of one symbol over a window, in percent; losses are positive.

        Yearly volatility and downside deviation, one-day VaR and expected shortfall at 95 and 99 % (historical and
        normal), maximum drawdown with its days, beta against a benchmark. Without dates: the last 12 months.

        Args:
            symbol: Code or name in English or Chinese.
            benchmark: Code or name for beta; universe is the equally weighted mean of all symbols with data.
            start: First day, YYYY-MM-DD, or a year, quarter or month.
            end: Last day, or a year or month, which is taken to its end.
        """
        found = await series.load(sources, ctx, symbol, start, end)
        against = await _benchmark(sources, ctx, benchmark, found)
        result = await asyncio.to_thread(_measure, found.window, against)
        fields = found.head(CREDIBILITY) | _fields(found, against, result)
        said = [found.note, *_remarks(ctx, found, against, result)]
        fields |= {"note": series.joined(ctx, said), "notice": notices.past(ctx.language)}
        return ToolOutput(dump(fields), _line(ctx, found, result))

    return risk_metrics


async def _benchmark(
    sources: Sources, ctx: ToolContext, benchmark: str | None, found: Series
) -> Bars | None:
    if not benchmark or not benchmark.strip():
        return None
    first, last = str(found.window.first), str(found.window.as_of)
    if benchmark.strip().lower() != UNIVERSE:
        return (await series.load(sources, ctx, benchmark, first, last)).window
    if len(sources.symbols) > MOST_UNIVERSE:
        raise ToolFailure(
            f"the universe has {len(sources.symbols)} symbols; name an index as `benchmark` instead"
        )
    loaded = await several.load(sources, ctx, sources.symbols, first, last)
    windows = [one.window for one in loaded.found]
    index = await outside(equal_weight, windows)
    nothing = [0.0] * len(index.dates)
    return Bars(
        symbol=UNIVERSE,
        currency=", ".join(dict.fromkeys(window.currency for window in windows)),
        source=", ".join(dict.fromkeys(window.source for window in windows)),
        dates=index.dates,
        open=index.levels,
        high=index.levels,
        low=index.levels,
        close=index.levels,
        volume=nothing,
    )


def _measure(window: Bars, against: Bars | None) -> _Risk:
    returns = simple_returns(window.close)
    return _Risk(
        volatility=statistics.volatility_pct(window.close),
        downside=risk.downside_deviation_pct(returns),
        drawdown=statistics.max_drawdown(window.dates, window.close),
        tails=tuple(risk.tail(returns, level) for level in LEVELS),
        beta=risk.beta(window, against) if against else None,
    )


def _fields(found: Series, against: Bars | None, result: _Risk) -> dict[str, object]:
    beta = result.beta
    return {
        "returns": len(found.window) - 1,
        "volatility_pct_annual": percent(result.volatility),
        "downside_deviation_pct_annual": percent(result.downside),
        "one_day_loss_pct": {str(tail.level): _tail(tail) for tail in result.tails},
        "drawdown": {
            "max_pct": percent(result.drawdown.pct),
            "peak_date": str(result.drawdown.peak) if result.drawdown.peak else None,
            "trough_date": str(result.drawdown.trough) if result.drawdown.trough else None,
        },
        "benchmark": against.symbol if against else None,
        "beta": round(beta.beta, 3) if beta else None,
        "correlation_with_benchmark": round(beta.correlation, 3) if beta else None,
        "common_returns": beta.days if beta else None,
    }


def _tail(tail: Tail) -> dict[str, float | None]:
    return {
        "historical_var": percent(tail.historical_var),
        "historical_es": percent(tail.historical_es),
        "parametric_var": percent(tail.parametric_var),
        "parametric_es": percent(tail.parametric_es),
    }


def _remarks(ctx: ToolContext, found: Series, against: Bars | None, result: _Risk) -> list[str]:
    zh, days = ctx.language == "zh", len(found.window) - 1
    said = []
    for level in (tail.level for tail in result.tails if tail.historical_var is None):
        need = risk.FEWEST[level]
        said.append(
            f"{level}% 需要至少 {need} 个日收益，窗口内只有 {days} 个"
            if zh
            else f"{level} % needs {need} daily returns, the window has {days}"
        )
    if against is None:
        said.append("未给出 benchmark，没有贝塔" if zh else "no benchmark was given: no beta")
    elif result.beta is None:
        said.append(
            f"与 {against.symbol} 的共同交易日太少，没有贝塔"
            if zh
            else f"too few days in common with {against.symbol}, or prices that never move: no beta"
        )
    if against is not None:
        said.append(several.mixed(ctx, [found.window, against], cure=False))
    return said


def _line(ctx: ToolContext, found: Series, result: _Risk) -> str:
    tail = result.tails[0]
    words = (
        ("年化波动", "最大回撤", "单日VaR 95")
        if ctx.language == "zh"
        else ("volatility", "drawdown", "1-day VaR 95")
    )
    values = (result.volatility, result.drawdown.pct, tail.historical_var)
    said = (f"{word} {_percent(value)}" for word, value in zip(words, values, strict=True))
    return f"{found.name(ctx.language)} {found.label}: {', '.join(said)}"


def _percent(value: float | None) -> str:
    shown = percent(value)
    return "n/a" if shown is None else f"{shown:.2f} %"


def _correlation(sources: Sources, rates: Rates) -> ToolSpec:
    @tool(
        title={"en": "Correlation", "zh": "相关性"},
        timeout=30,
        credibility=CREDIBILITY,
        output=answers.Correlated,
    )
    async def correlation(
        ctx: ToolContext,
        symbols: list[str],
        start: str | None = None,
        end: str | None = None,
        currency: str | None = None,
    ) -> ToolOutput:
        """Correlation of daily returns of 2 to 12 symbols: matrix, the most and least correlated pair, common days.

        Args:
            symbols: Codes or names in English or Chinese.
            start: First day, YYYY-MM-DD, or a year, quarter or month.
            end: Last day, or a year or month, which is taken to its end.
            currency: ISO code to convert all prices into first, by the ECB reference rate of each day.
        """
        if not 2 <= len(dict.fromkeys(symbols)) <= MOST:
            raise ToolFailure(f"correlation compares 2 to {MOST} different symbols")
        loaded = await several.load(sources, ctx, symbols, start, end)
        windows = [await several.converted(rates, s.window, currency) for s in loaded.found]
        if len(windows) < 2:
            raise ToolFailure("; ".join(loaded.missing) or f"all names mean {windows[0].symbol}")
        found = await asyncio.to_thread(pairs.correlations, windows)
        known = sorted((p for p in found if p.value is not None), key=lambda p: p.value or 0.0)
        fields = several.envelope(windows, CREDIBILITY) | {
            "symbols": [w.symbol for w in windows],
            "matrix": _matrix([w.symbol for w in windows], found),
            "most_correlated": _pair(known[-1]) if known else None,
            "least_correlated": _pair(known[0]) if known else None,
            "common_returns": {
                "fewest": min(p.days for p in found),
                "most": max(p.days for p in found),
            },
            "missing": loaded.missing,
            "note": series.joined(
                ctx, [*loaded.notes, several.mixed(ctx, windows), _few(ctx, found)]
            ),
            "notice": notices.past(ctx.language),
        }
        return ToolOutput(dump(fields), _pairs_line(ctx, known))

    return correlation


def _matrix(symbols: list[str], found: list[Pair]) -> list[list[float | None]]:
    values = {(p.first, p.second): p.value for p in found}
    values |= {(p.second, p.first): p.value for p in found}
    return [[1.0 if a == b else _rounded(values[a, b]) for b in symbols] for a in symbols]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0


def _pair(pair: Pair) -> dict[str, object]:
    return {"pair": [pair.first, pair.second], "value": _rounded(pair.value), "returns": pair.days}


def _few(ctx: ToolContext, found: list[Pair]) -> str:
    short = [f"{p.first}/{p.second} ({p.days})" for p in found if p.value is None]
    if not short:
        return ""
    named = ", ".join(short[:5])
    if ctx.language == "zh":
        return f"共同交易日不足 {pairs.FEWEST} 个或价格不变：{named}"
    return f"fewer than {pairs.FEWEST} common returns, or prices that never move: {named}"


def _pairs_line(ctx: ToolContext, known: list[Pair]) -> str:
    zh = ctx.language == "zh"
    if not known:
        return "相关性：数据不足" if zh else "correlation: too little data"
    least, most = known[0], known[-1]
    words = ("相关性最高", "最低") if zh else ("most correlated", "least")
    shown = (f"{p.first}/{p.second} {_rounded(p.value)}" for p in (most, least))
    return ", ".join(f"{w} {s}" for w, s in zip(words, shown, strict=True))
