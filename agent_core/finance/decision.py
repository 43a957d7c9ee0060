"""A dated decision about one symbol by rules that can be read; no forecast, and never from a single ground.

Six grounds vote up (+1), down (−1) or neither (0); one that cannot be told does not vote:

- trend: trend.py's direction; for a long horizon whether the last close is above SMA200.
- momentum, by style. trend: the change over the horizon, ± its threshold. reversion: RSI at 30 or below is up, at 70 or
  above down. breakout: a close above the highest high of the bars before it, or below their lowest low.
- levels: reward to risk of the plan, where its target is a real resistance: 1.5 or more is up, less than 1 down.
- volatility: rough against its own year (regime.py) is down; else neither.
- phase (a heuristic): accumulation and markup are up, distribution and markdown down.
- backtest: the style's strategy counts only if it beat holding after the split: up where it is long at the end, else
  down. It needs a year of bars and three closed trades.

The first four are firm. Buy: firm grounds sum to 2 or more, all to 3 or more, and the plan's reward to risk is 1 or
more. Hold: firm and all sum to 1 or more. Reduce (who holds it) or avoid (else): firm sum to −1 or less and all to −2
or less. Anything else is no decision; so are fewer than FEWEST bars. Phase and backtest alone decide nothing.

The plan: the stop lies half an ATR below the nearest support, but within the horizon's range of ATRs below the close;
the target is the nearest resistance at least one ATR above the close, or twice the risk where there is none; entries
are from half an ATR below the close to a quarter above it.

Confidence says how many grounds that voted or could have voted agree with the decision: high from four of five on if
the backtest is among them, medium from half on, else low.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_core.finance.backtest_figures import Figures
from agent_core.finance.horizons import Horizon, Style
from agent_core.finance.levels import Levels
from agent_core.finance.regime import Mood
from agent_core.finance.trend import Direction
from agent_core.finance.wyckoff import Phase

Verdict = Literal["buy", "hold", "reduce", "avoid", "no decision"]
Confidence = Literal["high", "medium", "low", "none"]
Name = Literal["trend", "momentum", "levels", "volatility", "phase", "backtest"]

FIRM: tuple[Name, ...] = ("trend", "momentum", "levels", "volatility")
FEWEST = 120  # bars
FEWEST_TESTED, FEWEST_TRADES = 250, 3
OVERSOLD, OVERBOUGHT = 30.0, 70.0
FAIR, GOOD = 1.0, 1.5  # reward to risk
BUY_FIRM, BUY_ALL, AGAINST_ALL = 2, 3, -2


@dataclass(frozen=True, slots=True)
class Span:
    """What a horizon means.

    Attributes:
        bars: Of the momentum, and of the channel for a breakout.
        drift_pct: A change of the momentum's bars that counts.
        months: Of prices in which levels are looked for.
        stop_atrs: The least and the most ATRs from the close to the stop.
        review_days: Calendar days until it is to be looked at again.
    """

    bars: int
    drift_pct: float
    months: int
    stop_atrs: tuple[float, float]
    review_days: int


SPANS: dict[Horizon, Span] = {
    "short": Span(21, 2.0, 6, (1.0, 2.0), 14),
    "medium": Span(63, 4.0, 12, (1.5, 3.0), 45),
    "long": Span(252, 8.0, 36, (2.0, 4.0), 120),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known at the last bar; None where it cannot be told. `long_at_end`: the strategy's side.

    `channel` are the lowest low and the highest high of the bars before the last one.
    """

    bars: int
    close: float
    atr: float | None
    direction: Direction
    sma200: float | None
    change_pct: float | None
    rsi: float | None
    channel: tuple[float, float] | None
    levels: Levels
    mood: Mood
    phase: Phase
    tested: Figures | None
    after_split: Figures | None
    long_at_end: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """Prices. `measured`: the target is a resistance; else it is twice the risk by construction."""

    entry_low: float
    entry_high: float
    stop: float
    target: float
    reward_to_risk: float
    measured: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, the votes it comes from (None: cannot be told), and how sure the rule is.

    `agree` of `told` grounds go the way of the verdict.
    """

    verdict: Verdict
    votes: dict[Name, int | None]
    plan: Plan | None
    confidence: Confidence
    agree: int
    told: int


def decide(scene: Scene, horizon: Horizon, style: Style, *, held: bool) -> Decision:
    """The decision of a scene. `held`: whether the person has the symbol."""
    span = SPANS[horizon]
    plan = _plan(scene, span)
    votes: dict[Name, int | None] = {
        "trend": _trend(scene, horizon),
        "momentum": _momentum(scene, span, style),
        "levels": _levels(plan),
        "volatility": None if scene.mood == "unknown" else -(scene.mood == "rough"),
        "phase": _PHASES[scene.phase],
        "backtest": _backtest(scene),
    }
    verdict = _verdict(votes, plan, held=held) if scene.bars >= FEWEST else "no decision"
    told = [vote for vote in votes.values() if vote is not None]
    sign = _SIGNS[verdict]
    agree = sum(1 for vote in told if vote == sign) if sign else 0
    sure = _confidence(votes, sign, agree, len(told))
    return Decision(verdict, votes, plan, sure, agree, len(told))


_PHASES: dict[Phase, int] = {
    "accumulation": 1,
    "markup": 1,
    "unclear": 0,
    "distribution": -1,
    "markdown": -1,
}
_SIGNS: dict[Verdict, int] = {"buy": 1, "hold": 1, "reduce": -1, "avoid": -1, "no decision": 0}


def _trend(scene: Scene, horizon: Horizon) -> int | None:
    if horizon == "long":
        return None if scene.sma200 is None else _against(scene.close, scene.sma200, scene.sma200)
    return {"up": 1, "down": -1, "sideways": 0}[scene.direction]


def _momentum(scene: Scene, span: Span, style: Style) -> int | None:
    if style == "reversion":
        return None if scene.rsi is None else -_against(scene.rsi, OVERSOLD, OVERBOUGHT, ends=True)
    if style == "breakout":
        return None if scene.channel is None else _against(scene.close, *scene.channel)
    if scene.change_pct is None:
        return None
    return _against(scene.change_pct, -span.drift_pct, span.drift_pct, ends=True)


def _against(value: float, low: float, high: float, *, ends: bool = False) -> int:
    """+1 above `high`, −1 below `low`, else 0; `ends`: the bounds themselves count."""
    if ends:
        return (value >= high) - (value <= low)
    return (value > high) - (value < low)


def _plan(scene: Scene, span: Span) -> Plan | None:
    if not scene.atr:
        return None
    close, atr = scene.close, scene.atr
    least, most = (close - atrs * atr for atrs in span.stop_atrs)
    support = _first(scene.levels.support)
    stop = most if support is None else min(max(support - atr / 2, most), least)
    if stop <= 0:
        return None
    above = _first([level for level in scene.levels.resistance if level >= close + atr])
    target = close + 2 * (close - stop) if above is None else above
    reward = (target - close) / (close - stop)
    return Plan(close - atr / 2, close + atr / 4, stop, target, reward, above is not None)


def _first(values: Sequence[float]) -> float | None:
    return values[0] if values else None


def _levels(plan: Plan | None) -> int | None:
    if plan is None:
        return None
    if not plan.measured:
        return 0
    return (plan.reward_to_risk >= GOOD) - (plan.reward_to_risk < FAIR)


def _backtest(scene: Scene) -> int | None:
    whole, after = scene.tested, scene.after_split
    if whole is None or after is None:
        return None
    if whole.bars < FEWEST_TESTED or whole.deals.closed < FEWEST_TRADES:
        return None
    if after.excess_pct <= 0:
        return 0
    return 1 if scene.long_at_end else -1


def _verdict(votes: dict[Name, int | None], plan: Plan | None, *, held: bool) -> Verdict:
    firm = sum(votes[name] or 0 for name in FIRM)
    total = sum(vote or 0 for vote in votes.values())
    worth = plan is not None and plan.reward_to_risk >= FAIR
    if firm >= BUY_FIRM and total >= BUY_ALL and worth:
        return "buy"
    if firm >= 1 and total >= 1:
        return "hold"
    if firm <= -1 and total <= AGAINST_ALL:
        return "reduce" if held else "avoid"
    return "no decision"


def _confidence(votes: dict[Name, int | None], sign: int, agree: int, told: int) -> Confidence:
    if not sign or not told:
        return "none"
    if agree * 5 >= told * 4 and votes["backtest"] == sign:
        return "high"
    return "medium" if agree * 2 >= told else "low"
