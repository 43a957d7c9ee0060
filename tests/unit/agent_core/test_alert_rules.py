"""What an alert waits for: armed, fired once for a bar, armed again only when the price has gone back."""

import datetime as dt
from dataclasses import replace

import pytest

from agent_core.finance import alert_rules
from agent_core.finance.alert_rules import Rule, Verdict, Watch
from agent_core.finance.bars import Bars, Split

FIRST = dt.date(2026, 1, 5)


def bars(*closes: float, splits: tuple[Split, ...] = ()) -> Bars:
    days = tuple(FIRST + dt.timedelta(days=i) for i in range(len(closes)))
    volume = [1.0] * len(closes)
    return Bars("GOOG", "USD", "test", days, closes, closes, closes, closes, volume, splits)


def day(number: int) -> dt.date:
    return FIRST + dt.timedelta(days=number)


def grown(rule: Rule, begun: int, *closes: float, repeat: bool = False) -> Verdict:
    """A watch that began after so many closes, judged when all are there."""
    watch = alert_rules.begin(rule, bars(*closes[:begun]), repeat=repeat).watch
    return alert_rules.judge(watch, bars(*closes))


@pytest.mark.parametrize(
    ("rule", "closes", "value", "level"),
    [
        (Rule("price", "above", 400.0), (390.0, 395.0, 400.01), 400.01, 400.0),
        (Rule("price", "below", 300.0), (310.0, 305.0, 299.0), 299.0, 300.0),
        (Rule("move", "below", 5.0), (100.0, 100.0, 94.9), 94.9, 95.0),
        (Rule("move", "above", 5.0), (100.0, 100.0, 105.5), 105.5, 105.0),
        (Rule("day", "below", 5.0), (200.0, 200.0, 180.0), -10.0, -5.0),
        (Rule("indicator", "above", 0.0, "", "sma2"), (3.0, 2.0, 4.0), 4.0, 3.0),
        (Rule("indicator", "above", 3.0, "sma2"), (3.0, 2.0, 6.0), 4.0, 3.0),
    ],
)
def test_a_rule_fires_on_the_first_bar_on_which_it_holds(
    rule: Rule, closes: tuple[float, ...], value: float, level: float
) -> None:
    """Brief of alerts: price, percentage from the last price or the day before, indicator; figures by hand."""
    found = grown(rule, 2, *closes)
    assert found.hit is not None
    assert found.hit.day == day(2)
    assert (found.hit.value, found.hit.level) == pytest.approx((value, level))
    assert not found.watch.armed


@pytest.mark.parametrize("last", [400.0, 399.99])
def test_the_level_itself_is_not_above_it(last: float) -> None:
    assert grown(Rule("price", "above", 400.0), 2, 390.0, 395.0, last).hit is None


def test_rsi_follows_its_own_definition() -> None:
    """Fourteen falls and no rise: RSI 0; it fires below 30, and not before there are enough bars."""
    closes = [100.0 - i for i in range(16)]
    begun = alert_rules.begin(
        Rule("indicator", "above", 30.0, "rsi14"), bars(*closes), repeat=False
    )
    assert begun.hit is None
    risen = bars(*closes, *[90.0 + 5 * i for i in range(10)])
    found = alert_rules.judge(begun.watch, risen)
    assert found.hit is not None
    assert found.hit.value > 30.0
    with pytest.raises(ValueError, match="too few for rsi14"):
        alert_rules.begin(Rule("indicator", "below", 30.0, "rsi14"), bars(1.0, 2.0), repeat=False)


def test_what_holds_at_the_beginning_fires_only_after_it_did_not_hold() -> None:
    begun = alert_rules.begin(Rule("price", "above", 400.0), bars(390.0, 410.0), repeat=False)
    assert begun.hit is not None
    assert begun.hit.value == 410.0
    assert not begun.watch.armed
    assert alert_rules.judge(begun.watch, bars(390.0, 410.0, 420.0)).hit is None
    back = alert_rules.judge(begun.watch, bars(390.0, 410.0, 390.0))
    assert back.watch.armed
    again = alert_rules.judge(back.watch, bars(390.0, 410.0, 390.0, 401.0))
    assert again.hit is not None


def test_a_price_that_wavers_about_its_level_is_told_of_once() -> None:
    """Hysteresis: half a percent of 400 is 2."""
    rule = Rule("price", "above", 400.0)
    closes = [395.0, 395.0, 401.0, 399.5, 400.5, 398.1, 400.5]
    found = grown(rule, 2, *closes[:3], repeat=True)
    assert found.hit is not None
    for n in range(4, 8):
        found = alert_rules.judge(found.watch, bars(*closes[:n]))
        assert found.hit is None
    found = alert_rules.judge(found.watch, bars(*closes, 397.9, 401.0))
    assert found.hit is not None
    assert found.hit.day == day(8)


def test_a_bar_that_changes_while_its_day_runs_fires_once() -> None:
    """The day's bar is the latest price until the close: the same bar is judged again and again."""
    watch = alert_rules.begin(Rule("price", "above", 400.0), bars(390.0, 395.0), repeat=True).watch
    hits = []
    for latest in (399.0, 402.0, 390.0, 402.0, 403.0):
        found = alert_rules.judge(watch, bars(390.0, 395.0, latest))
        watch = found.watch
        hits.append(found.hit is not None)
    assert hits == [False, True, False, False, False]


def test_days_that_went_by_unwatched_are_judged_one_by_one() -> None:
    """A spike while nobody ran is told with its own day."""
    found = grown(Rule("price", "above", 400.0), 2, 390.0, 395.0, 410.0, 380.0, 385.0)
    assert found.hit is not None
    assert found.hit.day == day(2)
    assert found.watch.seen == day(4)


def test_a_move_within_a_day_counts_anew_each_day() -> None:
    found = grown(Rule("day", "below", 5.0), 2, 100.0, 100.0, 90.0, 89.0, 80.0, repeat=True)
    assert found.hit is not None
    assert found.hit.day == day(4)


def test_a_level_in_money_follows_a_later_split() -> None:
    """300 before a split of two for one is 150 after it; otherwise the split alone would fire."""
    watch = alert_rules.begin(Rule("price", "below", 300.0), bars(400.0, 400.0), repeat=False).watch
    split = (Split(day(2), 2.0),)
    after = bars(400.0, 400.0, 200.0, splits=split).adjusted()
    assert after.close[0] == 200.0
    found = alert_rules.judge(watch, after)
    assert found.hit is None
    fallen = bars(400.0, 400.0, 149.0, splits=split).adjusted()
    hit = alert_rules.judge(watch, fallen).hit
    assert hit is not None
    assert hit.level == 150.0


def test_a_watch_is_stored_and_restored_whole() -> None:
    rule = Rule("indicator", "above", 0.0, "sma20", "sma50")
    watch = Watch(rule, 1.5, day(0), 1.4, day(1), day(2), armed=False, repeat=True, fired=day(2))
    assert alert_rules.restored(alert_rules.stored(watch), armed=False) == watch
    plain = replace(watch, repeat=False, fired=None, armed=True)
    assert alert_rules.restored(alert_rules.stored(plain), armed=True) == plain
    assert alert_rules.restored({"metric": "price"}, armed=True) is None
