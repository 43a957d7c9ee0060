"""run_backtest: a strategy over past prices, with costs, against holding; computed outside of the event loop."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_core.book import Portfolio
from agent_core.finance.bars import Interval
from agent_core.finance.sources.chain import Sources
from agent_core.finance.strategy_names import Name
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
Positive = Annotated[float, Field(gt=0)]
Points = Annotated[float, Field(ge=0, le=1000)]
Share = Annotated[float, Field(ge=0.1, le=0.9)]
Theme = Literal["light", "dark"]


class Answer(BaseModel):
    """The fields of an answer; percentages are in percent, money in `currency`."""

    model_config = ConfigDict(defer_build=True)  # for its schema alone

    symbols: list[dict[str, Any]]
    source: str
    as_of: str
    window: dict[str, str]
    currency: str
    credibility: str
    adjustment: str
    strategy: str
    rules: dict[str, Any]
    settings: dict[str, Any]
    result: dict[str, Any]
    benchmark: dict[str, Any]
    excess_return_pct: float | None
    published_row: dict[str, float | None]
    in_sample: dict[str, Any] | None
    out_of_sample: dict[str, Any] | None
    last_trades: list[dict[str, Any]]
    artifacts: list[str]
    kept: bool
    note: str
    notice: str


def backtest_tools(sources: Sources, book: Portfolio | None = None) -> list[ToolSpec]:
    """The tools of this file. Without a book nothing is kept of a test but its answer."""

    @tool(
        title={"en": "Backtest", "zh": "策略回测"},
        timeout=300,
        concurrency_safe=False,
        deterministic=True,
        background=True,
        credibility=CREDIBILITY,
        output=Answer,
    )
    async def run_backtest(
        ctx: ToolContext,
        symbols: list[str],
        strategy: Name | None = None,
        params: dict[str, Any] | None = None,
        rules: dict[str, Any] | None = None,
        start: str | None = None,
        end: str | None = None,
        interval: Interval = "day",
        cash: Positive = 100_000,
        commission_bps: Points = 0,
        commission_per_order: Annotated[float, Field(ge=0)] = 0,
        slippage_bps: Points = 0,
        whole_shares: bool = False,
        weighting: Literal["equal", "fixed"] = "equal",
        warmup: bool = True,
        walk_forward: Share | None = None,
        benchmark: str | None = None,
        risk_free_pct: float = 0,
        theme: Theme = "light",
    ) -> ToolOutput:
        """Backtest a strategy: signals at the close, fills at the next open. Give strategy or rules.

        rules (JSON): entry, exit, short_entry, short_exit: C; stop_loss_pct, take_profit_pct, trailing_stop_pct,
        fraction (of equity, 0..1). C: {gt|lt|crosses_above|crosses_below: [X, X]}, {all|any: [C, ...]}, {not: C}. X: a
        number, close, open, high, low, volume, sma(20) (so ema, rsi, atr, roc), macd(12,26,9).line|signal|histogram,
        boll(20,2).upper|middle|lower, donchian(20).upper|lower, stoch(14,3).k|d; [1] behind it: a bar ago.

        Args:
            params: Its own of fast, slow, signal, period, lower, upper, width, entry, exit, threshold; short=true;
                those of rules behind C.
            start: As elsewhere; without dates the last 12 months.
            weighting: fixed: each may take `fraction`.
            warmup: false: indicators see the window alone.
            walk_forward: Share in sample, such as 0.7.
            benchmark: Held instead; default: the symbols.
        """
        # with all that it stands on
        from agent_core.finance.backtest_account import Terms
        from agent_core.tools.backtest_desk import Desk, Options, rules_of

        how = rules_of(strategy, params, rules)
        terms = Terms(
            cash, commission_bps, commission_per_order, slippage_bps, weighting, whole_shares
        )
        options = Options(interval, terms, warmup, walk_forward, risk_free_pct, theme)
        desk = Desk(sources, ctx, options)
        return await desk.answer(await desk.run(symbols, start, end, benchmark, *how), book)

    return [run_backtest]
