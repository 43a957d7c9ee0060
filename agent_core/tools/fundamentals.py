"""fundamentals and filings: what a company reports, and the documents themselves."""

from typing import Literal

from agent_core import symbols
from agent_core.finance.fundamentals import Filing, Fundamentals, Statement
from agent_core.finance.sources.reports import Reports
from agent_core.finance.sources.source import NoData
from agent_core.symbols import Symbol
from agent_core.tools import answers
from agent_core.tools.series import dump, percent
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["objective fact"] = "objective fact"
MAX_STATEMENTS = 8
MAX_FILINGS = 40


def fundamentals_tools(reports: Reports | None = None) -> list[ToolSpec]:
    """The tools of this file. Without a source they say what to enable."""
    chain = reports or Reports()
    return [_fundamentals(chain), _filings(chain)]


def _fundamentals(reports: Reports) -> ToolSpec:
    @tool(title={"en": "Fundamentals", "zh": "基本面"}, timeout=60, output=answers.Reported)
    async def fundamentals(
        ctx: ToolContext,
        symbol: str,
        period: Literal["year", "quarter"] = "year",
        statements: int = 4,
    ) -> ToolOutput:
        """Reported figures of a company by year or quarter: revenue, income, cash flow, balance, margins, growth.

        Only what was public on the run's day. Amounts are in the report's currency.

        Args:
            symbol: Code or name in English or Chinese, such as AAPL or 苹果.
            period: Annual or quarterly statements.
            statements: How many, newest first, 1 to 8.
        """
        share = _company(symbol)
        try:
            found = await reports.fundamentals(share.id, period, ctx.as_of)
        except NoData as error:
            raise ToolFailure(str(error)) from error
        shown = found.statements[: max(1, min(statements, MAX_STATEMENTS))]
        rows = [_row(s, _before(found, s)) for s in shown]
        fields: dict[str, object] = {
            "symbol": share.id,
            "name": found.name,
            "source": found.source,
            "as_of": _as_of(ctx, found),
            "window": _window(shown),
            "currency": found.currency,
            "credibility": CREDIBILITY,
            "period": period,
            "statements": rows,
            "now": dict(found.now),
            "note": _note(ctx, shown),
        }
        newest = f"{shown[0].period_end}" if shown else "—"
        return ToolOutput(dump(fields), f"{share.id}: {newest} ({found.source})")

    return fundamentals


def _filings(reports: Reports) -> ToolSpec:
    @tool(title={"en": "Filings", "zh": "公告文件"}, timeout=60, output=answers.Filed)
    async def filings(
        ctx: ToolContext, symbol: str, forms: list[str] | None = None, limit: int = 10
    ) -> ToolOutput:
        """Documents that a company filed with its regulator, newest first, with their addresses.

        Args:
            symbol: Code or name in English or Chinese, such as AAPL or 苹果.
            forms: Only these forms, such as 10-K, 10-Q or 8-K; all when left out.
            limit: How many, 1 to 40.
        """
        share = _company(symbol)
        wanted = tuple(form.strip().upper() for form in forms or () if form.strip())
        try:
            source, found = await reports.filings(share.id, wanted, ctx.as_of)
        except NoData as error:
            raise ToolFailure(str(error)) from error
        shown = found[: max(1, min(limit, MAX_FILINGS))]
        fields: dict[str, object] = {
            "symbol": share.id,
            "name": share.name,
            "source": source,
            "as_of": str(ctx.as_of or ctx.clock.now().date()),
            "window": {"start": str(shown[-1].filed), "end": str(shown[0].filed)},
            "currency": None,
            "credibility": CREDIBILITY,
            "filings": [_filing(f) for f in shown],
            "more": len(found) - len(shown),
        }
        last = shown[0]
        return ToolOutput(dump(fields), f"{share.id}: {last.form} {last.filed} ({source})")

    return filings


def _company(query: str) -> Symbol:
    found = symbols.lookup(query) or symbols.coded(query)
    if found is None:
        near = ", ".join(s.id for s in symbols.resembling(query))
        cure = f"did you mean {near}?" if near else "name a company or its code"
        raise ToolFailure(f"no company is named {query!r}; {cure}")
    if found.market in {"CRYPTO", "FX"}:
        raise ToolFailure(f"{found.id} is no company: nobody reports for it")
    return found


def _before(found: Fundamentals, statement: Statement) -> Statement | None:
    """The statement of a year earlier, for growth."""
    for other in found.statements:
        if 350 <= (statement.period_end - other.period_end).days <= 380:
            return other
    return None


def _row(statement: Statement, before: Statement | None) -> dict[str, object]:
    values = statement.values
    row: dict[str, object] = {
        "period_end": str(statement.period_end),
        "filed": str(statement.filed) if statement.filed else None,
        **values,
    }
    for name, figure in (
        ("gross", "gross_profit"),
        ("operating", "operating_income"),
        ("net", "net_income"),
    ):
        row |= _ratio(f"{name}_margin_pct", values.get(figure), values.get("revenue"))
    row |= _ratio("return_on_equity_pct", values.get("net_income"), values.get("equity"))
    earlier = before.values.get("revenue") if before else None
    revenue = values.get("revenue")
    if revenue is not None and earlier:
        row["revenue_growth_pct"] = percent((revenue / earlier - 1) * 100)
    return row


def _ratio(name: str, part: float | None, whole: float | None) -> dict[str, object]:
    if part is None or whole is None or whole <= 0:
        return {}
    return {name: percent(part / whole * 100)}


def _as_of(ctx: ToolContext, found: Fundamentals) -> str:
    """The day for which it holds: today where the source tells of the present, else the newest statement's."""
    if found.now or not found.statements:
        return str(ctx.as_of or ctx.clock.now().date())
    return str(found.statements[0].public)


def _window(shown: tuple[Statement, ...]) -> dict[str, str] | None:
    return {"start": str(shown[-1].period_end), "end": str(shown[0].period_end)} if shown else None


def _note(ctx: ToolContext, shown: tuple[Statement, ...]) -> str:
    if all(s.filed for s in shown):
        return ""
    if ctx.language == "zh":
        return "数据源没有给出披露日期：按报告期后 90 天计"
    return "the source does not say when it was filed: 90 days after the period is assumed"


def _filing(filing: Filing) -> dict[str, object]:
    return {
        "form": filing.form,
        "filed": str(filing.filed),
        "period": str(filing.period) if filing.period else None,
        "title": filing.title,
        "url": filing.url,
    }
