"""The figures of a report about one symbol, computed once and rounded as shown: tables and words quote these."""

from dataclasses import asdict, dataclass
from typing import Any

from agent_core.finance import returns, risk
from agent_core.finance.sources.chain import Sources
from agent_core.finance.statistics import change_pct, return_pct
from agent_core.finance.trend import Direction
from agent_core.finance.wyckoff import Phase
from agent_core.tools import several
from agent_core.tools.analysis import Analysis, analyze
from agent_core.tools.calculated import calculated
from agent_core.tools.series import Series, percent, price
from agent_core.tools.several import Several
from agent_core.tools.spec import ToolContext

SIGNS = 3  # events after Wyckoff that are shown
MONTHS = (1, 3, 6, 12)
BRIEF = {
    *(
        "symbol",
        "source",
        "start",
        "end",
        "currency",
        "first_close",
        "last_close",
        "change_pct",
        "returns",
    ),
    *("trend", "volatility_pct", "drawdown_pct", "var_95"),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a report says of one symbol; percentages in percent, prices in `currency`, None where it cannot be told.

    `returns` go back by months from the last close, whatever the window; `var_95`, `var_99` and `shortfall_95` are
    losses of one day. `rule` names the rule of wyckoff.py that fired; `signs` are events after it, newest first.
    """

    symbol: str
    source: str
    start: str
    end: str
    days: int
    currency: str
    adjustment: str
    first_close: float | None
    last_close: float | None
    change_pct: float | None
    high: float | None
    high_date: str
    low: float | None
    low_date: str
    returns: dict[str, float | None]
    cagr_pct: float | None
    trend: Direction
    trend_strength: float
    fitted_pct: float | None
    fitted_days: int
    sma20: float | None
    sma50: float | None
    sma200: float | None
    rsi14: float | None
    macd_histogram: float | None
    atr14: float | None
    support: list[float | None]
    resistance: list[float | None]
    phase: Phase
    rule: str
    signs: list[dict[str, Any]]
    volume_last: int | None
    volume_average_50: int | None
    volatility_pct: float | None
    drawdown_pct: float | None
    drawdown_peak: str | None
    drawdown_trough: str | None
    var_95: float | None
    var_99: float | None
    shortfall_95: float | None

    def fields(self) -> dict[str, Any]:
        """For the model: without what cannot be told."""
        return {name: value for name, value in asdict(self).items() if value not in (None, [], "")}

    def brief(self) -> dict[str, Any]:
        """For the model, where there are many symbols."""
        return {name: value for name, value in self.fields().items() if name in BRIEF}


@dataclass(frozen=True, slots=True)
class Study:
    """One symbol: its prices, and its figures."""

    series: Series
    facts: Facts


async def studies(
    sources: Sources, ctx: ToolContext, wanted: list[str], start: str | None, end: str | None
) -> tuple[list[Study], Several]:
    """The studies of all symbols that have prices, and what was loaded. Raises ToolFailure where none has."""
    loaded = await several.load(sources, ctx, wanted, start, end)
    made = []
    for i, one in enumerate(loaded.found):
        ctx.progress(one.symbol.id, 0.1 + 0.4 * i / len(loaded.found))
        made.append(Study(one, await calculated(_facts, one)))
    return made, loaded


def _facts(found: Series) -> Facts:
    """In the worker process: the figures of a window."""
    return facts(found, analyze(found.window, found.history))


def facts(found: Series, result: Analysis) -> Facts:
    """The figures of a window, out of its prices and their analysis."""
    bars = found.window
    top, bottom = bars.high.index(max(bars.high)), bars.low.index(min(bars.low))
    moves = returns.simple_returns(bars.close)
    day_95, day_99 = risk.tail(moves, 95), risk.tail(moves, 99)
    values, counts = result.indicators, result.diagnosis.volume_counts
    before = found.history.volume[-51:-1]
    mean = sum(before) / len(before) if before and counts else 0.0
    return Facts(
        symbol=found.symbol.id,
        source=bars.source,
        start=str(bars.first),
        end=str(bars.as_of),
        days=len(bars),
        currency=bars.currency,
        adjustment=bars.adjustment,
        first_close=price(bars.close[0]),
        last_close=price(bars.close[-1]),
        change_pct=percent(change_pct(bars.close[0], bars.close[-1])),
        high=price(bars.high[top]),
        high_date=str(bars.dates[top]),
        low=price(bars.low[bottom]),
        low_date=str(bars.dates[bottom]),
        returns={f"{months}m": percent(return_pct(found.history, months)) for months in MONTHS},
        cagr_pct=percent(result.cagr),
        trend=result.trend.direction,
        trend_strength=round(result.trend.strength, 2),
        fitted_pct=percent(result.trend.fit.change_pct),
        fitted_days=result.trend.fit.bars,
        **{
            name: price(values[name])
            for name in ("sma20", "sma50", "sma200", "macd_histogram", "atr14")
        },
        rsi14=percent(values["rsi14"]),
        support=[price(level) for level in result.levels.support],
        resistance=[price(level) for level in result.levels.resistance],
        phase=result.diagnosis.phase,
        rule=result.diagnosis.rule,
        signs=[
            {"kind": sign.kind, "date": str(sign.date), "price": price(sign.price)}
            for sign in result.diagnosis.signs[:SIGNS]
        ],
        volume_last=round(bars.volume[-1]) if counts else None,
        volume_average_50=round(mean) if mean else None,
        volatility_pct=percent(result.volatility),
        drawdown_pct=percent(result.drawdown.pct),
        drawdown_peak=None if result.drawdown.peak is None else str(result.drawdown.peak),
        drawdown_trough=None if result.drawdown.trough is None else str(result.drawdown.trough),
        var_95=percent(day_95.historical_var),
        var_99=percent(day_99.historical_var),
        shortfall_95=percent(day_95.historical_es),
    )
