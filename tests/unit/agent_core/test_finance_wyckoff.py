"""Wyckoff's phases and events: each rule on a series made for it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from agent_core.finance.bars import Bars
from agent_core.finance.wyckoff import RANGE, Diagnosis, diagnose
from tests.unit.agent_core.made_bars import bars_of

WAVE = [math.sin(i / 3) for i in range(RANGE)]


def line(first: float, last: float, count: int = 120) -> list[float]:
    return [first + (last - first) * i / (count - 1) for i in range(count)]


def series(close: Sequence[float], up: float = 100.0, down: float = 100.0) -> Bars:
    """Bars around closes; the volume of a day depends on whether it rises."""
    volume = [up] + [up if b > a else down for a, b in pairwise(close)]
    return bars_of(
        close, high=[c * 1.005 for c in close], low=[c * 0.995 for c in close], volume=volume
    )


def sideways(level: float) -> list[float]:
    return [level * (1 + 0.04 * w) for w in WAVE]


def kinds(found: Diagnosis) -> list[str]:
    return [sign.kind for sign in found.signs]


@pytest.mark.parametrize(
    ("close", "up", "down", "phase", "rule"),
    [
        (line(50, 100, 180), 100, 100, "markup", "P1"),
        (line(100, 50, 180), 100, 100, "markdown", "P2"),
        (line(130, 100) + sideways(100), 110, 100, "accumulation", "P3"),
        (line(130, 100) + sideways(100), 100, 110, "accumulation", "P3"),
        (line(130, 100) + sideways(100), 100, 150, "unclear", "P5"),
        (line(70, 100) + sideways(100), 100, 110, "distribution", "P4"),
        (line(70, 100) + sideways(100), 150, 100, "unclear", "P5"),
        (line(97, 100) + sideways(100), 100, 100, "unclear", "P5"),
        (sideways(100), 100, 100, "unclear", "P5"),
    ],
)
def test_each_rule_fires_on_its_series(
    close: list[float], up: float, down: float, phase: str, rule: str
) -> None:
    found = diagnose(series(close, up, down))
    assert (found.phase, found.rule) == (phase, rule)


def test_the_figures_behind_a_phase_are_those_of_the_last_sixty_bars() -> None:
    found = diagnose(series(line(130, 100) + sideways(100), 120, 100)).stretch
    assert found is not None
    assert found.prior_pct == pytest.approx((sideways(100)[0] / 130 - 1) * 100)
    assert found.volume_ratio == pytest.approx(1.2)
    assert found.height_pct == pytest.approx((104 * 1.005 / (96 * 0.995) - 1) * 100, abs=0.1)
    assert 0 <= found.place <= 1


def test_too_few_bars_are_unclear_without_figures() -> None:
    found = diagnose(series(sideways(100)))
    assert found.stretch is None
    assert diagnose(bars_of([])).phase == "unclear"


def test_without_volume_phases_are_judged_without_it() -> None:
    """Zero volume: no ratio, no climax, and no error."""
    bars = series(line(130, 100) + sideways(100), 100, 150)
    found = diagnose(replace(bars, volume=[0.0] * len(bars)))
    assert (found.phase, found.volume_counts) == ("accumulation", False)
    assert found.stretch is not None
    assert found.stretch.volume_ratio is None


def poked(place: int, *, low: float | None = None, high: float | None = None) -> Bars:
    """A range around 100 with one bar that leaves it."""
    bars = series(line(97, 100) + sideways(100))
    lows, highs = list(bars.low), list(bars.high)
    lows[place] = low or lows[place]
    highs[place] = high or highs[place]
    return replace(bars, low=lows, high=highs)


def test_a_spring_and_an_upthrust_are_short_ways_out_of_a_range() -> None:
    bars = poked(-10, low=94.0)
    (spring,) = diagnose(bars).signs
    assert (spring.kind, spring.rule, spring.price) == ("spring", "E3", 94.0)
    assert spring.date == bars.dates[-10]
    (upthrust,) = diagnose(poked(-10, high=107.0)).signs
    assert (upthrust.kind, upthrust.rule, upthrust.price) == ("upthrust", "E4", 107.0)


@pytest.mark.parametrize("low", [97.0, 80.0])
def test_a_low_within_the_range_or_far_below_it_is_no_spring(low: float) -> None:
    assert diagnose(poked(-10, low=low)).signs == ()


@pytest.mark.parametrize(("last", "kind"), [(130.0, "buying climax"), (78.0, "selling climax")])
def test_a_climax_is_a_heavy_and_wide_bar_at_the_end_of_a_move(last: float, kind: str) -> None:
    close = [*[100.0] * 150, last]
    bars = series(close, 100, 100)
    volume = [*list(bars.volume)[:-1], 300.0]
    found = diagnose(replace(bars, volume=volume))
    assert kinds(found) == [kind]
    assert found.signs[0].volume_ratio == pytest.approx(3)
    assert kinds(diagnose(replace(bars, volume=[*volume[:-1], 240.0]))) == []


def test_only_the_past_is_looked_at() -> None:
    """The phase of a day does not change with what comes after it."""
    close = line(130, 100) + sideways(100) + line(100, 140, 40)
    bars = series(close)
    assert diagnose(bars.rows(0, 180)) == diagnose(series(close[:180]))
