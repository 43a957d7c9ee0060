"""generate_strategy_decision: a dated decision about one symbol by stated rules, with a plan, kept in the book."""

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from agent_core.book import Portfolio
from agent_core.finance.horizons import Horizon, Style
from agent_core.finance.sources.chain import Sources
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool

if TYPE_CHECKING:
    from agent_core.finance.portfolio_books import Books

CREDIBILITY: Literal["logic tool"] = "logic tool"


class Answer(BaseModel):
    """The fields of an answer; prices in `currency`, percentages in percent."""

    model_config = ConfigDict(defer_build=True)  # for its schema alone

    symbol: str
    name: str
    name_zh: str
    source: str
    as_of: str
    window: dict[str, str]
    currency: str
    credibility: str
    period: str
    adjustment: str
    horizon: str
    style: str
    decision: str
    held: bool | None
    confidence: str
    confidence_rule: str
    grounds: list[dict[str, Any]]
    plan: dict[str, Any] | None
    invalidation: str
    review_by: str
    levels_of_months: int
    backtest: dict[str, Any]
    artifacts: list[str]
    kept: bool
    note: str
    notice: str


def decision_tools(
    sources: Sources, book: Portfolio | None = None, books: "Books | None" = None
) -> list[ToolSpec]:
    """The tools of this file. Without `book` nothing is kept; without `books` nobody is known to hold anything."""

    @tool(
        title={"en": "Strategy decision", "zh": "策略决定"},
        timeout=300,
        concurrency_safe=False,
        background=True,
        credibility=CREDIBILITY,
        output=Answer,
    )
    async def generate_strategy_decision(
        ctx: ToolContext,
        symbol: str,
        horizon: Horizon = "medium",
        style: Style = "trend",
        end: str | None = None,
    ) -> ToolOutput:
        """A dated decision by rules: buy, hold, reduce, avoid or none; with entry zone, stop, target, backtest.

        It is a logic tool: an aid, never the sole ground. Quote its grounds and what would prove it wrong.

        Args:
            symbol: Code or name.
            horizon: short (weeks), medium (months) or long (a year).
            style: Of the rule and the strategy that is tested.
            end: Last day to look at; the newest when left out.
        """
        from agent_core.tools.decision_desk import Desk  # with all that it stands on

        return await Desk(sources, ctx, book, books).answer(symbol, horizon, style, end)

    return [generate_strategy_decision]
