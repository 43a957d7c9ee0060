"""What a strategy decision says: its grounds with their labels, its plan, and the line that is kept of it."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from agent_core.finance.backtest_job import Outcome
from agent_core.finance.decision import Decision, Name, Scene, Verdict
from agent_core.finance.horizons import Horizon, Style
from agent_core.finance.report_document import Language
from agent_core.tools.regime import MOODS
from agent_core.tools.report_words import NONE, TRENDS, amount, moved
from agent_core.tools.series import percent, price
from agent_core.tools.wyckoff import PHASES

_VERDICTS: dict[Verdict, str] = {
    "buy": "买入", "hold": "持有", "reduce": "减仓", "avoid": "回避", "no decision": "不作决定",
}  # fmt: skip
_HORIZONS: dict[Horizon, str] = {"short": "短期", "medium": "中期", "long": "长期"}
_STYLES: dict[Style, str] = {"trend": "趋势", "reversion": "均值回归", "breakout": "突破"}
_NAMES: dict[Name, str] = {
    "trend": "趋势", "momentum": "动量", "levels": "价位", "volatility": "波动", "phase": "阶段", "backtest": "回测",
}  # fmt: skip
_SURE = {"high": "高", "medium": "中", "low": "低", "none": "无"}
HEURISTIC = "logic tool, heuristic"
LOGIC = "logic tool"


@dataclass(frozen=True, slots=True)
class Made:
    """A decision with what it was made of. `label` is the tested strategy with its parameters."""

    symbol: str
    currency: str
    as_of: dt.date
    horizon: Horizon
    style: Style
    scene: Scene
    decision: Decision
    label: str
    outcome: Outcome
    review_by: dt.date


def grounds(language: Language, made: Made) -> list[dict[str, Any]]:
    """Every ground with its vote, what it rests on, and what kind of statement that is (CRD-1)."""
    said = _zh(made) if language == "zh" else _en(made)
    return [
        {
            "ground": _NAMES[name] if language == "zh" else name,
            "vote": vote,
            "says": said[name],
            "credibility": HEURISTIC if name == "phase" else LOGIC,
        }
        for name, vote in made.decision.votes.items()
    ]


def _en(made: Made) -> dict[Name, str]:
    scene, plan = made.scene, made.decision.plan
    after = scene.after_split
    return {
        "trend": f"trend {scene.direction}, close {_close(made)}, SMA200 {amount(price(scene.sma200))}",
        "momentum": f"{moved(percent(scene.change_pct))} over the horizon, RSI {_rsi(scene)}",
        "levels": "no plan: there is no ATR" if plan is None
        else f"reward to risk {plan.reward_to_risk:.2f}" + ("" if plan.measured else ", no resistance above"),
        "volatility": "too few days to rank" if scene.mood == "unknown" else f"{scene.mood} against its own year",
        "phase": f"{scene.phase} after Wyckoff, a heuristic",
        "backtest": f"{made.label} is {'long' if scene.long_at_end else 'not long'} at the end; after the split "
        + (f"{moved(percent(after.excess_pct))} against holding" if after else "there are too few bars"),
    }  # fmt: skip


def _zh(made: Made) -> dict[Name, str]:
    scene, plan = made.scene, made.decision.plan
    after = scene.after_split
    return {
        "trend": f"趋势{TRENDS['zh'][scene.direction]}，收盘价 {_close(made)}，SMA200 {amount(price(scene.sma200))}",
        "momentum": f"该期限内 {moved(percent(scene.change_pct))}，RSI {_rsi(scene)}",
        "levels": "没有计划：缺少 ATR" if plan is None
        else f"盈亏比 {plan.reward_to_risk:.2f}" + ("" if plan.measured else "（上方无阻力，按规则构造）"),
        "volatility": "天数不足，无法排名" if scene.mood == "unknown" else f"相对自身一年：{MOODS[scene.mood]}",
        "phase": f"威科夫阶段（启发式）：{PHASES[scene.phase]}",
        "backtest": f"{made.label} 期末{'持有' if scene.long_at_end else '未持有'}；样本外"
        + (f"相对持有 {moved(percent(after.excess_pct))}" if after else "K线不足"),
    }  # fmt: skip


def _close(made: Made) -> str:
    return f"{amount(price(made.scene.close))} {made.currency}"


def _rsi(scene: Scene) -> str:
    return NONE if scene.rsi is None else f"{scene.rsi:.2f}"


def line(language: Language, made: Made) -> str:
    """The decision in a line, with its date: what is shown, and what is kept."""
    found, plan = made.decision, made.decision.plan
    zh = language == "zh"
    acts = plan is not None and found.verdict in {"buy", "hold"}
    if zh:
        how = f"{_HORIZONS[made.horizon]}{_STYLES[made.style]}"
        said = f"{made.symbol} {made.as_of} {how}决定：{_VERDICTS[found.verdict]}"
        sure = f"，{found.told} 项依据中 {found.agree} 项一致（置信度{_SURE[found.confidence]}）"
    else:
        said = f"{made.symbol} on {made.as_of}, {made.horizon} {made.style}: {found.verdict}"
        sure = f", {found.agree} of {found.told} grounds agree (confidence {found.confidence})"
    said += sure if found.confidence != "none" else ""
    if plan is not None and acts:
        numbers = [
            amount(price(value))
            for value in (plan.entry_low, plan.entry_high, plan.stop, plan.target)
        ]
        low, high, stop, target = numbers
        entry = f"{low}–{high}"
        if found.verdict == "buy":
            said += f"，入场 {entry}" if zh else f"; entry {entry}"
        said += f"，止损 {stop}，目标 {target}" if zh else f"; stop {stop}, target {target}"
    return said


def plan_fields(made: Made) -> dict[str, Any] | None:
    """Prices of the plan; an entry only where the verdict is to buy, nothing where it is not to hold."""
    found, plan = made.decision, made.decision.plan
    if plan is None or found.verdict not in {"buy", "hold"}:
        return None
    return {
        "entry_zone": [price(plan.entry_low), price(plan.entry_high)]
        if found.verdict == "buy"
        else None,
        "stop": price(plan.stop),
        "target": price(plan.target),
        "target_is": "resistance" if plan.measured else "twice the risk: no resistance above",
        "reward_to_risk": percent(plan.reward_to_risk),
    }


def invalidation(language: Language, made: Made) -> str:
    """What would show that the decision is wrong, or what would lead to one."""
    zh = language == "zh"
    plan, levels = made.decision.plan, made.scene.levels
    if made.decision.verdict in {"buy", "hold"} and plan is not None:
        stop = amount(price(plan.stop))
        return f"收盘价低于 {stop} 则失效" if zh else f"wrong with a close below {stop}"
    above = amount(price(levels.resistance[0])) if levels.resistance else ""
    below = amount(price(levels.support[0])) if levels.support else ""
    if made.decision.verdict in {"reduce", "avoid"}:
        if not above:
            return (
                "上方没有可作为失效价位的阻力"
                if zh
                else "no resistance above that would prove it wrong"
            )
        return f"收盘价高于 {above} 则失效" if zh else f"wrong with a close above {above}"
    parts = [f"高于 {above}" if zh else f"above {above}"] if above else []
    parts += [f"低于 {below}" if zh else f"below {below}"] if below else []
    if not parts:
        return ""
    return (
        f"收盘价{'或'.join(parts)}后再看"
        if zh
        else f"look again after a close {' or '.join(parts)}"
    )
