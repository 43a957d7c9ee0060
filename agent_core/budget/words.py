"""What people read of pots: their names, their sizes, and that one has no room. English and Chinese."""

import datetime as dt
from typing import Literal

from agent_core.errors import BudgetExceeded

Language = Literal["en", "zh"]

_NAMES: dict[str, tuple[str, str]] = {
    "run": ("the budget of one answer", "单次回答预算"),
    "user_day": ("your budget for today", "您今天的预算"),
    "user_month": ("your budget for this month", "您本月的预算"),
    "channel_day": ("this chat's budget for today", "本聊天今天的预算"),
    "day": ("everybody's budget for today", "今天的总预算"),
    "month": ("everybody's budget for this month", "本月的总预算"),
}
_UNITS = {"tokens": ("tokens", "token"), "runs": ("answers", "次回答")}
_TEXTS: dict[str, tuple[str, str]] = {
    "exceeded": (
        "What is left of {pot} ({size}) does not cover the next step, so I stopped.",
        "{pot}（{size}）余额不足以继续，已停止。",
    ),
    "resets": (" It begins anew on {at}.", "将于 {at} 重新计算。"),
    "unpriced": (
        "The model {model} has no known price, and the budgets here allow no such model. Choose another with /model.",
        "模型 {model} 价格未知，当前预算不允许使用，请用 /model 另选。",
    ),
    "switched": (
        "What is left of {pot} ({size}) does not cover {model}, so {fallback} answered.",
        "{pot}（{size}）余额不足以使用 {model}，已改由 {fallback} 回答。",
    ),
}


def name_of(pot: str, language: Language) -> str:
    """A kind of pot as part of a sentence."""
    return _NAMES[pot][language == "zh"]


def size_of(unit: str, size: float, language: Language) -> str:
    """An amount with its unit."""
    if unit == "usd":
        return dollars(size)
    words = _UNITS[unit][language == "zh"]
    return f"{size:,.0f} {words}"


def dollars(usd: float) -> str:
    """To the cent; amounts below ten cents to a hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def moment(at: dt.datetime) -> str:
    """A time with its zone, to the minute."""
    return f"{at:%Y-%m-%d %H:%M} ({getattr(at.tzinfo, 'key', at.tzname())})"


def exceeded(error: BudgetExceeded, language: Language) -> str:
    """Why a turn stopped: which pot, its size, and when it begins anew."""
    zh = language == "zh"
    if error.pot == "unpriced":
        return _TEXTS["unpriced"][zh].format(model=error.model)
    size = size_of(error.unit, error.size, language)
    text = _TEXTS["exceeded"][zh].format(pot=name_of(error.pot, language), size=size)
    if error.resets_at is not None:
        text += _TEXTS["resets"][zh].format(at=moment(error.resets_at))
    return text


def switched(error: BudgetExceeded, language: Language) -> str:
    """That another model answered, and why."""
    return _TEXTS["switched"][language == "zh"].format(
        pot=name_of(error.pot, language),
        size=size_of(error.unit, error.size, language),
        model=f"`{error.model}`",
        fallback=f"`{error.fallback}`",
    )
