"""How several series move together: Pearson's correlation of daily returns, pair by pair.

A pair is compared on the days on which both have a close; a return goes from one common day to the next, so that
markets with different holidays are compared over the same spans.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from agent_core.finance.bars import Bars
from agent_core.finance.returns import common_closes, mean_and_deviation, simple_returns

FEWEST = 20  # common returns; below, a coefficient is noise


@dataclass(frozen=True, slots=True)
class Pair:
    """Two symbols: their coefficient, −1 to 1, None where it cannot be told; and the number of common returns."""

    first: str
    second: str
    value: float | None
    days: int


def correlations(series: Sequence[Bars]) -> list[Pair]:
    """All pairs, in the order of the series."""
    return [_pair(a, b) for a, b in combinations(series, 2)]


def _pair(a: Bars, b: Bars) -> Pair:
    _, ours, theirs = common_closes(a, b)
    x, y = simple_returns(ours), simple_returns(theirs)
    value = pearson(x, y) if len(x) >= FEWEST else None
    return Pair(a.symbol, b.symbol, value, len(x))


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The correlation of equally many values (two at least); None where one of both never changes."""
    (mean_x, dev_x), (mean_y, dev_y) = mean_and_deviation(x), mean_and_deviation(y)
    if dev_x == 0 or dev_y == 0:
        return None
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / (len(x) - 1)
    return max(-1.0, min(1.0, covariance / (dev_x * dev_y)))
