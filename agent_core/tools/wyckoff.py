"""wyckoff_diagnose: phase and events after Wyckoff's method, with the rules that fired; a heuristic, and said so."""

import asyncio
from typing import Literal

from agent_core.finance import wyckoff
from agent_core.finance.sources.chain import Sources
from agent_core.finance.wyckoff import Diagnosis, Kind, Phase, Sign, Stretch
from agent_core.tools import answers, notices, series
from agent_core.tools.series import dump, percent, price
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
MOST_SIGNS = 6

PHASES: dict[Phase, str] = {
    "accumulation": "吸筹",
    "markup": "上涨",
    "distribution": "派发",
    "markdown": "下跌",
    "unclear": "不明确",
}
KINDS: dict[Kind, str] = {
    "selling climax": "卖出高潮（候选）",
    "buying climax": "买入高潮（候选）",
    "spring": "弹簧（候选）",
    "upthrust": "上冲回落（候选）",
}
_RULES = {
    "P1": (
        "the fitted line rises by more than a third of the range of 60 bars, and the close is above SMA50",
        "60 根K线的拟合线上升超过其高度的三分之一，且收盘价在 SMA50 之上",
    ),
    "P2": (
        "the fitted line falls by more than a third of the range of 60 bars, and the close is below SMA50",
        "60 根K线的拟合线下降超过其高度的三分之一，且收盘价在 SMA50 之下",
    ),
    "P3": (
        "60 bars go sideways after a fall of 10 % or more, and falling days are not the heavier ones",
        "此前下跌 10% 以上，之后 60 根K线横盘，且下跌日没有放量",
    ),
    "P4": (
        "60 bars go sideways after a rise of 10 % or more, and rising days are not the heavier ones",
        "此前上涨 10% 以上，之后 60 根K线横盘，且上涨日没有放量",
    ),
    "P5": ("none of the rules P1 to P4 holds", "规则 P1 至 P4 都不成立"),
    "E1": (
        "heavy volume and a wide bar 8 % or more below the close of 20 bars before",
        "放量长K线，且比 20 根之前的收盘价低 8% 以上",
    ),
    "E2": (
        "heavy volume and a wide bar 8 % or more above the close of 20 bars before",
        "放量长K线，且比 20 根之前的收盘价高 8% 以上",
    ),
    "E3": ("a low just below a range, and a close back above it", "短暂跌破区间低点后收回其上"),
    "E4": ("a high just above a range, and a close back below it", "短暂突破区间高点后收回其下"),
}


def wyckoff_tools(sources: Sources) -> list[ToolSpec]:
    """The tools of this file, on these sources."""

    @tool(
        title={"en": "Wyckoff phase", "zh": "威科夫诊断"},
        timeout=30,
        credibility=CREDIBILITY,
        output=answers.Phase,
    )
    async def wyckoff_diagnose(ctx: ToolContext, symbol: str, end: str | None = None) -> ToolOutput:
        """Heuristic phase (accumulation, markup, distribution, markdown, unclear) of one symbol by Wyckoff's method.

        Gives the rule that fired, the figures behind it, and candidates for climax, spring and upthrust. No fact: say
        that it is a heuristic.

        Args:
            symbol: Code or name in English or Chinese.
            end: Last day to look at, YYYY-MM-DD, or a year or month; the newest when left out.
        """
        found = await series.load(sources, ctx, symbol, None, end)
        result = await asyncio.to_thread(wyckoff.diagnose, found.history)
        fields = found.head(CREDIBILITY) | {"last_close": price(found.window.close[-1])}
        fields |= phase_fields(ctx, result, MOST_SIGNS)
        fields |= {"figures": _figures(result.stretch), "notice": notices.past(ctx.language)}
        return ToolOutput(dump(fields), f"{found.name(ctx.language)}: {phase_line(ctx, result)}")

    return [wyckoff_diagnose]


def phase_fields(ctx: ToolContext, result: Diagnosis, most: int) -> dict[str, object]:
    """The phase and at most `most` events, labelled as what they are, in the person's language where it is prose."""
    zh = ctx.language == "zh"
    note = ""
    if result.stretch is None:
        note = f"需要至少 {wyckoff.FEWEST} 根K线" if zh else f"needs at least {wyckoff.FEWEST} bars"
    elif not result.volume_counts:
        note = (
            "成交量不可用，规则按无成交量判断"
            if zh
            else "volumes mean nothing here: judged without them"
        )
    return {
        "method": "Wyckoff, heuristic",
        "phase": result.phase,
        "rule": f"{result.rule}: {rule_words(ctx.language, result.rule)}",
        "events": [_event(ctx, sign) for sign in result.signs[:most]],
        "phase_caveat": note,
    }


def phase_line(ctx: ToolContext, result: Diagnosis) -> str:
    """One clause for a person."""
    if ctx.language == "zh":
        return f"威科夫阶段（启发式）：{PHASES[result.phase]}，规则 {result.rule}"
    return f"Wyckoff phase (heuristic): {result.phase}, rule {result.rule}"


def rule_words(language: str, rule: str) -> str:
    """What a rule of finance/wyckoff.py says: P1 to P5, E1 to E4."""
    return _RULES[rule][language == "zh"]


def _event(ctx: ToolContext, sign: Sign) -> dict[str, object]:
    kind = KINDS[sign.kind] if ctx.language == "zh" else f"{sign.kind} candidate"
    return {
        "kind": kind,
        "date": str(sign.date),
        "price": price(sign.price),
        "volume_ratio": percent(sign.volume_ratio),
        "rule": f"{sign.rule}: {rule_words(ctx.language, sign.rule)}",
    }


def _figures(found: Stretch | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "bars": wyckoff.RANGE,
        "high": price(found.high),
        "low": price(found.low),
        "height_pct": percent(found.height_pct),
        "drift_pct": percent(found.drift_pct),
        "change_before_pct": percent(found.prior_pct),
        "up_to_down_volume": percent(found.volume_ratio),
        "place_in_range_pct": percent(found.place * 100),
        "above_sma50": found.above_sma50,
    }
