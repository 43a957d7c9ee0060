"""A report on one symbol, or on a few side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_core.finance.bars import Bars
from agent_core.finance.correlation import Pair
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
from agent_core.tools.report_figures import Facts, Study
from agent_core.tools.report_words import LABELS, amount, levels, moved, share
from agent_core.tools.series import percent


@dataclass(frozen=True, slots=True)
class Made:
    """A report before its own records, sources and limits are added.

    `lines` are (code, what is kept of it); `fields` go to the model; `windows` are the prices that it rests on; `head`
    is its summary, `notes` what must be known of its data; `brief` is the conclusion for a line, where that is shorter.
    """

    title: str
    head: tuple[Block, ...]
    sections: tuple[Section, ...]
    lines: tuple[tuple[str, str], ...]
    conclusion: str
    fields: dict[str, Any]
    windows: tuple[Bars, ...]
    notes: tuple[str, ...] = field(default=())
    brief: str = ""


def title(language: Language, studied: Sequence[Study]) -> str:
    """The report's name."""
    if len(studied) == 1:
        known = studied[0].series.symbol
        named = words.name(language, known.id, known.name, known.name_zh)
    else:
        named = ", ".join(one.facts.symbol for one in studied)
    return f"{named} 研究报告" if language == "zh" else f"Report on {named}"


def one(language: Language, study: Study, chart: Picture) -> Made:
    """A report on one symbol."""
    facts = study.facts
    head = (
        Paragraph(words.conclusion(language, facts) + ("。" if language == "zh" else ".")),
        _key(language, facts),
    )
    sections = (
        _prices(language, facts, chart), _trend(language, facts), _phase(language, facts), _risk(language, facts),
    )  # fmt: skip
    line = words.conclusion(language, facts)
    return Made(
        title(language, [study]),
        head,
        sections,
        ((facts.symbol, line),),
        line,
        {"symbols": [facts.fields()]},
        (study.series.window,),
    )


def several(
    language: Language,
    studied: Sequence[Study],
    charts: Sequence[Picture],
    compared: Picture | None,
    pairs: Sequence[Pair],
) -> Made:
    """A report on a few symbols, compared."""
    zh = language == "zh"
    lines = tuple((one.facts.symbol, words.conclusion(language, one.facts)) for one in studied)
    windows = tuple(one.series.window for one in studied)
    head = (Bullets(tuple(line for _, line in lines)),)
    sections = [returns_section(language, [one.facts for one in studied], compared)]
    sections.append(correlation_section(language, pairs))
    for study, chart in zip(studied, charts, strict=True):
        facts, known = study.facts, study.series.symbol
        named = words.name(language, known.id, known.name, known.name_zh)
        blocks: tuple[Block, ...] = (
            chart,
            Paragraph(words.prices(language, facts)),
            Paragraph(words.trend(language, facts)),
            Paragraph(words.risk(language, facts)),
            Paragraph(words.phase(language, facts)),
        )
        sections.append(Section(named, blocks, LABELS[language]["heuristic"]))
    return Made(
        title(language, studied),
        head,
        tuple(sections),
        lines,
        ("；" if zh else "; ").join(line for _, line in lines),
        {"symbols": [one.facts.fields() for one in studied], "correlations": pair_fields(pairs)},
        windows,
        brief=", ".join(f"{one.facts.symbol} {moved(one.facts.change_pct)}" for one in studied),
    )


def returns_section(language: Language, facts: Sequence[Facts], picture: Picture | None) -> Section:
    """The symbols side by side."""
    zh = language == "zh"
    header = (
        ("证券", "收盘价", "区间", "1 个月", "3 个月", "1 年", "年化波动率", "最大回撤", "趋势")
        if zh
        else ("Symbol", "Close", "Window", "1 m", "3 m", "1 y", "Volatility", "Drawdown", "Trend")
    )
    rows = tuple(
        (
            one.symbol, f"{amount(one.last_close)} {one.currency}", moved(one.change_pct), moved(one.returns["1m"]),
            moved(one.returns["3m"]), moved(one.returns["12m"]), share(one.volatility_pct), share(one.drawdown_pct),
            words.TRENDS[language][one.trend],
        )
        for one in facts
    )  # fmt: skip
    blocks: list[Block] = [picture] if picture else []
    return Section(
        "对比" if zh else "Side by side", (*blocks, Table(header, rows)), LABELS[language]["logic"]
    )


def correlation_section(language: Language, pairs: Sequence[Pair]) -> Section:
    """How the symbols go together."""
    zh = language == "zh"
    header = (
        ("证券对", "相关系数", "共同收益率（日）")
        if zh
        else ("Pair", "Correlation", "Common daily returns")
    )
    rows = tuple(
        (f"{p.first} / {p.second}", words.NONE if p.value is None else f"{p.value:.2f}", str(p.days)) for p in pairs
    )  # fmt: skip
    note = (
        "皮尔逊相关系数，1 表示同涨同跌，0 表示无线性关系。" if zh
        else "Pearson's coefficient of daily returns: 1 means that they move as one, 0 that neither tells of the other."
    )  # fmt: skip
    blocks = (Table(header, rows), Paragraph(note, small=True))
    return Section("相关性" if zh else "Correlation", blocks, LABELS[language]["logic"])


def pair_fields(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """For the model."""
    return [
        {"pair": [p.first, p.second], "correlation": percent(p.value), "common_returns": p.days} for p in pairs
    ]  # fmt: skip


def _table(language: Language, rows: Sequence[tuple[str, str, str]]) -> Table:
    """Names in both languages, and what they are."""
    zh = language == "zh"
    header = ("指标", "数值") if zh else ("Figure", "Value")
    return Table(header, tuple((in_zh if zh else en, value) for en, in_zh, value in rows))


def _key(language: Language, one: Facts) -> Table:
    return _table(
        language,
        [
            ("Last close", "收盘价", f"{amount(one.last_close)} {one.currency}"),
            ("Change over the window", "区间涨跌", moved(one.change_pct)),
            ("Trend", "趋势", words.TRENDS[language][one.trend]),
            ("Nearest support", "最近支撑", levels(one.support[:1])),
            ("Nearest resistance", "最近阻力", levels(one.resistance[:1])),
            ("Volatility, a year", "年化波动率", share(one.volatility_pct)),
            ("Maximum drawdown", "最大回撤", share(one.drawdown_pct)),
        ],
    )


def _prices(language: Language, one: Facts, chart: Picture) -> Section:
    rows = [
        ("1 month", "1 个月", moved(one.returns["1m"])),
        ("3 months", "3 个月", moved(one.returns["3m"])),
        ("6 months", "6 个月", moved(one.returns["6m"])),
        ("12 months", "12 个月", moved(one.returns["12m"])),
        ("The window", "区间", moved(one.change_pct)),
        ("Growth a year", "年复合增长", moved(one.cagr_pct)),
    ]
    blocks = (chart, Paragraph(words.prices(language, one)), _table(language, rows))
    name = "价格与收益" if language == "zh" else "Price and returns"
    return Section(name, blocks, LABELS[language]["fact"])


def _trend(language: Language, one: Facts) -> Section:
    rows = [
        ("SMA20", "SMA20", amount(one.sma20)),
        ("SMA50", "SMA50", amount(one.sma50)),
        ("SMA200", "SMA200", amount(one.sma200)),
        ("RSI 14", "RSI 14", words.NONE if one.rsi14 is None else f"{one.rsi14:.2f}"),
        ("MACD histogram", "MACD 柱", amount(one.macd_histogram)),
        ("ATR 14", "ATR 14", amount(one.atr14)),
        ("Support, nearest first", "支撑（由近及远）", levels(one.support)),
        ("Resistance, nearest first", "阻力（由近及远）", levels(one.resistance)),
    ]
    blocks = (Paragraph(words.trend(language, one)), _table(language, rows))
    name = "趋势与关键价位" if language == "zh" else "Trend and levels"
    return Section(name, blocks, LABELS[language]["logic"])


def _phase(language: Language, one: Facts) -> Section:
    zh = language == "zh"
    blocks: list[Block] = [Paragraph(words.phase(language, one))]
    if one.signs:
        blocks.append(Bullets(words.signs(language, one)))
    if one.volume_last is not None and one.volume_average_50 is not None:
        last, mean = f"{one.volume_last:,}", f"{one.volume_average_50:,}"
        blocks.append(
            Paragraph(
                f"最后一日成交量 {last} 股；此前 50 日平均 {mean} 股。" if zh
                else f"Last volume {last} shares; the mean of the 50 days before it is {mean}."
            )
        )  # fmt: skip
    else:
        blocks.append(
            Paragraph(
                "成交量不可用或不足以比较。"
                if zh
                else "Volumes are missing, or too few to compare."
            )
        )
    name = "成交量与阶段" if zh else "Volume and phase"
    return Section(name, tuple(blocks), LABELS[language]["heuristic"])


def _risk(language: Language, one: Facts) -> Section:
    rows = [
        ("Volatility, a year", "年化波动率", share(one.volatility_pct)),
        ("Maximum drawdown", "最大回撤", share(one.drawdown_pct)),
        ("95 % VaR, one day", "95% VaR（单日）", share(one.var_95)),
        ("99 % VaR, one day", "99% VaR（单日）", share(one.var_99)),
        ("Mean loss beyond the 95 % VaR", "超出 95% VaR 时的平均损失", share(one.shortfall_95)),
    ]
    blocks = (Paragraph(words.risk(language, one)), _table(language, rows))
    return Section("风险" if language == "zh" else "Risk", blocks, LABELS[language]["logic"])
