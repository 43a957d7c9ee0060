"""generate_ai_report: a report as a file, made of computed figures alone; a model, if there is one, may add a view."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from agent_core.book import Portfolio
from agent_core.finance.report_document import Form
from agent_core.finance.sources.chain import Sources
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool

if TYPE_CHECKING:
    from agent_core.finance.fx import Rates
    from agent_core.finance.portfolio_books import Books
    from agent_core.tools.report_narrative import Ungrounded

CREDIBILITY: Literal["logic tool"] = "logic tool"
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
    books: "Books | None" = None
    rates: "Rates | None" = None
    ungrounded: "Ungrounded | None" = None


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
        from agent_core.tools.report_maker import Maker  # with all that it stands on

        maker = Maker(sources, ctx, has, dark=format == "html")
        made, loaded = await maker.made(kind, symbols, topic or "", start, end)
        return await maker.answer(kind, made, loaded, format)

    return [generate_ai_report]
