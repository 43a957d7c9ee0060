"""Phases and events after Richard Wyckoff's method, by rules that can be read. All of it is a heuristic.

The last RANGE bars are looked at as one stretch: its height is highest high − lowest low, its drift the travel of a
line fitted to its closes. A stretch is a range where the drift is at most a third of the height.

P1 markup: the drift rises by more than a third of the height, and the last close is above SMA50.
P2 markdown: the drift falls by more than a third of the height, and the last close is below SMA50.
P3 accumulation: a range after a fall of 10 % or more over the PRIOR bars before it (fewer, at least 40, where there are
   no more), in which the mean volume of falling days is at most 1.2 times that of rising days.
P4 distribution: a range after a rise of 10 % or more, in which rising days have at most 1.2 times the volume of
   falling days.
P5 unclear: none of these, or fewer than FEWEST bars.

Where volumes mean nothing (quality.py), P3 and P4 hold without their condition on volume, and no climax is looked for.

E1 selling climax, E2 buying climax (candidates): volume of 2.5 times the mean of 50 bars before or more, a true range
   of twice the mean of 20 bars before or more, and a close 8 % below, or above, that of 20 bars before, or more.
E3 spring (candidate): a low .5 to 5 % below the lowest low of the 40 bars before, which formed a range, and a close
   back above that low on the same or one of the next two bars. E4 upthrust: the same above the highest high.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_core.finance import quality
from agent_core.finance.bars import Bars
from agent_core.finance.trend import fit_line

Phase = Literal["accumulation", "markup", "distribution", "markdown", "unclear"]
Kind = Literal["selling climax", "buying climax", "spring", "upthrust"]
RANGE, PRIOR, SHORTEST_PRIOR = 60, 120, 40
FEWEST = RANGE + SHORTEST_PRIOR
DRIFT_SHARE = 1 / 3
TURN_PCT = 10.0
HEAVIER = 1.2
CLIMAX_VOLUME, CLIMAX_RANGE, CLIMAX_PCT = 2.5, 2.0, 8.0
LOOK_BACK, LEAST_POKE, MOST_POKE, RETURN_BARS = 40, 0.005, 0.05, 3
EVENTS_SPAN = RANGE + PRIOR


@dataclass(frozen=True, slots=True)
class Stretch:
    """The figures that the rules are about, in percent but for prices and ratios; None where there is none.

    Attributes:
        prior_pct: Change over the bars before the stretch.
        volume_ratio: Mean volume of rising days over that of falling days.
        place: Where the last close lies between low (0) and high (1).
    """

    high: float
    low: float
    height_pct: float
    drift_pct: float
    prior_pct: float | None
    volume_ratio: float | None
    place: float
    above_sma50: bool


@dataclass(frozen=True, slots=True)
class Sign:
    """A candidate for an event, with the bar's low (spring), high (upthrust) or close (climax)."""

    kind: Kind
    rule: str
    date: dt.date
    price: float
    volume_ratio: float | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The phase with the rule that fired (P1..P5), its figures (None: too few bars), and events, newest first."""

    phase: Phase
    rule: str
    stretch: Stretch | None
    signs: tuple[Sign, ...]
    volume_counts: bool


def diagnose(bars: Bars) -> Diagnosis:
    """The phase at the end of daily bars; only the last EVENTS_SPAN + 50 of them matter."""
    bars = bars.rows(len(bars) - EVENTS_SPAN - 50, len(bars))
    counts = len(bars) > 0 and quality.check(bars).traded
    signs = sorted(_signs(bars, counts), key=lambda s: s.date, reverse=True)
    if len(bars) < FEWEST:
        return Diagnosis("unclear", "P5", None, tuple(signs), counts)
    stretch = _stretch(bars, counts)
    phase, rule = _phase(stretch)
    return Diagnosis(phase, rule, stretch, tuple(signs), counts)


def _stretch(bars: Bars, counts: bool) -> Stretch:
    part = bars.rows(len(bars) - RANGE, len(bars))
    high, low, close = max(part.high), min(part.low), part.close[-1]
    first = max(0, len(bars) - RANGE - PRIOR)
    return Stretch(
        high=high,
        low=low,
        height_pct=(high / low - 1) * 100,
        drift_pct=fit_line(part.close, RANGE).change_pct,
        prior_pct=(part.close[0] / bars.close[first] - 1) * 100,
        volume_ratio=_volume_ratio(part) if counts else None,
        place=(close - low) / (high - low) if high > low else 0.5,
        above_sma50=close > sum(bars.close[-50:]) / 50,
    )


def _phase(found: Stretch) -> tuple[Phase, str]:
    moves = abs(found.drift_pct) > found.height_pct * DRIFT_SHARE
    if moves and found.drift_pct > 0 and found.above_sma50:
        return "markup", "P1"
    if moves and found.drift_pct < 0 and not found.above_sma50:
        return "markdown", "P2"
    prior, ratio = found.prior_pct or 0.0, found.volume_ratio
    if not moves and prior <= -TURN_PCT and (ratio is None or ratio >= 1 / HEAVIER):
        return "accumulation", "P3"
    if not moves and prior >= TURN_PCT and (ratio is None or ratio <= HEAVIER):
        return "distribution", "P4"
    return "unclear", "P5"


def _volume_ratio(bars: Bars) -> float | None:
    up: list[float] = []
    down: list[float] = []
    for i in range(1, len(bars)):
        if bars.close[i] != bars.close[i - 1]:
            (up if bars.close[i] > bars.close[i - 1] else down).append(bars.volume[i])
    if not up or not down or sum(down) == 0:
        return None
    return (sum(up) / len(up)) / (sum(down) / len(down))


def _signs(bars: Bars, counts: bool) -> Iterator[Sign]:
    if counts:
        yield from _climaxes(bars)
    last: dict[Kind, int] = {}  # one poke that lasts for several bars is one event
    for i in range(max(LOOK_BACK, len(bars) - RANGE), len(bars)):
        for kind, rule, price in _pokes(bars, i):
            if i - last.get(kind, -RETURN_BARS) >= RETURN_BARS:
                yield Sign(kind, rule, bars.dates[i], price, _heaviness(bars, i, counts))
            last[kind] = i


def _pokes(bars: Bars, i: int) -> Iterator[tuple[Kind, str, float]]:
    """Whether a bar left the range of those before it for a moment, downwards or upwards."""
    before = bars.rows(i - LOOK_BACK, i)
    high, low = max(before.high), min(before.low)
    height = (high / low - 1) * 100
    if abs(fit_line(before.close, LOOK_BACK).change_pct) > height * DRIFT_SHARE:
        return
    after = bars.close[i : i + RETURN_BARS]
    if low * (1 - MOST_POKE) <= bars.low[i] <= low * (1 - LEAST_POKE) and max(after) > low:
        yield "spring", "E3", bars.low[i]
    if high * (1 + LEAST_POKE) <= bars.high[i] <= high * (1 + MOST_POKE) and min(after) < high:
        yield "upthrust", "E4", bars.high[i]


def _climaxes(bars: Bars) -> Iterator[Sign]:
    for i in range(max(50, len(bars) - EVENTS_SPAN), len(bars)):
        heavy = _heaviness(bars, i, counts=True)
        ranges = [_true_range(bars, k) for k in range(i - 20, i)]
        wide = _true_range(bars, i) >= CLIMAX_RANGE * sum(ranges) / len(ranges)
        change = (bars.close[i] / bars.close[i - 20] - 1) * 100
        if heavy is None or heavy < CLIMAX_VOLUME or not wide or abs(change) < CLIMAX_PCT:
            continue
        if change < 0:
            yield Sign("selling climax", "E1", bars.dates[i], bars.close[i], heavy)
        else:
            yield Sign("buying climax", "E2", bars.dates[i], bars.close[i], heavy)


def _heaviness(bars: Bars, i: int, counts: bool) -> float | None:
    """Volume of a bar over the mean of the 50 before it, or of as many as there are."""
    before: Sequence[float] = bars.volume[max(0, i - 50) : i]
    mean = sum(before) / len(before) if before else 0.0
    return bars.volume[i] / mean if counts and mean > 0 else None


def _true_range(bars: Bars, i: int) -> float:
    before = bars.close[i - 1]
    return max(bars.high[i], before) - min(bars.low[i], before)
