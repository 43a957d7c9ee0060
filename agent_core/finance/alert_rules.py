"""What an alert waits for, and whether daily bars fulfil it.

A rule compares closes (of the day that runs: the latest price) with a level, with a move from a base, with the close of
the day before, or an indicator with a level or another one. "Above" and "below" leave the level itself out.

An alert is armed while its rule does not hold. It fires when the rule begins to hold, at most once for one day's bar;
one that repeats is armed again when the value has gone back by half a percent of the level (a point, for scores), so
that a price that wavers about its level is told of once. A level in money follows the splits that come after it.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from agent_core.finance import readings
from agent_core.finance.bars import Bars
from agent_core.finance.indicators import WARM_UP, Values
from agent_core.finance.readings import Reading

Side = Literal["above", "below"]
Kind = Literal["price", "move", "day", "indicator"]
# What has one line that a level can be compared with, and does not depend on where a window begins.
INDICATORS = ("sma", "ema", "rsi", "macd", "atr", "stoch", "adx")
AVERAGES = ("sma", "ema")
BACK = 0.005  # of the level: how far a price goes back before it is armed again
BACK_SCORE = 1.0
WEEKS = dt.timedelta(days=21)  # holds the day before, whatever holidays there are
SPLIT = 0.08  # an anchor that differs by more was split; less may be dividends of adjusted prices


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition.

    `price`: the close is above or below `level`, in the currency of the prices. `move`: it is `level` percent (above 0)
    above or below the base of its watch. `day`: likewise against the close of the day before. `indicator`: `left` (""
    is the close) against `right`, or against `level` where that is ""; both are labels such as sma50.
    """

    kind: Kind
    side: Side
    level: float = 0.0
    left: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """A rule with where it stands: `base` is the close of `base_day`, `seen` the last day that was judged.

    `anchor` is the close of `anchor_day`, a day that had ended when the watch began: from it later splits are told.
    `armed`: the next time that the rule holds is told. `fired` is the day of the bar that was told of last.
    """

    rule: Rule
    base: float
    base_day: dt.date
    anchor: float
    anchor_day: dt.date
    seen: dt.date
    armed: bool = True
    repeat: bool = False
    fired: dt.date | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that holds on a day: `value` against `level`. Percent for a rule of a day, else as the rule has it."""

    day: dt.date
    value: float
    level: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a watch stands after further bars, and what it is to tell, if anything."""

    watch: Watch
    hit: Hit | None = None


def stored(watch: Watch) -> dict[str, Any]:
    """The watch as JSON; whether it is armed is the state of its alert, and not in it."""
    fields = asdict(watch.rule) | {
        "base": watch.base,
        "base_day": str(watch.base_day),
        "anchor": watch.anchor,
        "anchor_day": str(watch.anchor_day),
        "seen": str(watch.seen),
        "repeat": watch.repeat,
        "fired": str(watch.fired) if watch.fired else "",
    }
    return {name: value for name, value in fields.items() if value not in ("", False)}


def restored(fields: Mapping[str, Any], *, armed: bool) -> Watch | None:
    """The watch that `stored` wrote; None for what is none, such as an alert of another kind."""
    try:
        names = Rule.__dataclass_fields__
        rule = Rule(**{name: value for name, value in fields.items() if name in names})
        fired = fields.get("fired")
        return Watch(
            rule,
            float(fields["base"]),
            dt.date.fromisoformat(fields["base_day"]),
            float(fields["anchor"]),
            dt.date.fromisoformat(fields["anchor_day"]),
            dt.date.fromisoformat(fields["seen"]),
            armed,
            bool(fields.get("repeat")),
            dt.date.fromisoformat(fired) if fired else None,
        )
    except (KeyError, TypeError, ValueError):
        return None


def begin(rule: Rule, bars: Bars, *, repeat: bool) -> Verdict:
    """A watch from the last bar on; the hit tells that the rule holds there already, so that it is not armed.

    Raises ValueError where an indicator has no value yet.
    """
    ended = max(0, len(bars) - 2)
    watch = Watch(
        rule,
        bars.close[-1],
        bars.as_of,
        bars.close[ended],
        bars.dates[ended],
        bars.as_of,
        repeat=repeat,
    )
    value, level = _pairs(watch, bars, 1)[-1]
    if value is None or level is None:
        raise ValueError(f"only {len(bars)} bars: too few for {rule.left or rule.right}")
    if not _holds(rule.side, value, level):
        return Verdict(watch)
    return Verdict(replace(watch, armed=False), Hit(bars.as_of, value, level))


def judge(watch: Watch, bars: Bars) -> Verdict:
    """Judge the bars since the last one that was judged, which may have changed itself.

    Of several hits the last one is told. Bars have to reach back far enough for the indicator, and to the base's day
    where splits are to be found.
    """
    since = bars.index_until(watch.seen - dt.timedelta(days=1)) + 1
    shown = len(bars) - since
    if shown < 1:
        return Verdict(watch)
    hit: Hit | None = None
    days = bars.dates[since:]
    for day, (value, level) in zip(days, _pairs(watch, bars, shown), strict=True):
        if value is None or level is None:
            continue
        if _holds(watch.rule.side, value, level):
            if not watch.armed or day == watch.fired:
                continue
            hit = Hit(day, value, level)
            watch = replace(watch, armed=False, fired=day)
            if not watch.repeat:
                break
        elif not watch.armed and (watch.rule.kind == "day" or _is_back(watch.rule, value, level)):
            watch = replace(watch, armed=True)
    return Verdict(replace(watch, seen=max(watch.seen, bars.as_of)), hit)


def since(watch: Watch) -> dt.date:
    """The first day of the bars that `judge` wants."""
    warm = dt.timedelta(days=WARM_UP * 365 // 252 + 15) if watch.rule.kind == "indicator" else WEEKS
    return min(watch.anchor_day, watch.seen - warm)


def _holds(side: Side, value: float, level: float) -> bool:
    return value > level if side == "above" else value < level


def _is_back(rule: Rule, value: float, level: float) -> bool:
    """Whether the value has left its level clearly enough. `score`: of an indicator that is no price."""
    score = rule.kind == "indicator" and readings.parse(rule.left or "sma").name not in AVERAGES
    far = BACK_SCORE if score and abs(level) >= BACK_SCORE else abs(level) * BACK
    return value <= level - far if rule.side == "above" else value >= level + far


_Pairs = list[tuple[float | None, float | None]]


def _pairs(watch: Watch, bars: Bars, shown: int) -> _Pairs:
    """For each of the last `shown` bars what is compared with what; None where it has no value."""
    rule, close = watch.rule, list(bars.close[-shown:])
    scale = _scale(watch, bars)
    if rule.kind == "day":
        signed = rule.level if rule.side == "above" else -rule.level
        return [(move, signed) for move in _moves(bars, shown)]
    if rule.kind == "price":
        return [(value, rule.level * scale) for value in close]
    if rule.kind == "move":
        signed = rule.level if rule.side == "above" else -rule.level
        return [(value, watch.base * scale * (1 + signed / 100)) for value in close]
    made = _readings(rule, bars, shown)
    left: Values = _line(made, rule.left) if rule.left else list(close)
    if rule.right:
        return list(zip(left, _line(made, rule.right), strict=True))
    in_money = made[rule.left].unit == "price" if rule.left else True
    return [(value, rule.level * (scale if in_money else 1.0)) for value in left]


def _scale(watch: Watch, bars: Bars) -> float:
    """By how much prices of the anchor's day were changed since, by splits."""
    at = bars.index_until(watch.anchor_day)
    if at < 0 or bars.dates[at] != watch.anchor_day or watch.anchor <= 0:
        return 1.0
    scale = bars.close[at] / watch.anchor
    return scale if abs(scale - 1) > SPLIT else 1.0


def _moves(bars: Bars, shown: int) -> Values:
    closes = [None] * max(0, shown + 1 - len(bars)) + list(bars.close[-shown - 1 :])
    return [
        None if a is None or b is None or a <= 0 else (b / a - 1) * 100 for a, b in pairwise(closes)
    ]


def _readings(rule: Rule, bars: Bars, shown: int) -> dict[str, Reading]:
    asked = [readings.parse(label) for label in (rule.left, rule.right) if label]
    history = bars.rows(len(bars) - shown - WARM_UP, len(bars))
    return {one.label: one for one in readings.read(asked, history, shown)}


def _line(made: dict[str, Reading], label: str) -> Values:
    """The first line of an indicator: macd has its signal beside it, stoch its %D."""
    return next(iter(made[label].lines.values()))
