"""update_portfolio: a change of the person's own book, as a plan that the person sees whole before they say yes.

Plan and execution are two steps (MSC-3): the arguments are the plan, the question shows each item before and after, and
the yes is bound to the arguments and to the state of the book that was shown. What weighs more than 5 % of the net
value, one by one or in sum, or removes a position, takes a second yes (TGV-8). Only the person may say it, and only
the supervisor may call the tool (TGV-9).
"""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent_core import symbols
from agent_core.approvals import Rule
from agent_core.finance.orders import OrderRefused
from agent_core.finance.portfolio import exact
from agent_core.finance.portfolio_books import Books
from agent_core.finance.portfolio_change import HEAVY, Action, Item, Plan, Step
from agent_core.tools import answers
from agent_core.tools.series import dump
from agent_core.tools.spec import Preview, ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

OFF = "There is no portfolio store here."
IN_GROUP = "The portfolio is private and this is a group: it is changed in a private chat."
PAST = "The portfolio is not changed in a run that is bound to a day of the past (as_of)."
UNASKED = "not changed: nobody has said yes to this very change"
MOST_ITEMS = 50
_CODE = re.compile(r"[A-Z0-9][A-Z0-9.:_-]{0,19}")
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class Change(BaseModel):
    """One item of a change."""

    model_config = ConfigDict(extra="forbid")
    action: Action
    symbol: str = ""
    quantity: Amount | None = None
    price: Amount | None = None
    amount: Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)] | None = None
    currency: Annotated[str, Field(pattern=r"^([A-Za-z]{3,5})?$")] = ""
    account: Annotated[str, Field(min_length=1, max_length=32)] = "default"
    note: Annotated[str, Field(max_length=200)] = ""


def portfolio_update_tools(books: Books | None = None) -> list[ToolSpec]:
    """`update_portfolio`; without a store it says that there is none."""

    async def show(ctx: ToolContext, items: Sequence[Change]) -> Preview:
        made = await _planned(books, ctx, items)
        return Preview(
            _shown(made, ctx.language),
            twice=_why_twice(made, ctx.language) if made.heavy else "",
            bound=made.bound,
            complete=True,
        )

    @tool(
        title={"en": "Change the portfolio", "zh": "修改组合"},
        timeout=60,
        concurrency_safe=False,
        idempotent=False,
        requires_approval=True,
        effect="write",
        lead_only=True,
        preview=show,
        rules=(Rule("update_portfolio", by=("requester",)),),
        output=answers.Changed,
    )
    async def update_portfolio(
        ctx: ToolContext, items: Annotated[list[Change], Field(min_length=1, max_length=MOST_ITEMS)]
    ) -> ToolOutput:
        """Change the person's own records of positions and cash; no order is placed.

        The person is shown each item and must say yes by button.

        set: the position is `quantity` at an average cost `price`. buy, sell: `quantity` was traded at `price`.
        remove: the position goes. set_cash: the account has `amount`. dividend: `amount` was paid for `symbol`.

        Args:
            items: The changes, in their order.
        """
        if books is None:
            raise ToolFailure(OFF)
        if ctx.consent is None:
            raise ToolFailure(UNASKED)
        wanted = await _items(books, ctx, items)
        yes = ctx.consent
        try:
            made = await books.carry_out(
                ctx.owner, wanted, f"question {yes.question}", bound=yes.bound, twice=yes.twice
            )
        except OrderRefused as e:
            raise ToolFailure(str(e)) from e
        return ToolOutput(dump(_fields(made, ctx)), _line(made, ctx.language))

    return [update_portfolio]


async def _planned(books: Books | None, ctx: ToolContext, items: Sequence[Change]) -> Plan:
    if books is None:
        raise ToolFailure(OFF)
    wanted = await _items(books, ctx, items)
    try:
        return await books.plan(ctx.owner, wanted, ctx.as_of)
    except OrderRefused as e:
        raise ToolFailure(str(e)) from e


async def _items(books: Books, ctx: ToolContext, items: Sequence[Change]) -> list[Item]:
    """The items with their symbols found. Raises ToolFailure for the first that makes no sense."""
    if ctx.as_of is not None:
        raise ToolFailure(PAST)
    if not await books.private(ctx.turn_id):
        raise ToolFailure(IN_GROUP)
    return [_item(number, change) for number, change in enumerate(items, 1)]


def _item(number: int, change: Change) -> Item:
    needs = {
        "set": ("symbol", "quantity", "price"),
        "buy": ("symbol", "quantity", "price"),
        "sell": ("symbol", "quantity", "price"),
        "remove": ("symbol",),
        "set_cash": ("amount", "currency"),
        "dividend": ("symbol", "amount"),
    }[change.action]
    lacking = [name for name in needs if getattr(change, name) in (None, "")]
    if lacking:
        raise ToolFailure(f"item {number}: {change.action} needs {', '.join(lacking)}")
    if "quantity" in needs and not change.quantity:
        raise ToolFailure(
            f"item {number}: quantity must be above 0; use remove to take a position out"
        )
    if change.action == "dividend" and (change.amount or 0.0) <= 0:
        raise ToolFailure(f"item {number}: the amount of a dividend must be above 0")
    code, name = _symbol(number, change.symbol) if "symbol" in needs else ("", "")
    return Item(
        action=change.action,
        symbol=code,
        quantity=change.quantity or 0.0,
        price=change.price or 0.0,
        amount=change.amount or 0.0,
        currency=change.currency.upper(),
        account=change.account,
        name=name,
        note=change.note,
    )


def _symbol(number: int, written: str) -> tuple[str, str]:
    """A known symbol with its name; or a code that is not known here: a person may hold what has no prices."""
    known = symbols.lookup(written)
    if known is not None:
        return known.id, known.name
    code = symbols.canonical(written.strip().upper())
    if not _CODE.fullmatch(code):
        raise ToolFailure(f"item {number}: {written!r} is no known symbol; give its code")
    return code, ""


def _shown(made: Plan, language: str) -> str:
    lines = [f"{n}. {_step(step, language)}" for n, step in enumerate(made.steps, 1)]
    if made.share is not None:
        lines.append("")
        lines.append(
            f"合计变动约为净值的 {made.share:.1%}"
            if language == "zh"
            else f"About {made.share:.1%} of the net value in all."
        )
    return "\n".join(lines)


def _step(step: Step, language: str) -> str:
    item, zh = step.item, language == "zh"
    parts: list[str] = []
    if item.symbol and item.action != "dividend":
        before, after = _position(step, before=True, zh=zh), _position(step, before=False, zh=zh)
        parts.append(f"**{item.symbol}** ({item.account}): {before} → {after}")
    elif item.action == "dividend":
        word = "分红" if zh else "dividend"
        parts.append(
            f"**{item.symbol}** ({item.account}): {word} {item.amount:,.2f} {item.currency}"
        )
    if step.cash_after is not None:
        word, none = ("现金", "无") if zh else ("cash", "none")
        had = none if step.cash_before is None else f"{step.cash_before:,.2f}"
        parts.append(f"{word} ({item.account}) {had} → {step.cash_after:,.2f} {item.currency}")
    if item.note:
        parts.append(f"“{item.note}”")
    return "; ".join(parts)


def _position(step: Step, *, before: bool, zh: bool) -> str:
    held = step.before if before else step.after
    if held is None:
        return "无" if zh else "none"
    told = (
        step.item.action == "set" and not before
    )  # else it is an average, with digits without end
    cost = held.cost if told else round(held.cost, 4 if held.cost >= 1 else 8)
    return f"{exact(held.quantity)} @ {exact(cost)} {held.currency}".strip()


def _why_twice(made: Plan, language: str) -> str:
    zh = language == "zh"
    if any(step.destroys for step in made.steps):
        return "此操作会移除持仓。" if zh else "This removes a position."
    share = f"{made.share or 0.0:.1%}"
    if zh:
        return f"此操作变动净值的 {share}（超过 {HEAVY:.0%}）。"
    return f"This moves {share} of the net value (more than {HEAVY:.0%})."


def _fields(made: Plan, ctx: ToolContext) -> dict[str, object]:
    return {
        "done": [_step(step, "en") for step in made.steps],
        "source": "portfolio store",
        "as_of": ctx.clock.now().date().isoformat(),
        "window": None,
        "currency": ", ".join(sorted({s.item.currency for s in made.steps if s.item.currency})),
        "credibility": "objective fact",
    }


def _line(made: Plan, language: str) -> str:
    count = len(made.steps)
    return (
        f"已修改 {count} 项"
        if language == "zh"
        else f"{count} change{'' if count == 1 else 's'} made"
    )
