"""Whether an order may be placed, as a book and the settings stand: judged in the transaction that would store it."""

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.book import Holding
from agent_core.finance import risk_limits
from agent_core.finance.orders import Checked, OrderRefused
from agent_core.finance.portfolio import SMALLEST, exact, net_usd
from agent_core.finance.risk_limits import Limits, Standing
from agent_core.storage import orders as rows
from agent_core.storage import portfolio
from agent_core.trading import PAPER, Cash, NewOrder, Order, Quote
from gateway.memory.history import PRIVATE, scope_of_turn
from gateway.people import identity
from gateway.questions.votes import author_of
from gateway.trading.book import Start


@dataclass(frozen=True, slots=True)
class Marks:
    """Prices: of the order's own symbol, of the other positions, and of currencies in US dollars."""

    quote: Quote
    others: Mapping[str, Quote]
    usd: Mapping[str, float | None]


def symbols_of(conn: Connection, owner: str, order: NewOrder) -> set[str]:
    """The symbols whose prices are needed to judge an order."""
    held = portfolio.records(conn, owner, Holding, rows.MANY)
    return {h.symbol for h in held if h.account == order.account} | {order.symbol}


def currencies_of(conn: Connection, owner: str) -> set[str]:
    """The currencies of a person's money and positions."""
    held = portfolio.records(conn, owner, Holding, rows.MANY)
    return {c.currency for c in rows.cash(conn, owner)} | {h.currency for h in held if h.currency}


def judged(
    conn: Connection,
    owner: str,
    order: NewOrder,
    marks: Marks,
    limits: Limits,
    *,
    broker: str,
    start: Start,
    today: dt.datetime,
    turn_id: int,
) -> Checked:
    """The order, priced. Raises OrderRefused with what stands against it."""
    quote = marks.quote
    _welcome(conn, owner, turn_id)
    _sensible(order, quote)
    if quote.usd is None:
        raise OrderRefused(
            f"not placed: there is no rate of {quote.currency} to US dollars, in which the limits are written"
        )
    notional = order.quantity * (order.level or quote.price)
    held = [
        h for h in portfolio.records(conn, owner, Holding, rows.MANY) if h.account == order.account
    ]
    cash = [c for c in rows.cash(conn, owner) if c.account == order.account]
    if broker == PAPER and not rows.has_account(conn, owner, PAPER):
        cash = [Cash(PAPER, start.currency, start.cash)]
    open_ = [o for o in rows.undone(conn, owner) if o.account == order.account]
    is_paper = broker == PAPER
    have = sum(h.quantity for h in held if h.symbol == order.symbol)
    money = sum(c.amount for c in cash if c.currency == quote.currency)
    if is_paper:
        _affordable(order, quote, notional, have, money, open_)
    else:
        _sold_once(order, have, open_)
    standing = _standing(conn, owner, order, marks, held, cash, open_, today)
    # Where the book does not know a broker's cash, the share of the account cannot be told.
    known = limits if is_paper or cash else _without_share(limits)
    if said := risk_limits.broken(known, order, quote, notional * quote.usd, standing):
        raise OrderRefused(f"not placed: over a limit of this installation: {said}")
    private = scope_of_turn(conn, turn_id) == PRIVATE
    return Checked(
        order,
        quote,
        broker,
        notional,
        notional * quote.usd,
        money if is_paper else None,
        have if is_paper else None,
        private,
    )


def _welcome(conn: Connection, owner: str, turn_id: int) -> None:
    """Who was shut out orders nothing, also where somebody else says yes to what they asked for before."""
    persons = {owner, author_of(conn, turn_id, owner)}
    if any(identity.known(conn, person).revoked for person in persons):
        raise OrderRefused("not placed: who asked for it has no access any more")


def _without_share(limits: Limits) -> Limits:
    return Limits(limits.order_usd, limits.day_usd, None, limits.price_band_pct)


def _sensible(order: NewOrder, quote: Quote) -> None:
    """No limit holds by a price that is none. A stop on the wrong side of the market would be filled at once."""
    stop, last = order.stop_price, quote.price
    if not 0 < last < math.inf:
        raise OrderRefused(
            f"not placed: {quote.source} gives {last:g} as the price of {order.symbol} on {quote.date}, which is none"
        )
    if order.kind == "stop" and stop is not None:
        if order.side == "buy" and stop <= last:
            raise OrderRefused(
                f"not placed: a stop order to buy lies above the last price {last:g}; to protect a purchase "
                "give a limit price and a stop together"
            )
        if order.side == "sell" and stop >= last:
            raise OrderRefused(
                f"not placed: a stop order to sell lies below the last price {last:g}"
            )
    if (
        order.protect is not None
        and order.limit_price is not None
        and order.protect >= order.limit_price
    ):
        raise OrderRefused(
            "not placed: the protecting stop lies below the limit price of the purchase"
        )


def _affordable(
    order: NewOrder,
    quote: Quote,
    notional: float,
    have: float,
    money: float,
    open_: list[Order],
) -> None:
    """The paper account sells what it has and buys for what it has, open orders counted."""
    if order.side == "sell":
        if order.quantity > have + SMALLEST:
            raise OrderRefused(
                f"not placed: the account {order.account} has {exact(have)} {order.symbol}; sell at most that (the "
                "paper account sells nothing short)"
            )
        return
    waiting = sum(
        o.quantity * (o.level or o.reference)
        for o in open_
        if o.side == "buy" and o.currency == quote.currency
    )
    free = money - waiting
    if notional > free + SMALLEST:
        raise OrderRefused(
            f"not placed: it costs {notional:,.2f} {quote.currency} and the account {order.account} has {free:,.2f} "
            f"free ({waiting:,.2f} are on order); order fewer"
        )


def _sold_once(order: NewOrder, have: float, open_: list[Order]) -> None:
    """At a real broker two orders that sell the same shares may both be filled, which leaves the account short."""
    others = [o for o in open_ if o.side == "sell" and o.symbol == order.symbol]
    waiting = sum(o.quantity for o in others)
    if order.side == "sell" and others and order.quantity + waiting > have + SMALLEST:
        ids = ", ".join(str(o.id) for o in others)
        raise OrderRefused(
            f"not placed: {exact(waiting)} of the {exact(max(have, 0.0))} {order.symbol} are on sale already by order "
            f"{ids}, and both could be filled; cancel that first"
        )


def _standing(
    conn: Connection,
    owner: str,
    order: NewOrder,
    marks: Marks,
    held: list[Holding],
    cash: list[Cash],
    open_: list[Order],
    today: dt.datetime,
) -> Standing:
    usd = marks.quote.usd or 1.0
    on_order = sum(
        o.quantity * (o.level or o.reference)
        for o in open_
        if o.side == "buy" and o.symbol == order.symbol
    )
    position = sum(h.quantity for h in held if h.symbol == order.symbol) * marks.quote.price
    return Standing(
        net_usd=net_usd(held, cash, marks.others, marks.usd),
        symbol_usd=(position + on_order) * usd,
        today_usd=rows.placed_since(conn, owner, order.mode, today),
    )
