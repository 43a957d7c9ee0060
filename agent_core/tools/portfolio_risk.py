"""The diagnosis of a book as an answer: what it is made of, how far its prices reach, and what was left out."""

from typing import Any, Literal

from agent_core.finance import portfolio_risk as risk
from agent_core.finance.bars import Bars
from agent_core.finance.portfolio_risk import Diagnosis
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.finance.statistics import months_before
from agent_core.finance.work import outside
from agent_core.tools import series
from agent_core.tools.portfolio_priced import Priced
from agent_core.tools.portfolio_words import head
from agent_core.tools.series import dump, joined, percent, signed
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput

MONTHS = 13
DEFAULT_BENCHMARK = "SPY"  # taken where a price source lists it
CREDIBILITY: Literal["logic tool"] = "logic tool"
HEURISTIC = {
    "en": "remarks are rules of thumb (heuristic), no advice",
    "zh": "评语为经验规则（启发式），不构成建议",
}


async def diagnosis(
    sources: Sources, ctx: ToolContext, priced: Priced, benchmark: str | None
) -> ToolOutput:
    """Concentration and risk of the book's present weights. Raises ToolFailure where nothing has a price."""
    found, fields = await measured(sources, ctx, priced, benchmark)
    return ToolOutput(dump(fields), _line(ctx.language, found))


async def measured(
    sources: Sources, ctx: ToolContext, priced: Priced, benchmark: str | None
) -> tuple[Diagnosis, dict[str, Any]]:
    """The same as figures, and as the fields of an answer."""
    part = priced.main
    weights: dict[str, float] = {}
    for line in part.lines if part else ():
        if line.converted is not None:
            weights[line.holding.symbol] = weights.get(line.holding.symbol, 0.0) + line.converted
    if part is None or not weights:
        raise ToolFailure(
            "no position has a price, so there is nothing to diagnose; see portfolio(mode=view)"
        )
    bars = {symbol: await _year(sources, ctx, symbol, priced) for symbol in weights}
    against, why = await _benchmark(sources, ctx, benchmark)
    cash = (part.total or 0.0) - sum(weights.values())
    known = {symbol: one for symbol, one in bars.items() if one is not None}
    found = await outside(risk.diagnose, weights, cash, known, against)
    unpriced = sorted(priced.missing)
    fields = (
        head(priced)
        | _fields(found)
        | {
            "credibility": CREDIBILITY,
            "benchmark": against.symbol if against else None,
            "without_price": unpriced,
            "remarks": risk.remarks(found, unpriced, ctx.language),
            "note": joined(ctx, [HEURISTIC[ctx.language], why, _short(found)]),
        }
    )
    return found, fields


async def _year(sources: Sources, ctx: ToolContext, symbol: str, priced: Priced) -> Bars | None:
    """The closes of the year before the last price that is known of the symbol."""
    start = months_before(priced.quotes[symbol].date, MONTHS)
    try:
        return await sources.bars(symbol, start, None, ctx.as_of)
    except NoData:
        return None


async def _benchmark(
    sources: Sources, ctx: ToolContext, wanted: str | None
) -> tuple[Bars | None, str]:
    """The benchmark's prices, or why there is no beta."""
    if wanted is None and not sources.has(DEFAULT_BENCHMARK):
        return None, "no beta: name a benchmark that has prices"
    symbol = DEFAULT_BENCHMARK if wanted is None else series.resolve(sources, ctx, wanted).id
    try:
        return await sources.bars(symbol, None, None, ctx.as_of), ""
    except NoData as e:
        return None, f"no beta: {e}"


def _fields(found: Diagnosis) -> dict[str, Any]:
    pair = found.most_alike
    return {
        "largest": {"symbol": found.largest[0], "weight_pct": percent(found.largest[1])}
        if found.largest
        else None,
        "top3_pct": percent(found.top3_pct),
        "hhi": None if found.hhi is None else round(found.hhi, 4),
        "cash_pct": percent(found.cash_pct),
        "volatility_pct_annual": percent(found.volatility_pct),
        "max_drawdown_pct": percent(found.drawdown_pct),
        "average_correlation": _two(found.average_correlation),
        "most_alike": {"symbols": [pair.a, pair.b], "correlation": _two(pair.correlation)}
        if pair
        else None,
        "beta": _two(found.beta.beta) if found.beta else None,
        "common_days": found.days,
    }


def _two(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _short(found: Diagnosis) -> str:
    return "" if found.days else "risk figures need a year of common days with prices"


def _line(language: str, found: Diagnosis) -> str:
    symbol, share = found.largest or ("", 0.0)
    volatility = signed(found.volatility_pct).lstrip("+")
    if language == "zh":
        return f"最大持仓 {symbol} {share:.1f}%，年化波动率 {volatility}"
    return f"largest {symbol} {share:.1f} %, volatility {volatility}"
