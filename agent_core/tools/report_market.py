"""A report on a market: its state as a whole, and its members side by side."""

from collections.abc import Sequence
from typing import Any

from agent_core.finance.correlation import Pair
from agent_core.finance.regime import Regime
from agent_core.finance.report_document import (
    Block,
    Bullets,
    Language,
    Paragraph,
    Picture,
    Section,
    Table,
)
from agent_core.tools import report_words as words
from agent_core.tools.regime import MOODS
from agent_core.tools.report_figures import Study
from agent_core.tools.report_stock import Made, correlation_section, pair_fields, returns_section
from agent_core.tools.report_words import LABELS, TRENDS, moved, share
from agent_core.tools.series import percent


def market(
    language: Language,
    studied: Sequence[Study],
    state: Regime,
    compared: Picture | None,
    pairs: Sequence[Pair],
    named: str,
) -> Made:
    """The report; `named` is what the market was called, "" for nothing."""
    zh = language == "zh"
    lines = tuple((one.facts.symbol, words.conclusion(language, one.facts)) for one in studied)
    windows = tuple(one.series.window for one in studied)
    said = _state(language, state, len(studied))
    title = named or ("市场报告" if zh else "Market report")
    sections = [
        _table(language, state),
        returns_section(language, [one.facts for one in studied], compared),
    ]
    if pairs:
        sections.append(correlation_section(language, pairs))
    return Made(
        title,
        (Paragraph(said), Bullets(_extremes(language, studied))),
        tuple(sections),
        lines,
        said,
        {
            "market": _fields(state),
            "symbols": [one.facts.brief() for one in studied],
            "correlations": pair_fields(pairs),
        },
        windows,
    )


def _state(language: Language, state: Regime, members: int) -> str:
    change, mood = moved(percent(state.trend.fit.change_pct)), state.mood
    days, direction = state.trend.fit.bars, state.trend.direction
    if language == "zh":
        return (
            f"{members} 只证券的等权平均：趋势{TRENDS['zh'][direction]}，{days} 个交易日的拟合线变动 {change}；"
            f"波动{MOODS[mood]}。"
        )
    what = f"The equally weighted mean of {members} symbols" if members > 1 else "The market"
    rough = "cannot be ranked yet" if mood == "unknown" else f"is {mood} against its own year"
    return (
        f"{what} has the trend {direction}: a line fitted to {days} closes changes by {change}. "
        f"Its volatility {rough}."
    )


def _extremes(language: Language, studied: Sequence[Study]) -> tuple[str, ...]:
    """The strongest and the weakest of the window."""
    ordered = sorted(studied, key=lambda one: one.facts.change_pct or 0.0, reverse=True)
    best, worst = ordered[0].facts, ordered[-1].facts
    if language == "zh":
        found = [f"区间内最强：{best.symbol}，{moved(best.change_pct)}"]
        return (
            (*found, f"区间内最弱：{worst.symbol}，{moved(worst.change_pct)}")
            if len(ordered) > 1
            else tuple(found)
        )
    found = [f"Strongest of the window: {best.symbol}, {moved(best.change_pct)}"]
    return (
        (*found, f"Weakest: {worst.symbol}, {moved(worst.change_pct)}")
        if len(ordered) > 1
        else tuple(found)
    )


def _table(language: Language, state: Regime) -> Section:
    zh = language == "zh"
    header = ("指标", "数值") if zh else ("Figure", "Value")
    rows: tuple[tuple[str, str], ...] = (
        ("趋势" if zh else "Trend", TRENDS[language][state.trend.direction]),
        (
            "20 日年化波动率" if zh else "Volatility of 20 days, a year",
            share(percent(state.volatility)),
        ),
        ("在一年中的百分位" if zh else "Its percentile within a year", share(percent(state.rank))),
        ("高于 SMA50 的成员" if zh else "Members above SMA50", share(percent(state.above_sma50))),
        (
            "高于 SMA200 的成员" if zh else "Members above SMA200",
            share(percent(state.above_sma200)),
        ),
    )
    blocks: tuple[Block, ...] = (Table(header, rows),)
    return Section("市场状态" if zh else "State of the market", blocks, LABELS[language]["logic"])


def _fields(state: Regime) -> dict[str, Any]:
    return {
        "trend": state.trend.direction,
        "fitted_pct": percent(state.trend.fit.change_pct),
        "fitted_days": state.trend.fit.bars,
        "mood": state.mood,
        "volatility_pct_20_days": percent(state.volatility),
        "percentile_of_year": percent(state.rank),
        "above_sma50_pct": percent(state.above_sma50),
        "above_sma200_pct": percent(state.above_sma200),
    }
