"""Risk of one series of closes: value at risk, expected shortfall, downside deviation, beta.

All of it is of simple daily returns and a horizon of one day. Losses are positive percent: a VaR of 2.1 means that on
one day in twenty (95 %) more than 2.1 % was lost.

- Historical VaR: the quantile of the returns, interpolated linearly between neighbours (numpy's default). Historical
  ES: the mean of the returns that lie at or below it.
- Parametric: a normal distribution with the sample mean m and sample deviation s: VaR = z·s − m,
  ES = s·φ(z)/(1 − level) − m.
- Downside deviation: root of the mean of min(return, 0)², times √252.
- Beta: sample covariance with the benchmark's returns over the benchmark's sample variance, on days that both have.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from agent_core.finance.bars import Bars
from agent_core.finance.correlation import pearson
from agent_core.finance.returns import common_closes, mean_and_deviation, simple_returns
from agent_core.finance.statistics import TRADING_DAYS

# Fewest returns for which a quantile lies between returns that were seen.
FEWEST = {95: 20, 99: 100}
FEWEST_FOR_BETA = 20


@dataclass(frozen=True, slots=True)
class Tail:
    """One-day losses at a level, in percent; None where there are too few returns."""

    level: int
    historical_var: float | None
    historical_es: float | None
    parametric_var: float | None
    parametric_es: float | None


@dataclass(frozen=True, slots=True)
class Beta:
    """How a series goes with its benchmark: slope, correlation, and the returns both are made of."""

    beta: float
    correlation: float
    days: int


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of the values lie, interpolated; of at least one value."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def tail(returns: Sequence[float], level: int) -> Tail:
    """VaR and ES of daily returns at 95 or 99 percent."""
    if len(returns) < FEWEST[level]:
        return Tail(level, None, None, None, None)
    share = 1 - level / 100
    edge = quantile(returns, share)
    beyond = [r for r in returns if r <= edge]
    mean, deviation = mean_and_deviation(returns)
    z = NormalDist().inv_cdf(level / 100)
    shortfall = deviation * NormalDist().pdf(z) / share
    return Tail(
        level,
        historical_var=-edge * 100,
        historical_es=-sum(beyond) / len(beyond) * 100,
        parametric_var=(z * deviation - mean) * 100,
        parametric_es=(shortfall - mean) * 100,
    )


def downside_deviation_pct(returns: Sequence[float]) -> float | None:
    """Yearly downside deviation against 0, in percent. None below two returns."""
    if len(returns) < 2:
        return None
    return math.sqrt(sum(min(r, 0.0) ** 2 for r in returns) / len(returns) * TRADING_DAYS) * 100


def beta(asset: Bars, benchmark: Bars) -> Beta | None:
    """Beta on common days; None where there are too few of them, or one of both never moved."""
    days, ours, theirs = common_closes(asset, benchmark)
    if len(days) <= FEWEST_FOR_BETA:
        return None
    a, b = simple_returns(ours), simple_returns(theirs)
    correlation = pearson(a, b)
    if correlation is None:
        return None
    _, dev_a = mean_and_deviation(a)
    _, dev_b = mean_and_deviation(b)
    return Beta(correlation * dev_a / dev_b, correlation, len(a))
