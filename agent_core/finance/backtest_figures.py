"""What a backtest amounts to. Percentages are in percent; ratios are per year.

- Returns are those of the account from close to close, n − 1 of n closes; a year has 252, 52 or 12 of them.
- Sharpe: (mean return − risk-free rate / periods a year) / population deviation × √periods.
- Sortino: the same mean over the root of the mean of min(return − rate, 0)², × √periods.
- Volatility: sample deviation of the returns × √periods.
- ARR: compound yearly growth over days / 365.25; Calmar: ARR / maximum drawdown. Neither is told below 360 days.
- The row of a published table (TradingAgents, arXiv 2412.20138, Table 1): CR is the total return; what it calls ARR is
  exp(CR) − 1, whatever the length of the window, and no yearly figure; SR as above; MDD. None where nothing was traded.
- Win rate, profit factor (profits / losses) and the like are of closed trades, after fees and with dividends.
- Exposure: the share of closes at which anything is held. Turnover: value traded / mean equity / years.
"""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_core.finance.backtest import Run
from agent_core.finance.backtest_account import Trade
from agent_core.finance.bars import Bars, Interval
from agent_core.finance.returns import mean_and_deviation
from agent_core.finance.statistics import (
    TRADING_DAYS,
    YEAR_DAYS,
    Drawdown,
    cagr_pct,
    change_pct,
    max_drawdown,
)

_Deviation = Callable[[Sequence[float]], float]
PERIODS: dict[Interval, int] = {"day": TRADING_DAYS, "week": 52, "month": 12}


@dataclass(frozen=True, slots=True)
class Curve:
    """What an account, or a benchmark, was worth at each close."""

    total_return_pct: float
    annual_return_pct: float | None
    volatility_pct: float | None
    sharpe: float | None
    sortino: float | None
    drawdown: Drawdown
    calmar: float | None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """CR, ARR and MDD in percent, and SR, as TradingAgents' Table 1 computes them; None where nothing was traded."""

    cr_pct: float | None = None
    arr_pct: float | None = None
    sr: float | None = None
    mdd_pct: float | None = None


@dataclass(frozen=True, slots=True)
class Deals:
    """What the trades of a run have in common; None where no trade was closed, or none was lost."""

    closed: int
    open: int
    win_rate_pct: float | None
    profit_factor: float | None
    average_pct: float | None
    best_pct: float | None
    worst_pct: float | None
    average_bars: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """A window's figures, and those of the benchmark in the same window."""

    first: dt.date
    last: dt.date
    bars: int
    curve: Curve
    benchmark: Curve
    deals: Deals
    exposure_pct: float
    turnover: float | None

    @property
    def excess_pct(self) -> float:
        """By how many percentage points the account beat the benchmark."""
        return self.curve.total_return_pct - self.benchmark.total_return_pct


def figures(
    run: Run, benchmark: Sequence[float], interval: Interval, risk_free_pct: float
) -> Figures:
    """The figures of a run; `benchmark` has a value for each of its days."""
    periods = PERIODS[interval]
    return Figures(
        first=run.dates[0],
        last=run.dates[-1],
        bars=len(run.dates),
        curve=curve(run.dates, run.equity, periods, risk_free_pct),
        benchmark=curve(run.dates, benchmark, periods, risk_free_pct),
        deals=deals(run.trades),
        exposure_pct=sum(run.invested) / len(run.invested) * 100,
        turnover=_turnover(run),
    )


def curve(
    dates: Sequence[dt.date], values: Sequence[float], periods: int, risk_free_pct: float
) -> Curve:
    """The figures of a series of values; ratios are None where nothing varies."""
    returns = [b / a - 1 if a > 0 else 0.0 for a, b in pairwise(values)]
    drawdown = max_drawdown(dates, values)
    annual = cagr_pct(dates, values) if values[-1] > 0 else -100.0
    rate = risk_free_pct / 100 / periods
    return Curve(
        total_return_pct=change_pct(values[0], values[-1]),
        annual_return_pct=annual,
        volatility_pct=_volatility(returns, periods),
        sharpe=_ratio(returns, rate, periods, _population),
        sortino=_ratio(returns, rate, periods, _downside),
        drawdown=drawdown,
        calmar=None if annual is None or not drawdown.pct else annual / drawdown.pct,
    )


def _volatility(returns: Sequence[float], periods: int) -> float | None:
    if len(returns) < 2:
        return None
    return mean_and_deviation(returns)[1] * math.sqrt(periods) * 100


def _population(excess: Sequence[float]) -> float:
    mean = sum(excess) / len(excess)
    return math.sqrt(sum((r - mean) ** 2 for r in excess) / len(excess))


def _downside(excess: Sequence[float]) -> float:
    return math.sqrt(sum(min(r, 0.0) ** 2 for r in excess) / len(excess))


def _ratio(
    returns: Sequence[float], rate: float, periods: int, deviation: _Deviation
) -> float | None:
    """None without a trade: a flat account has no risk to be paid for."""
    if len(returns) < 2 or all(r == returns[0] for r in returns):
        return None
    excess = [r - rate for r in returns]
    spread = deviation(excess)
    return None if spread < 1e-12 else sum(excess) / len(excess) / spread * math.sqrt(periods)


def published_row(found: Figures) -> PublishedRow:
    """What Table 1 says of a run."""
    if not (found.deals.closed or found.deals.open):
        return PublishedRow()
    total = found.curve.total_return_pct
    arr = math.expm1(total / 100) * 100
    return PublishedRow(total, arr, found.curve.sharpe, found.curve.drawdown.pct)


def deals(trades: Sequence[Trade]) -> Deals:
    """What trades have in common."""
    closed = [trade for trade in trades if trade.reason != "open"]
    won = [trade.profit for trade in closed if trade.profit > 0]
    lost = [-trade.profit for trade in closed if trade.profit <= 0]
    changes = [trade.profit_pct for trade in closed]
    count = len(closed)
    return Deals(
        closed=count,
        open=len(trades) - count,
        win_rate_pct=len(won) / count * 100 if count else None,
        profit_factor=sum(won) / sum(lost) if sum(lost) > 0 else None,
        average_pct=sum(changes) / count if count else None,
        best_pct=max(changes, default=None),
        worst_pct=min(changes, default=None),
        average_bars=sum(trade.bars for trade in closed) / count if count else None,
    )


def _turnover(run: Run) -> float | None:
    years = (run.dates[-1] - run.dates[0]).days / YEAR_DAYS
    mean = sum(run.equity) / len(run.equity)
    return run.traded / mean / years if years and mean else None


def hold(parts: Sequence[Bars], dates: Sequence[dt.date], cash: float) -> list[float]:
    """What `cash` is worth each day that buys equal parts at the close of the first day and keeps them, without costs.

    Known dividends buy more of the same. A part that is not traded yet waits as cash until its first close.
    """
    totals = [0.0] * len(dates)
    for bars in parts:
        whole = bars.adjusted("total")
        closes = dict(zip(whole.dates, whole.close, strict=True))
        before = whole.index_until(dates[0])
        first = value = whole.close[before] if before >= 0 else None
        for i, day in enumerate(dates):
            value = closes.get(day, value)
            first = value if first is None else first
            totals[i] += cash / len(parts) * (value / first if value and first else 1.0)
    return totals
