"""Support and resistance: prices at which the series turned before.

A bar is a swing high when its high is the highest of the five bars before and after it, a swing low likewise. The last
five bars cannot be swings yet. Swings closer than the tolerance (1.5 %, or half an ATR where that is wider) form one
level, at their mean. Levels below the last close support, levels above it resist; the nearest come first. Where no
swing lies on a side, the window's extreme does, if it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.finance.bars import Bars

REACH = 5
TOLERANCE = 0.015
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Levels:
    """Prices, nearest to the last close first, at most three a side."""

    support: tuple[float, ...]
    resistance: tuple[float, ...]


def find_levels(bars: Bars, atr: float | None = None) -> Levels:
    """The levels of a window of at least one bar."""
    last = bars.close[-1]
    tolerance = max(TOLERANCE, (atr or 0.0) / last / 2)
    swings = _swings(bars.high, 1) + _swings(bars.low, -1)
    levels = _cluster(sorted(swings), tolerance)
    below = sorted((level for level in levels if level < last), reverse=True)
    above = sorted(level for level in levels if level > last)
    lowest, highest = min(bars.low), max(bars.high)
    if not below and lowest < last:
        below = [lowest]
    if not above and highest > last:
        above = [highest]
    return Levels(tuple(below[:SHOWN]), tuple(above[:SHOWN]))


def _swings(values: Sequence[float], sign: int) -> list[float]:
    found = []
    for i in range(REACH, len(values) - REACH):
        around = [sign * v for v in values[i - REACH : i + REACH + 1]]
        if around[REACH] == max(around) and around.index(around[REACH]) == REACH:
            found.append(values[i])
    return found


def _cluster(ascending: list[float], tolerance: float) -> list[float]:
    groups: list[list[float]] = []
    for value in ascending:
        if groups and value <= groups[-1][0] * (1 + tolerance):
            groups[-1].append(value)
        else:
            groups.append([value])
    return [sum(group) / len(group) for group in groups]
