"""portfolio: what a person holds and what it is worth (view), and how its risk is spread (diagnose).

Positions, cash, history and orders come from the portfolio store alone, prices from the price sources (MSC-5). A book
is private: in a group it is read only where the call says `share_here` and its person has said yes to that by button.
"""

from typing import Any, Literal

from agent_core.approvals import Condition, Rule
from agent_core.finance.fx import Rates
from agent_core.finance.orders import Desk
from agent_core.finance.portfolio_books import Books
from agent_core.finance.portfolio_chart import draw_allocation
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.finance.sources.chain import Sources
from agent_core.finance.work import outside
from agent_core.tools import answers, portfolio_risk, portfolio_words
from agent_core.tools.portfolio_priced import Priced, of_account, priced_book
from agent_core.tools.portfolio_words import view_fields
from agent_core.tools.series import dump
from agent_core.tools.spec import Artifact, ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

OFF = "There is no portfolio store here."
PRIVATE = (
    "The portfolio is private and this is a group: it was not read. Ask in a private chat, or call portfolio with "
    "share_here=true, which asks its owner first."
)
EMPTY = {
    "en": "The portfolio is empty. Positions are entered with update_portfolio, or with `swarmgate portfolio import`.",
    "zh": "组合为空。可用 update_portfolio 录入持仓，或用 `swarmgate portfolio import` 导入。",
}
OWN_YES = Rule("portfolio", when=(Condition("share_here", "is", True),), by=("requester",))
Mode = Literal["view", "diagnose"]


def portfolio_tools(
    books: Books | None = None,
    desk: Desk | None = None,
    sources: Sources | None = None,
    rates: Rates | None = None,
) -> list[ToolSpec]:
    """`portfolio`; without a store it says that there is none."""

    @tool(
        title={"en": "Portfolio", "zh": "投资组合"},
        timeout=60,
        rules=(OWN_YES,),
        output=answers.Book,
    )
    async def portfolio(
        ctx: ToolContext,
        mode: Mode = "view",
        account: str | None = None,
        currency: str = "USD",
        benchmark: str | None = None,
        share_here: bool = False,
    ) -> ToolOutput:
        """The person's own positions, cash, gains, open orders, last trades, a chart (view); or the risks (diagnose).

        Args:
            account: Only this account.
            currency: Of the totals.
            benchmark: For beta.
            share_here: In a group only: show it to all; its owner is asked.
        """
        if books is None or sources is None or rates is None:
            raise ToolFailure(OFF)
        if not (share_here and ctx.consent) and not await books.private(ctx.turn_id):
            raise ToolFailure(PRIVATE)
        if desk is not None and ctx.as_of is None:
            await desk.refresh(ctx.owner)
        contents = of_account(await books.contents(ctx.owner), account)
        if not (contents.holdings or contents.cash or contents.orders or contents.trades):
            nothing: dict[str, object] = {**portfolio_words.empty(), "note": EMPTY[ctx.language]}
            return ToolOutput(dump(nothing), EMPTY[ctx.language])
        priced = await priced_book(
            Quotes(sources, rates, ctx.clock), contents, currency.upper(), ctx.as_of
        )
        if mode == "diagnose":
            return await portfolio_risk.diagnosis(sources, ctx, priced, benchmark)
        return await _view(ctx, priced)

    return [portfolio]


async def _view(ctx: ToolContext, priced: Priced) -> ToolOutput:
    fields: dict[str, Any] = view_fields(ctx, priced)
    request = portfolio_words.allocation(ctx.language, priced)
    pictures: tuple[Artifact, ...] = ()
    if request is not None:
        png = await outside(draw_allocation, request)
        name = "portfolio.png"
        caption = f"{request.total} · {request.below_zh if ctx.language == 'zh' else request.below}"
        pictures = (Artifact(name, "image/png", png, caption),)
        fields["artifact"] = name
    return ToolOutput(dump(fields), portfolio_words.summary(ctx.language, priced), pictures)
