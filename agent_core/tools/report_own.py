"""What a report takes from the book of who asked for it, and what it leaves there (RMB-2, SIX-1, MSC-5).

A book is read in a private chat alone (DESIGN.md 3.4); what is written goes to the owner of the turn, wherever it runs.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.book import Alert, Event, Portfolio, Profile, Report
from agent_core.finance.portfolio_books import Books
from agent_core.finance.report_document import Language, Section, Table
from agent_core.tools.report_words import LABELS
from agent_core.tools.spec import ToolContext

SOURCE = "generate_ai_report"
DAYS = 90  # how far back events of the book are told
MOST = 8
TEXT = 200  # characters of an event that are shown
KEPT = 480  # characters of a conclusion that are kept
_KINDS = {
    "decision": "决策", "trade": "交易", "backtest": "回测", "signal": "信号", "news": "新闻",
    "report": "报告", "alert": "提醒",
}  # fmt: skip
_LEVELS = {
    "objective fact": "客观事实", "logic tool": "逻辑工具", "mixed": "混合", "emotional view": "情绪观点",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Own:
    """The newest events and the pending alerts of a book about some symbols; `read` tells whether it was looked at."""

    read: bool = False
    events: tuple[Event, ...] = ()
    alerts: tuple[Alert, ...] = ()

    @property
    def levels(self) -> list[str]:
        """The credibility of what was read."""
        return [event.credibility for event in self.events]

    def fields(self) -> list[dict[str, Any]]:
        """For the model."""
        return [
            {
                "kind": e.kind,
                "date": str(e.at.date()),
                "text": e.text[:TEXT],
                "credibility": e.credibility,
            }
            for e in self.events
        ] + [
            {"kind": "alert", "date": str(a.at.date()), "text": a.text[:TEXT]} for a in self.alerts
        ]


async def own(
    ctx: ToolContext, book: Portfolio | None, books: Books | None, codes: Sequence[str]
) -> Own:
    """What the book says of these symbols, as it stood at the call's `as_of`."""
    if book is None or books is None or not await books.private(ctx.turn_id):
        return Own()
    until = ctx.as_of or ctx.clock.now().date()
    since = until - dt.timedelta(days=DAYS)
    events = [
        e
        for e in await book.records(ctx.owner, Event)
        if since <= e.at.date() <= until and set(e.codes) & set(codes) and e.kind != "report"
    ]
    alerts = [
        a
        for a in await book.records(ctx.owner, Alert)
        if a.state == "pending" and a.symbol in codes and a.at.date() <= until
    ]
    return Own(True, tuple(events[:MOST]), tuple(alerts[:MOST]))


def section(language: Language, found: Own) -> list[Section]:
    """What the book says, each with its date and its level; nothing where it says nothing."""
    zh = language == "zh"
    rows = [
        (
            str(e.at.date()),
            _KINDS.get(e.kind, e.kind) if zh else e.kind,
            e.text[:TEXT],
            _level(zh, e.credibility),
        )
        for e in found.events
    ]
    rows += [
        (str(a.at.date()), _KINDS["alert"] if zh else "alert", a.text[:TEXT], "")
        for a in found.alerts
    ]
    if not rows:
        return []
    header = ("日期", "类型", "内容", "可信度") if zh else ("Date", "Kind", "What", "Credibility")
    title = "您的记录" if zh else "Your own records"
    return [Section(title, (Table(header, tuple(rows), figures=False),), LABELS[language]["own"])]


def _level(zh: bool, level: str) -> str:
    return _LEVELS.get(level, level) if zh else level


async def keep(
    ctx: ToolContext, book: Portfolio, title: str, text: str, lines: Sequence[tuple[str, str]]
) -> None:
    """Keep a report's conclusion, an event, and the profile of each symbol by its line; `lines` are (code, line)."""
    now = ctx.clock.now()
    codes = tuple(code for code, _ in lines)
    await book.put(ctx.owner, Report(text[:KEPT], now, title, codes))
    await book.put(ctx.owner, Event("report", title, now, codes, SOURCE, "logic tool"))
    if ctx.as_of is not None:
        return  # a profile says how things stand now
    for code, line in lines:
        kept = await _signal(ctx, book, code)
        await book.put(ctx.owner, Profile(code, line[:KEPT], now, kept, SOURCE))


async def _signal(ctx: ToolContext, book: Portfolio, code: str) -> str:
    """The last fused signal stays: a report computes none."""
    kept = await book.records(ctx.owner, Profile)
    return next((profile.signal for profile in kept if profile.symbol == code), "")
