"""Makes one report: loads and studies what it is about, draws, writes, lays out, keeps.

Loaded with the first report: a gateway in which nobody asks for one does without what it stands on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_core import symbols as names
from agent_core.book import least
from agent_core.finance import regime
from agent_core.finance.correlation import correlations
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.report_document import Form, Section
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
from agent_core.tools.report import CREDIBILITY, Kind, Shelf
from agent_core.tools.report_figures import studies
from agent_core.tools.report_narrative import narrative
from agent_core.tools.report_stock import Made
from agent_core.tools.series import dump
from agent_core.tools.several import Several
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput

MOST_STOCKS, MOST_MEMBERS = 6, 12
MOST_PAIRED = 6  # members whose correlations are told, so that the table stays one to be read
PRIVATE = "The portfolio is private and this is a group: ask for its report in a private chat."


@dataclass(frozen=True, slots=True)
class Maker:
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
