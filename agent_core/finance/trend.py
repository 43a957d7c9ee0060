"""The trend at the end of a series, by a rule that can be read.

Three votes, each up (+1), down (−1) or neither (0):

1. the last close is above or below its SMA50;
2. SMA20 is above or below SMA50, by more than 0.5 %;
3. a line fitted to the logarithms of the last 60 closes (fewer where there are fewer) rises or falls by 2 % or more.

Two votes more one way than the other make a trend (the fitted line's alone where there are too few bars for averages),
else the series goes sideways. The reading is R² of the fitted line times the share of votes by which one side leads,
0 to 1. It is the strength of a trend; sideways, the strength is 1 − the reading, so a flat series is strongly sideways.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Direction = Literal["up", "down", "sideways"]
SPAN = 60
GAP = 0.005
DRIFT_PCT = 2.0


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through the logarithms of closes: its change over `bars` bars in percent, and R²."""

    change_pct: float
    r2: float
    bars: int


@dataclass(frozen=True, slots=True)
class Trend:
    """Direction, strength 0..1 and the three votes it comes from (close, averages, fit)."""

    direction: Direction
    strength: float
    votes: tuple[int, int, int]
    fit: Fit


def fit_line(close: Sequence[float], span: int = SPAN) -> Fit:
    """Least squares over the last `span` closes. Below three closes nothing is claimed: change and R² are 0."""
    logs = [math.log(value) for value in close[-span:]]
    n = len(logs)
    if n < 3:
        return Fit(0.0, 0.0, n)
    mean_x, mean_y = (n - 1) / 2, sum(logs) / n
    sxx = sum((x - mean_x) ** 2 for x in range(n))
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(logs))
    syy = sum((y - mean_y) ** 2 for y in logs)
    slope = sxy / sxx
    r2 = sxy * sxy / (sxx * syy) if syy > 1e-18 else 0.0
    return Fit((math.exp(slope * (n - 1)) - 1) * 100, r2, n)


def classify(close: Sequence[float], sma20: float | None, sma50: float | None) -> Trend:
    """The trend after the last close; missing averages do not vote."""
    fit = fit_line(close)
    votes = (
        _vote(close[-1], sma50, 0.0),
        _vote(sma20, sma50, GAP),
        (fit.change_pct >= DRIFT_PCT) - (fit.change_pct <= -DRIFT_PCT),
    )
    balance = sum(votes)
    reading = fit.r2 * abs(balance) / len(votes)
    if abs(balance) < (1 if sma50 is None else 2):
        return Trend("sideways", 1 - reading, votes, fit)
    return Trend("up" if balance > 0 else "down", reading, votes, fit)


def _vote(value: float | None, against: float | None, gap: float) -> int:
    if value is None or against is None:
        return 0
    return (value > against * (1 + gap)) - (value < against * (1 - gap))
