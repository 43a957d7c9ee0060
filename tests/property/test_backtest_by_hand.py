"""Random strategies on the bundled prices against the same computed with numpy from returns alone, bar by bar.

Nothing of the engine is used for the comparison: signals are averages of slices, the account is a product of returns.
"""

import random

import numpy as np
import pytest

from agent_core.finance.backtest_account import Terms
from agent_core.finance.backtest_job import Asked, Request, compute
from agent_core.finance.rules import read_rules
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources

SYMBOLS = ("AAPL", "GOOG", "IBM", "MSFT")
CASH = 10_000.0


def averages(close: np.ndarray, period: int) -> np.ndarray:
    """The simple average at each close, nan before there are enough."""
    found = np.full(len(close), np.nan)
    sums = np.cumsum(np.insert(close, 0, 0.0))
    found[period - 1 :] = (sums[period:] - sums[:-period]) / period
    return found


def account(
    opens: np.ndarray, closes: np.ndarray, above: np.ndarray, side: int, cost: float, slip: float
) -> list[float]:
    """What the account is worth at each close that is held from the open after `above` to the open after it ends."""
    worth, shares, values = CASH, 0.0, []
    for i in range(len(closes)):
        wanted = i > 0 and bool(above[i - 1])  # what was known at the close before this open
        if wanted and not shares:
            shares = side * worth / (1 + cost) / (opens[i] * (1 + side * slip))
            worth -= shares * opens[i] * (1 + side * slip)
            worth -= abs(shares) * opens[i] * (1 + side * slip) * cost
        elif shares and not wanted:
            worth += shares * opens[i] * (1 - side * slip)
            worth -= abs(shares) * opens[i] * (1 - side * slip) * cost
            shares = 0.0
        values.append(worth + shares * closes[i])
    return values


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
async def test_a_random_strategy_makes_what_its_returns_make(seed: int) -> None:
    """No bar is used before it is known, and every cost is on the side of the market."""
    dice = random.Random(seed)
    fast, slow, side = dice.randint(2, 20), dice.randint(21, 90), dice.choice((1, -1))
    bps, slip = dice.choice((0.0, 5.0, 30.0)), dice.choice((0.0, 10.0))
    bars = await Sources([BundledSource()]).bars(dice.choice(SYMBOLS), None, None)
    start = dice.randint(100, 1_500)
    bars = bars.rows(0, start + dice.randint(60, 600))
    lines = [f"sma({fast})", f"sma({slow})"]
    if side > 0:
        rules = {"entry": {"gt": lines}, "exit": {"not": {"gt": lines}}}
    else:
        rules = {"short_entry": {"lt": lines}, "short_exit": {"not": {"lt": lines}}}
    request = Request(
        (Asked(bars, start),),
        read_rules(rules),
        Terms(CASH, commission_bps=bps, slippage_bps=slip),
        (bars.rows(start, len(bars)),),
    )
    close = np.array(bars.close)
    a, b = averages(close, fast), averages(close, slow)
    above = (a > b if side > 0 else a < b)[start:]
    expected = account(
        np.array(bars.open)[start:], close[start:], above, side, bps / 10_000, slip / 10_000
    )
    found = compute(request).run
    if found.ruined is None:
        assert found.equity == pytest.approx(expected, rel=1e-9)
    else:
        assert min(expected) <= 0
