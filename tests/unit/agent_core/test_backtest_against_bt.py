"""The engine against bt, and its figures against ffn; both import pandas, which takes seconds.

bt trades at the closes that it is given. Bars whose every open is the close before it make our next open its close, so
that both accounts must agree on every day. Tolerances: 1e-9 relative, but for rounding nothing may differ.
"""

import datetime as dt
from typing import Any

import pytest

from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_figures import Curve, curve
from agent_core.finance.backtest_job import Asked, Outcome, Request, compute
from agent_core.finance.bars import Bars
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.strategies import expand
from agent_core.finance.strategy_names import Name

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # pandas' and scikit-learn's own
]
CASH = 1_000_000.0


async def prices(symbol: str, *, opens: bool = False) -> Bars:
    """Bundled bars; without `opens` every open is the close before it."""
    bars = await Sources([BundledSource()]).bars(symbol, None, None)
    if not opens:
        object.__setattr__(bars, "open", [bars.close[0], *bars.close[:-1]])
    return bars


def of_rules(bars: list[Bars], name: Name, params: dict[str, Any]) -> Outcome:
    rules, _ = expand(name, params)
    assets = tuple(Asked(one, 0) for one in bars)
    return compute(Request(assets, rules, Terms(CASH), tuple(bars)))


def frame(bars: list[Bars]) -> Any:
    import pandas as pd

    return pd.DataFrame({
        one.symbol: pd.Series(list(one.close), index=pd.DatetimeIndex(list(one.dates)))
        for one in bars
    })  # fmt: skip


def by_bt(data: Any, *algos: Any) -> list[float]:
    """What the account of bt is worth on each day of the data; bt sets a day of its own before them."""
    import bt

    test = bt.Backtest(
        bt.Strategy("s", list(algos)), data, initial_capital=CASH, integer_positions=False,
        progress_bar=False,
    )  # fmt: skip
    bt.run(test)
    return list(test.strategy.values.loc[data.index[0] :])


async def test_buying_and_holding_two_symbols_agrees_with_bt() -> None:
    import bt

    bars = [await prices("AAPL"), await prices("IBM")]
    ours = of_rules(bars, "buy_and_hold", {})
    # Our first decision is at the first close, and filled at the next open, which is that close.
    theirs = by_bt(
        frame(bars), bt.algos.RunOnce(), bt.algos.SelectAll(), bt.algos.WeighEqually(),
        bt.algos.Rebalance(),
    )  # fmt: skip
    assert ours.run.equity == pytest.approx(theirs, rel=1e-9)
    assert ours.benchmark == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("symbol", ["GOOG", "AAPL", "IBM"])
async def test_holding_while_the_faster_average_is_above_agrees_with_bt(symbol: str) -> None:
    """Long above, flat below: bt holds the weights that pandas computes from the same closes."""
    import bt
    import pandas as pd

    bars = [await prices(symbol)]
    ours = of_rules(bars, "sma_cross", {"fast": 20, "slow": 50})
    data = frame(bars)
    over = (
        data.rolling(20).mean() > data.rolling(50).mean()
    )  # never where the slower one does not exist yet
    weights = pd.DataFrame(over, dtype=float)
    theirs = by_bt(data, bt.algos.WeighTarget(weights), bt.algos.Rebalance())
    assert len(ours.run.trades) >= 20
    assert ours.run.equity == pytest.approx(theirs, rel=1e-9)


async def test_the_figures_agree_with_ffn() -> None:
    """ffn's Sharpe has the sample deviation, ours the population's: √(n / (n − 1)) between them. Its Sortino differs.

    Its rate for a period is geometric, so both are compared at a rate of 0.
    """
    import ffn
    import pandas as pd

    bars = await prices("GOOG", opens=True)
    run = of_rules([bars], "macd", {}).run
    ours: Curve = curve(run.dates, run.equity, 252, 0)
    values = pd.Series(run.equity, index=pd.DatetimeIndex(list(run.dates)))
    returns = values.pct_change().dropna()
    n = len(returns)
    assert ours.total_return_pct == pytest.approx(ffn.calc_total_return(values) * 100)
    assert ours.annual_return_pct == pytest.approx(ffn.calc_cagr(values) * 100)
    assert ours.drawdown.pct == pytest.approx(-ffn.calc_max_drawdown(values) * 100)
    assert ours.calmar == pytest.approx(ffn.calc_calmar_ratio(values))
    sharpe = ffn.calc_sharpe(returns, nperiods=252) * (n / (n - 1)) ** 0.5
    assert ours.sharpe == pytest.approx(sharpe)
    assert ours.volatility_pct == pytest.approx(returns.std() * 252**0.5 * 100)
    downside = (returns.clip(upper=0) ** 2).mean() ** 0.5
    assert ours.sortino == pytest.approx(returns.mean() / downside * 252**0.5)
    assert run.dates[0] == dt.date(2004, 8, 19)
