"""generate_ai_report: a report as a file, made of computed figures alone; a model, if there is one, may add a view."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agent_core import symbols as names
from agent_core.book import Portfolio, least
from agent_core.finance import regime
from agent_core.finance.correlation import correlations
from agent_core.finance.fx import Rates
from agent_core.finance.portfolio_books import Books
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.report_document import Section
from agent_core.finance.sources.chain import Sources
from agent_core.tools import (
    notices,
    portfolio_words,
    report_finish,
    report_own,
    report_pictures,
    series,
    several,
)
from agent_core.tools import report_market as of_market
from agent_core.tools import report_portfolio as of_portfolio
from agent_core.tools import report_stock as of_stock
from agent_core.tools.calculated import calculated
from agent_core.tools.portfolio import EMPTY, OFF
from agent_core.tools.portfolio_priced import priced_book
from agent_core.tools.portfolio_risk import measured
from agent_core.tools.report_figures import studies
from agent_core.tools.report_finish import Form
from agent_core.tools.report_narrative import Ungrounded, narrative
from agent_core.tools.report_stock import Made
from agent_core.tools.series import dump
from agent_core.tools.several import Several
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["logic tool"] = "logic tool"
MOST_STOCKS, MOST_MEMBERS = 6, 12
MOST_PAIRED = 6  # members whose correlations are told, so that the table stays one to be read
PRIVATE = "The portfolio is private and this is a group: ask for its report in a private chat."
Kind = Literal["stock", "portfolio", "market"]


class Answer(BaseModel):
    """The fields of an answer; percentages in percent. What a kind does not have is left out."""

    model_config = ConfigDict(defer_build=True)  # for its schema alone

    kind: str
    title: str
    conclusion: str
    symbols: list[dict[str, Any]]
    correlations: list[dict[str, Any]] = []
    market: dict[str, Any] | None = None
    book: dict[str, Any] | None = None
    risk: dict[str, Any] | None = None
    own_records: list[dict[str, Any]]
    source: str
    as_of: str
    window: dict[str, str]
    currency: str
    credibility: str
    missing: list[str]
    narrative: str
    artifacts: list[str]
    kept: bool
    note: str
    notice: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """What reports stand on besides prices; without a part they do without it.

    `book` keeps them, `books` and `rates` are needed for a portfolio's, `ungrounded` lets a model write a view.
    """

    book: Portfolio | None = None
    books: Books | None = None
    rates: Rates | None = None
    ungrounded: Ungrounded | None = None


def report_tools(sources: Sources, shelf: Shelf | None = None) -> list[ToolSpec]:
    """The tools of this file."""
    has = shelf or Shelf()

    @tool(
        title={"en": "Report", "zh": "研究报告"},
        timeout=300,
        concurrency_safe=False,
        background=True,
        credibility=CREDIBILITY,
        output=Answer,
    )
    async def generate_ai_report(
        ctx: ToolContext,
        symbols: list[str] | None = None,
        topic: str | None = None,
        kind: Kind = "stock",
        format: Form = "pdf",  # noqa: A002 - the name that people and models use
        start: str | None = None,
        end: str | None = None,
    ) -> ToolOutput:
        """Make a report with charts as a file for the person: prices, trend, levels, phase, risk, sources, limits.

        Answer with its key figures; the file is sent along.

        Args:
            symbols: stock: 1 to 6 codes or names. market: up to 12; those with data when left out.
            topic: Instead of symbols: words that name some. For a market: its name, which is the title.
            kind: portfolio is the person's own book.
            start: First day, YYYY-MM-DD, or a year, quarter or month. Without dates the last 12 months.
            end: Last day.
        """
        maker = _Maker(sources, ctx, has, dark=format == "html")
        made, loaded = await maker.made(kind, symbols, topic or "", start, end)
        return await maker.answer(kind, made, loaded, format)

    return [generate_ai_report]


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes one report. `dark`: its form can choose between light and dark pictures."""

    sources: Sources
    ctx: ToolContext
    shelf: Shelf
    dark: bool

    async def made(
        self, kind: Kind, wanted: list[str] | None, topic: str, start: str | None, end: str | None
    ) -> tuple[Made, Several]:
        """What its kind says. Raises ToolFailure."""
        self._tell("读取价格", "loading prices", 0.05)
        if kind == "portfolio":
            return await self._portfolio(start, end)
        if kind == "market":
            chosen = wanted or list(names.ids(topic)) or list(self.sources.symbols[:MOST_MEMBERS])
            return await self._market(chosen, topic, start, end)
        return await self._stocks(wanted or list(names.ids(topic)), start, end)

    async def _stocks(
        self, wanted: list[str], start: str | None, end: str | None
    ) -> tuple[Made, Several]:
        if not 1 <= len(wanted) <= MOST_STOCKS:
            raise ToolFailure(
                f"symbols: name 1 to {MOST_STOCKS}, or a topic that names them; for more use kind=market"
            )
        studied, loaded = await studies(self.sources, self.ctx, wanted, start, end)
        self._tell("绘图", "drawing", 0.5)
        charts = [
            await report_pictures.chart(self.ctx, one.series, dark=self.dark) for one in studied
        ]
        if len(studied) == 1:
            return of_stock.one(self.ctx.language, studied[0], charts[0]), loaded
        compared = await report_pictures.comparison(self.ctx, loaded.found, dark=self.dark)
        pairs = await calculated(correlations, [one.window for one in loaded.found])
        return of_stock.several(self.ctx.language, studied, charts, compared, pairs), loaded

    async def _market(
        self, wanted: list[str], topic: str, start: str | None, end: str | None
    ) -> tuple[Made, Several]:
        if not wanted:
            raise ToolFailure(several.nothing(self.ctx))
        if len(wanted) > MOST_MEMBERS:
            raise ToolFailure(f"{len(wanted)} symbols are too many; name at most {MOST_MEMBERS}")
        studied, loaded = await studies(self.sources, self.ctx, wanted, start, end)
        state = await calculated(regime.judge, [regime.recent(one.history) for one in loaded.found])
        self._tell("绘图", "drawing", 0.5)
        compared = await report_pictures.comparison(self.ctx, loaded.found, dark=self.dark)
        pairs = await calculated(correlations, [one.window for one in loaded.found[:MOST_PAIRED]])
        return of_market.market(self.ctx.language, studied, state, compared, pairs, topic), loaded

    async def _portfolio(self, start: str | None, end: str | None) -> tuple[Made, Several]:
        books, rates, ctx = self.shelf.books, self.shelf.rates, self.ctx
        if books is None or rates is None:
            raise ToolFailure(OFF)
        if not await books.private(ctx.turn_id):
            raise ToolFailure(PRIVATE)
        contents = await books.contents(ctx.owner)
        if not contents.holdings:
            raise ToolFailure(EMPTY[ctx.language])
        priced = await priced_book(
            Quotes(self.sources, rates, ctx.clock), contents, "USD", ctx.as_of
        )
        found, risk = await measured(self.sources, ctx, priced, None)
        part = priced.main
        lines = sorted(
            part.lines if part else (), key=lambda one: one.converted or 0.0, reverse=True
        )
        held = list(dict.fromkeys(line.holding.symbol for line in lines if line.price is not None))
        studied, loaded = await studies(self.sources, ctx, held[:MOST_MEMBERS], start, end)
        self._tell("绘图", "drawing", 0.5)
        request = portfolio_words.allocation(ctx.language, priced)
        picture = (
            await report_pictures.allocation(ctx, request, dark=self.dark) if request else None
        )
        return of_portfolio.portfolio(ctx, priced, found, risk, studied, picture), loaded

    async def answer(self, kind: Kind, made: Made, loaded: Several, form: Form) -> ToolOutput:
        """The report as a file, kept in the book, and its key figures."""
        ctx, shelf = self.ctx, self.shelf
        codes = [code for code, _ in made.lines]
        own = await report_own.own(ctx, shelf.book, shelf.books, codes)
        facts = made.fields | {"own_records": own.fields(), "conclusion": made.conclusion}
        self._tell("撰写", "writing", 0.7)
        view, remark = await narrative(ctx, shelf.ungrounded, dump(facts))
        notes = [*loaded.notes, *loaded.missing, several.mixed(ctx, made.windows, cure=False)]
        whole = report_finish.document(ctx, _noted(made, notes), own, view)
        self._tell("排版", "laying out", 0.85)
        stem = (
            f"report-{kind}-{'-'.join(codes[:4])}-{made.windows[0].first}_{made.windows[0].as_of}"
        )
        files = await report_finish.rendered(ctx, whole, form, stem, made.title)
        if shelf.book is not None:
            await report_own.keep(ctx, shelf.book, made.title, made.conclusion, made.lines)
        level = least(CREDIBILITY, *own.levels, *(["mixed"] if view else []))
        fields = {
            "kind": kind,
            "title": made.title,
            **several.envelope(made.windows, level),
            **facts,
            "missing": loaded.missing,
            "narrative": _said(view),
            "artifacts": [file.name for file in files.files],
            "kept": shelf.book is not None,
            "note": series.joined(ctx, [*notes, remark, files.note]),
            "notice": notices.past(ctx.language),
        }
        return ToolOutput(dump(fields), _line(ctx, made, files.note), files.files)

    def _tell(self, zh: str, en: str, progress: float) -> None:
        self.ctx.progress(zh if self.ctx.language == "zh" else en, progress)


def _noted(made: Made, notes: Sequence[str]) -> Made:
    return replace(made, notes=tuple(filter(None, notes)))


def _said(view: Section | None) -> str:
    return "" if view is None else " ".join(getattr(block, "text", "") for block in view.blocks)


def _line(ctx: ToolContext, made: Made, note: str) -> str:
    """One line for the person: one symbol's or the market's conclusion, of several symbols their changes."""
    zh = ctx.language == "zh"
    said = made.brief or made.conclusion
    line = f"{made.title}：{said}" if zh else f"{made.title}. {said}"
    return line + ("" if not note else f"（{note}）" if zh else f" ({note})")
