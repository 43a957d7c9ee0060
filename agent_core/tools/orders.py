"""place_order and cancel_order: orders of a person's account, after a person's yes to each (TGV-9, TGV-11).

The same arguments are checked when the person is asked and again when the order is placed: limits, cash, kill switch.
The yes is bound to the price that the person was shown: where it has moved on since, they are asked anew (MSC-3).
An order's key comes from session, turn and call, so two clicks or a restart place one order.
"""

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from agent_core.approvals import Rule
from agent_core.finance.orders import Checked, Desk, OrderRefused, Permit
from agent_core.finance.sources.chain import Sources
from agent_core.tools import answers_other, series
from agent_core.tools.orders_notes import told
from agent_core.tools.orders_words import Language, cancel_text, line_of, preview_text
from agent_core.tools.series import dump, price, units
from agent_core.tools.spec import Preview, ToolContext, ToolFailure, ToolOutput, ToolSpec, tool
from agent_core.trading import PAPER, Mode, NewOrder, Order, Side

OFF = "Orders cannot be placed here."
UNASKED = "not placed: nobody has said yes to this very order"
MOVED = 0.02  # share of the shown price; beyond, the yes was to another order
UNDERSTATED = 1.02  # a notional that is this much too low is no rounding
TITLES = {
    "place_order": {"en": "Place an order", "zh": "下单"},
    "cancel_order": {"en": "Cancel an order", "zh": "撤单"},
}
Quantity = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Price = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The order that the arguments of a call mean."""

    order: NewOrder
    notional_usd: float | None

    def holds(self, checked: Checked) -> None:
        """Raise ToolFailure where the call says that the order is worth less than it is: rules judge by that."""
        if self.notional_usd is not None and checked.usd > self.notional_usd * UNDERSTATED:
            raise ToolFailure(
                f"not placed: the order is worth {checked.usd:,.2f} US dollars; call again with "
                f"notional_usd={checked.usd:.2f}"
            )


def order_tools(desk: Desk | None = None, sources: Sources | None = None) -> list[ToolSpec]:
    """The tools of this file; without a desk they say that there is none."""
    return [_place_order(desk, sources), _cancel_order(desk)]


def _place_order(desk: Desk | None, sources: Sources | None) -> ToolSpec:
    wanted = _reader(sources)

    async def show_place(ctx: ToolContext, **args: Any) -> Preview:
        given = wanted(ctx, **args)
        checked = await _checked(desk, ctx, given)
        return Preview(preview_text(checked, ctx.language), bound=_shown(checked), complete=True)

    @tool(
        title=TITLES["place_order"],
        timeout=60,
        concurrency_safe=False,
        idempotent=False,
        requires_approval=True,
        effect="trade",
        lead_only=True,
        preview=show_place,
        output=answers_other.Ordered,
    )
    async def place_order(
        ctx: ToolContext,
        symbol: str,
        side: Side,
        quantity: Quantity,
        limit_price: Price | None = None,
        stop: Price | None = None,
        notional_usd: Price | None = None,
        account: str | None = None,
        mode: Mode = "paper",
    ) -> ToolOutput:
        """Place one order. A person is shown it and must say yes by button each time; words are no yes.

        Without prices: a market order, filled at the next open. limit_price: at this price or better. stop alone: a
        stop order. Both, when buying: a limit order, and once it is filled a protecting stop order to sell.

        Args:
            symbol: Code or name, such as GOOG.
            side: buy or sell.
            quantity: How many shares.
            limit_price: The highest price to buy at, or the lowest to sell at.
            stop: The price that triggers it.
            notional_usd: What the order is worth in US dollars.
            account: Leave it out.
            mode: paper is play money; live is real money.
        """
        given = wanted(
            ctx,
            symbol=symbol,
            side=side,
            quantity=quantity,
            limit_price=limit_price,
            stop=stop,
            notional_usd=notional_usd,
            account=account,
            mode=mode,
        )
        return await _place(desk, ctx, given)

    return place_order


def _cancel_order(desk: Desk | None) -> ToolSpec:
    async def show_cancel(ctx: ToolContext, order_id: int) -> Preview:
        order = await _own(desk, ctx, order_id)
        return Preview(cancel_text(order, ctx.language), complete=True)

    @tool(
        title=TITLES["cancel_order"],
        timeout=60,
        concurrency_safe=False,
        idempotent=False,
        requires_approval=True,
        effect="trade",
        lead_only=True,
        preview=show_cancel,
        output=answers_other.Ordered,
    )
    async def cancel_order(ctx: ToolContext, order_id: Annotated[int, Field(ge=1)]) -> ToolOutput:
        """Cancel an open order, after a person's yes by button.

        Args:
            order_id: Its number, as place_order or portfolio gave it.
        """
        await _own(desk, ctx, order_id)
        if desk is None or ctx.consent is None:
            raise ToolFailure(UNASKED)
        try:
            order = await desk.cancel(ctx.owner, order_id)
        except OrderRefused as e:
            raise ToolFailure(str(e)) from e
        return _output(order, ctx)

    return cancel_order


def _reader(sources: Sources | None) -> Any:
    """Arguments as the order they mean. Raises ToolFailure for those that make none."""

    def wanted(
        ctx: ToolContext,
        symbol: str,
        side: Side,
        quantity: float,
        limit_price: float | None,
        stop: float | None,
        notional_usd: float | None,
        account: str | None,
        mode: Mode,
    ) -> _Wanted:
        if sources is None:
            raise ToolFailure(OFF)
        found = series.resolve(sources, ctx, symbol)
        if side == "sell" and limit_price is not None and stop is not None:
            raise ToolFailure(
                "not placed: a sale takes limit_price or stop, not both; place one of them"
            )
        kind = "limit" if limit_price is not None else "stop" if stop is not None else "market"
        order = NewOrder(
            symbol=found.id,
            side=side,
            quantity=quantity,
            kind=kind,  # type: ignore[arg-type]
            limit_price=limit_price,
            stop_price=stop if kind == "stop" else None,
            protect=stop if kind == "limit" else None,
            account=account or PAPER,
            mode=mode,
        )
        return _Wanted(order, notional_usd)

    return wanted


def _permit(ctx: ToolContext) -> Permit:
    """The preset's switch is a rule of its own for live orders; the person's is the yes that the call runs by."""
    return Permit(live=any(map(_is_live, ctx.rules)), asked=ctx.consent is not None)


def _is_live(rule: Rule) -> bool:
    return any(c.field == "mode" and c.op == "is" and c.value == "live" for c in rule.when)


async def _checked(desk: Desk | None, ctx: ToolContext, given: _Wanted) -> Checked:
    if desk is None:
        raise ToolFailure(OFF)
    try:
        checked = await desk.check(ctx.owner, ctx.turn_id, given.order, _permit(ctx), ctx.as_of)
    except OrderRefused as e:
        raise ToolFailure(str(e)) from e
    given.holds(checked)
    return checked


async def _place(desk: Desk | None, ctx: ToolContext, given: _Wanted) -> ToolOutput:
    if desk is None:
        raise ToolFailure(OFF)
    if ctx.consent is None:
        raise ToolFailure(UNASKED)
    _as_shown(await _checked(desk, ctx, given), ctx.consent.bound)
    try:
        order = await desk.place(
            ctx.owner, ctx.turn_id, _key(ctx), given.order, _permit(ctx), ctx.as_of
        )
    except OrderRefused as e:
        raise ToolFailure(str(e)) from e
    return _output(order, ctx)


def _shown(checked: Checked) -> str:
    """The last price that a person sees of an order, such as 806.19 USD."""
    return f"{checked.quote.price!r} {checked.quote.currency}"


def _as_shown(checked: Checked, bound: str) -> None:
    """Raise ToolFailure where the price is no longer near the one that the yes was given to, as after a split."""
    if not bound:
        return
    before, _, currency = bound.partition(" ")
    far = abs(checked.quote.price - float(before)) > MOVED * float(before)
    if far or currency != checked.quote.currency:
        raise ToolFailure(
            f"not placed: the yes was given at a last price of {bound}, it is {_shown(checked)} now; call again, so "
            "that the person sees the order anew"
        )


def _key(ctx: ToolContext) -> str:
    """One call, one order: however often it is run."""
    return hashlib.sha256(f"{ctx.session_id}/{ctx.turn_id}/{ctx.call_id}".encode()).hexdigest()[:40]


async def _own(desk: Desk | None, ctx: ToolContext, order_id: int) -> Order:
    if desk is None:
        raise ToolFailure(OFF)
    found = [o for o in await desk.orders(ctx.owner, 1_000) if o.id == order_id]
    if not found:
        raise ToolFailure(f"You have no order {order_id}; portfolio lists the open ones.")
    return found[0]


def _output(order: Order, ctx: ToolContext) -> ToolOutput:
    return ToolOutput(
        dump(fields_of(order, ctx.clock.now(), ctx.language)), line_of(order, ctx.language)
    )


def fields_of(order: Order, now: dt.datetime, language: Language) -> dict[str, object]:
    """An order as a model reads it."""
    return {
        "order_id": order.id,
        "status": order.status,
        "symbol": order.symbol,
        "side": order.side,
        "quantity": units(order.quantity),
        "kind": order.kind,
        "limit_price": order.limit_price,
        "stop": order.stop_price if order.protect is None else order.protect,
        "fill_price": price(order.fill_price),
        "filled_on": str(order.filled_on) if order.filled_on else None,
        "fee": round(order.fee, 2),
        "notional_usd": round(order.notional_usd, 2),
        "account": order.account,
        "mode": order.mode,
        "source": f"order book ({order.broker})",
        "as_of": str(order.filled_on or order.market_date),
        "window": {
            "start": str(order.market_date),
            "end": str(order.filled_on or order.market_date),
        },
        "currency": order.currency,
        "credibility": "objective fact",
        "note": told(order.note, language),
        "at": now.isoformat(timespec="seconds"),
    }
