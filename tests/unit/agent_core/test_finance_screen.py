"""Screening: each measure by hand, bounds, what is left out and why."""

from dataclasses import replace

import pytest

from agent_core.finance import indicators, screen
from agent_core.finance.screen import DAYS, MEASURES, Left, Measure, Row, Wanted
from agent_core.finance.statistics import volatility_pct
from tests.unit.agent_core.made_bars import bars_of

CLOSE = [100.0 + (i * 7) % 11 for i in range(300)]
BARS = bars_of(CLOSE, high=[c + 1 for c in CLOSE], volume=[100.0] * 299 + [250.0])


def one(wanted: Wanted, bars: object = BARS) -> Row | Left:
    (found,) = screen.judge([bars], [wanted])  # type: ignore[list-item]
    return found


def value(measure: Measure, days: int | None = None) -> float:
    wanted = Wanted(measure, days or DAYS[measure])
    found = one(wanted)
    assert isinstance(found, Row)
    return found.figures[wanted.label]


def test_every_measure_is_what_its_definition_says() -> None:
    assert value("return_pct", 10) == pytest.approx((CLOSE[-1] / CLOSE[-11] - 1) * 100)
    assert value("distance_to_high_pct") == pytest.approx((1 - CLOSE[-1] / 111) * 100)
    assert value("rsi") == pytest.approx(indicators.rsi(CLOSE)[-1])
    assert value("volatility_pct", 20) == pytest.approx(volatility_pct(CLOSE[-21:]))
    assert value("above_sma_pct", 5) == pytest.approx((CLOSE[-1] * 5 / sum(CLOSE[-5:]) - 1) * 100)
    assert value("volume_ratio") == pytest.approx(2.5)


@pytest.mark.parametrize("measure", MEASURES)
def test_as_many_bars_as_are_asked_for_are_enough_and_one_fewer_is_not(measure: Measure) -> None:
    wanted = Wanted(measure, 20)
    assert isinstance(one(wanted, BARS.rows(300 - wanted.bars, 300)), Row)
    short = one(wanted, BARS.rows(301 - wanted.bars, 300))
    assert isinstance(short, Left)
    assert short.why == "too few bars"


def test_the_tail_that_is_kept_gives_the_same_verdict() -> None:
    wanted = [Wanted(measure, DAYS[measure]) for measure in MEASURES]
    need = screen.tail_needed(wanted)
    long = replace(BARS, symbol="TEST")
    assert screen.judge([long.rows(len(long) - need, len(long))], wanted) == screen.judge(
        [long], wanted
    )


def test_the_first_broken_bound_is_named() -> None:
    bounds = [Wanted("volume_ratio", 50, 2.0, 2.5), Wanted("return_pct", 10, most=-50.0)]
    (row,) = screen.judge([BARS], bounds)
    assert isinstance(row, Row)
    assert row.failed == "return_pct(10)"
    assert len(row.figures) == 2


def test_a_share_that_is_not_traded_has_no_volume_ratio() -> None:
    still = replace(BARS, volume=[0.0] * 300)
    found = one(Wanted("volume_ratio", 50), still)
    assert isinstance(found, Left)
    assert found.why == "no volume"
    assert isinstance(one(Wanted("rsi", 14), still), Row)


def test_prices_that_ended_long_before_the_others_are_left_out() -> None:
    old = replace(BARS.rows(0, 280), symbol="OLD")
    verdicts = screen.without_stale(screen.judge([BARS, old], [Wanted("rsi", 14)]))
    assert isinstance(verdicts[0], Row)
    assert verdicts[1] == Left("OLD", "stale", str(old.as_of))


def test_equal_figures_are_ordered_by_symbol() -> None:
    rows = screen.judge([replace(BARS, symbol=s) for s in "CAB"], [Wanted("rsi", 14)])
    kept = [row for row in rows if isinstance(row, Row)]
    for descending in (True, False):
        order = screen.ranked(kept, "rsi(14)", descending)
        assert [row.symbol for row in order] == ["A", "B", "C"]
