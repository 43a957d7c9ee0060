"""Simple daily returns, and their mean and deviation; closes of two series on the days that both have."""

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise

from agent_core.finance.bars import Bars


def simple_returns(close: Sequence[float]) -> list[float]:
    """The ratio close / previous close − 1, one fewer than there are closes."""
    return [b / a - 1 for a, b in pairwise(close)]


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample deviation of at least two values."""
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def common_closes(a: Bars, b: Bars) -> tuple[list[dt.date], list[float], list[float]]:
    """The days on which both have a close, and these closes."""
    theirs = dict(zip(b.dates, b.close, strict=True))
    rows = [(d, c, theirs[d]) for d, c in zip(a.dates, a.close, strict=True) if d in theirs]
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
