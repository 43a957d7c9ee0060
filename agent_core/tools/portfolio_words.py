"""A priced book as a model reads it, as a person reads it in a line, and as it is drawn."""

import datetime as dt
from collections.abc import Iterable
from typing import Any, Literal

from agent_core import symbols
from agent_core.finance.portfolio import Line, Worth
from agent_core.finance.portfolio_chart import Allocation, Part
from agent_core.tools.orders_notes import told
from agent_core.tools.portfolio_priced import Priced
from agent_core.tools.series import joined, percent, price, units
from agent_core.tools.spec import ToolContext

SHOWN = 40  # positions that are told in full, the largest first
TRADES = 10
STORE = "portfolio store"
Language = Literal["en", "zh"]


def head(priced: Priced) -> dict[str, Any]:
    """The fields that every answer about a book begins with."""
    quotes = priced.quotes.values()
    days = sorted(q.date for q in quotes)
    sources = ", ".join(sorted({q.source for q in quotes}))
    main = priced.main
    return {
        "source": f"{STORE}; prices: {sources}" if sources else STORE,
        "as_of": str(days[-1]) if days else None,
        "window": {"start": str(days[0]), "end": str(days[-1])} if days else None,
        "currency": main.currency if main else None,
        "credibility": "objective fact",
    }


def empty() -> dict[str, Any]:
    """The fields of an answer about a book that holds nothing."""
    unknown = dict.fromkeys(("as_of", "window", "currency"))
    return {"source": STORE, **unknown, "credibility": "objective fact", "positions": []}


def view_fields(ctx: ToolContext, priced: Priced) -> dict[str, Any]:
    """Everything about a book."""
    fields = head(priced)
    for name, part in (("own", priced.own), ("paper", priced.paper)):
        if part is not None:
            fields[name] = _worth(part)
    fields["open_orders"] = [
        {
            "order_id": o.id, "symbol": o.symbol, "side": o.side, "quantity": units(o.quantity), "kind": o.kind,
            "price": o.level, "account": o.account, "status": o.status,
            "note": told(o.note, ctx.language),
        }
        for o in priced.contents.orders
    ]  # fmt: skip
    fields["last_trades"] = [
        {
            "kind": t.kind, "symbol": t.symbol, "quantity": units(t.quantity), "price": price(t.price),
            "amount": round(t.amount, 2), "fee": round(t.fee, 2),
            "currency": t.currency, "account": t.account, "date": str(t.day), "realised": round(t.realised, 2),
        }
        for t in priced.contents.trades[:TRADES]
    ]  # fmt: skip
    fields["note"] = joined(ctx, _notes(ctx, priced))
    return fields


def _worth(part: Worth) -> dict[str, Any]:
    lines = sorted(part.lines, key=lambda line: line.converted or 0.0, reverse=True)
    return {
        "total": None if part.total is None else round(part.total, 2),
        "currency": part.currency,
        "by_currency": {
            currency: {
                "positions": round(total.positions, 2),
                "cash": round(total.cash, 2),
                "unrealised": round(total.gain, 2),
                "realised": round(total.realised, 2),
                "dividends": round(total.dividends, 2),
            }
            for currency, total in part.by_currency.items()
        },
        "positions": [_line(line) for line in lines[:SHOWN]],
        "positions_shown": f"{min(len(lines), SHOWN)} of {len(lines)}",
        "cash": [
            {"account": c.account, "currency": c.currency, "amount": round(c.amount, 2)}
            for c in part.cash
        ],
    }


def _line(line: Line) -> dict[str, Any]:
    held = line.holding
    fields = {
        "symbol": held.symbol,
        "name": held.name or None,
        "account": held.account,
        "quantity": units(held.quantity),
        "cost": price(held.cost),
        "cost_currency": held.currency or None,
        "price": price(line.price),
        "price_date": str(line.day) if line.day else None,
        "price_source": line.source or None,
        "value": price(line.value),
        "currency": line.currency or None,
        "unrealised": None if line.gain is None else round(line.gain, 2),
        "unrealised_pct": percent(line.gain_pct),
        "weight_pct": percent(line.share),
        "note": line.why or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _notes(ctx: ToolContext, priced: Priced) -> list[str]:
    zh = ctx.language == "zh"
    notes: list[str] = []
    if ctx.as_of is not None:
        notes.append(
            f"持仓为现在的记录，价格截至 {ctx.as_of}"
            if zh
            else f"positions are those of now, prices those of {ctx.as_of}"
        )
    old = [q for q in priced.quotes.values() if not q.live]
    if old and ctx.as_of is None:
        day = max(q.date for q in old)
        names = ", ".join(sorted(q.symbol for q in old))
        notes.append(
            f"{names} 的最新价格是 {day} 的，不是今天的"
            if zh
            else f"the newest prices of {names} are of {day}, not of today"
        )
    if priced.missing:
        names = ", ".join(sorted(priced.missing))
        notes.append(
            f"没有价格，未计入总额：{names}" if zh else f"without a price and in no total: {names}"
        )
    for part in filter(None, (priced.own, priced.paper)):
        if part.unconverted:
            names = ", ".join(part.unconverted)
            notes.append(
                f"没有汇率，未计入总额：{names}"
                if zh
                else f"no rate to {part.currency}, so in no total: {names}"
            )
    return notes


def summary(language: Language, priced: Priced) -> str:
    """A book in a line."""
    parts = [
        _told(language, part, paper=part is priced.paper)
        for part in filter(None, (priced.own, priced.paper))
    ]
    return ("；" if language == "zh" else "; ").join(parts)


def _told(language: Language, part: Worth, *, paper: bool) -> str:
    total = "?" if part.total is None else f"{part.total:,.2f} {part.currency}"
    count = len(part.lines)
    if language == "zh":
        return f"{'模拟账户' if paper else '组合'} {total}，{count} 个持仓"
    return f"{'paper account' if paper else 'portfolio'} {total}, {count} position{'' if count == 1 else 's'}"


def allocation(language: Language, priced: Priced) -> Allocation | None:
    """What is drawn of a book; None where nothing of it has a share."""
    part = priced.main
    if part is None or not part.total or part.total <= 0:
        return None
    bars = [_bar(line) for line in part.lines if line.share is not None]
    cash = part.total - sum(line.converted or 0.0 for line in part.lines)
    if abs(cash) > part.total * 1e-6:
        bars.append(Part("Cash", "现金", cash / part.total * 100, is_cash=True))
    if not bars:
        return None
    days = [q.date for q in priced.quotes.values()]
    sources = ", ".join(sorted({q.source for q in priced.quotes.values()}))
    paper = part is priced.paper
    return Allocation(
        parts=bars,
        total=f"{part.total:,.2f} {part.currency}",
        below=_below("en", paper, days, sources),
        below_zh=_below("zh", paper, days, sources),
        language=language,
    )


def _below(language: Language, paper: bool, days: Iterable[dt.date], sources: str) -> str:
    """Which account, the day of its newest price, and where the prices come from."""
    zh, last = language == "zh", max(days, default=None)
    account = ("模拟账户" if zh else "paper account") if paper else ""
    until = f"价格截至 {last}，来源：{sources}" if zh else f"prices to {last}, source: {sources}"
    return ("，" if zh else ", ").join(filter(None, [account, until if last else ""]))


def _bar(line: Line) -> Part:
    known = symbols.lookup(line.holding.symbol)
    names = [line.holding.symbol, line.holding.symbol]
    if known is not None and known.id == line.holding.symbol:
        names = [f"{known.id} {known.name}", f"{known.id} {known.name_zh}"]
    return Part(names[0].strip(), names[1].strip(), line.share or 0.0, line.gain_pct)
