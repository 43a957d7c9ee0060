"""A report on a person's own book: what it is worth, how its risk is spread, and its positions side by side."""

from collections.abc import Sequence
from typing import Any

from agent_core.finance.portfolio import Line, Worth
from agent_core.finance.portfolio_risk import Diagnosis
from agent_core.finance.report_document import (
    Block,
    Bullets,
    Language,
    Paragraph,
    Picture,
    Section,
    Table,
)
from agent_core.tools import portfolio_words
from agent_core.tools import report_words as words
from agent_core.tools.portfolio_priced import Priced
from agent_core.tools.report_figures import Study
from agent_core.tools.report_stock import Made, returns_section
from agent_core.tools.report_words import LABELS, NONE, amount, moved, share
from agent_core.tools.series import percent
from agent_core.tools.spec import ToolContext

SHOWN = 15  # positions in the table, the largest first


def portfolio(
    ctx: ToolContext,
    priced: Priced,
    found: Diagnosis,
    risk: dict[str, Any],
    studied: Sequence[Study],
    picture: Picture | None,
) -> Made:
    """The report; `risk` are the diagnosis's fields, whose remarks are in the person's language."""
    language, part = ctx.language, priced.main
    zh = language == "zh"
    said = portfolio_words.summary(language, priced)
    title = "投资组合报告" if zh else "Portfolio report"
    remarks = tuple(risk["remarks"])
    head: list[Block] = [Paragraph(said + ("。" if zh else "."))]
    if remarks:
        head.append(Bullets(remarks))
    sections = [_positions(language, part, picture)] if part else []
    sections.append(_risk(language, found, risk))
    if studied:
        sections.append(returns_section(language, [one.facts for one in studied], None))
    return Made(
        title,
        tuple(head),
        tuple(sections),
        tuple((one.facts.symbol, words.conclusion(language, one.facts)) for one in studied),
        f"{said}{'；' if zh and remarks else '; ' if remarks else ''}{('；' if zh else '; ').join(remarks)}",
        {
            "book": portfolio_words.view_fields(ctx, priced),
            "risk": risk,
            "symbols": [one.facts.brief() for one in studied],
        },
        tuple(one.series.window for one in studied),
    )


def _positions(language: Language, part: Worth, picture: Picture | None) -> Section:
    zh = language == "zh"
    header = (
        ("证券", "数量", "成本", "价格", "市值", "浮动盈亏", "占比")
        if zh
        else ("Symbol", "Quantity", "Cost", "Price", "Value", "Gain", "Weight")
    )
    lines = sorted(part.lines, key=lambda line: line.converted or 0.0, reverse=True)
    blocks: list[Block] = [picture] if picture else []
    blocks.append(Table(header, tuple(map(_row, lines[:SHOWN]))))
    if len(lines) > SHOWN:
        more = len(lines) - SHOWN
        blocks.append(
            Paragraph(
                f"另有 {more} 个较小的持仓" if zh else f"and {more} smaller positions", small=True
            )
        )
    return Section("持仓" if zh else "Positions", tuple(blocks), LABELS[language]["fact"])


def _row(line: Line) -> tuple[str, ...]:
    held, currency = line.holding, line.currency
    return (
        held.symbol,
        f"{held.quantity:,g}",
        f"{amount(held.cost)} {held.currency}".strip(),
        NONE if line.price is None else f"{amount(line.price)} {currency}",
        NONE if line.value is None else f"{amount(line.value)} {currency}",
        moved(percent(line.gain_pct)),
        share(percent(line.share)),
    )


def _risk(language: Language, found: Diagnosis, risk: dict[str, Any]) -> Section:
    zh = language == "zh"
    largest = f"{found.largest[0]} {share(percent(found.largest[1]))}" if found.largest else NONE
    pair = found.most_alike
    alike = f"{pair.a} / {pair.b} {pair.correlation:.2f}" if pair else NONE
    beta = f"{found.beta.beta:.2f} ({risk['benchmark']})" if found.beta else NONE
    rows = (
        ("最大持仓" if zh else "Largest position", largest),
        ("前三大持仓" if zh else "The three largest", share(percent(found.top3_pct))),
        ("现金" if zh else "Cash", share(percent(found.cash_pct))),
        ("年化波动率" if zh else "Volatility, a year", share(percent(found.volatility_pct))),
        ("最大回撤" if zh else "Maximum drawdown", share(percent(found.drawdown_pct))),
        ("最相关的一对" if zh else "Most alike", alike),
        ("贝塔" if zh else "Beta", beta),
    )
    note = (
        f"按当前权重、{found.days} 个共同交易日计算。" if zh
        else f"Of the present weights over {found.days} common trading days."
    )  # fmt: skip
    blocks = (
        Table(("指标", "数值") if zh else ("Figure", "Value"), rows),
        Paragraph(note, small=True),
    )
    return Section("风险" if zh else "Risk", blocks, LABELS[language]["logic"])
