"""What a broker's report does to a person's book, in one transaction: order, position, cash, history, event, audit.

Nothing is booked twice: an order that is over is left as it is.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlalchemy import Connection

from agent_core.book import Event, Holding
from agent_core.finance.corporate_actions import Action, splits_since
from agent_core.finance.portfolio import SMALLEST, Moved, exact, moved
from agent_core.storage import orders as rows
from agent_core.storage import orders_audit as audit
from agent_core.storage import portfolio
from agent_core.trading import PAPER, Cash, Order, Report, Trade
from gateway.trading import halt

NO_CASH = "the account had {have:,.2f} {currency} and {need:,.2f} were needed when it was filled"
NO_SHARES = "the account had {have} {symbol} and {need} were to be sold when it was filled"
PROTECTED = "protects order {id}"


@dataclass(frozen=True, slots=True)
class Start:
    """With what the paper account begins."""

    cash: float = 100_000.0
    currency: str = "USD"


def open_paper(conn: Connection, owner: str, start: Start, now: dt.datetime) -> None:
    """Give a person their paper account, once."""
    if rows.has_account(conn, owner, PAPER):
        return
    rows.set_cash(conn, owner, Cash(PAPER, start.currency, start.cash))
    money = Trade("deposit", PAPER, start.currency, now, now.date(), start.cash, source="start")
    rows.add_trade(conn, owner, money)


def amount_of(conn: Connection, owner: str, account: str, currency: str) -> float:
    """The money of an account in a currency."""
    found = (
        c.amount for c in rows.cash(conn, owner) if (c.account, c.currency) == (account, currency)
    )
    return next(found, 0.0)


def holding_of(conn: Connection, owner: str, account: str, symbol: str) -> Holding | None:
    """The position of an account in a symbol, or None."""
    held = portfolio.records(conn, owner, Holding, rows.MANY)
    return next((h for h in held if (h.account, h.symbol) == (account, symbol)), None)


def book(conn: Connection, order: Order, report: Report, now: dt.datetime, *, halted: str) -> Order:
    """Let an order and its book be as the broker says; how the order stands then.

    `halted` says why nothing may be traded, "" where it may: a fill of the paper broker is a cancellation then. What a
    real broker has filled is filled, whatever we say.
    """
    if report.split_on is not None:
        order = _split(conn, order, report.ratio, report.split_on, now)
    if report.status == "filled" and order.broker == PAPER:
        report = _allowed(conn, order, report, halted)
    same = (report.status, report.note or order.note, report.ref or order.broker_ref)
    if same == (order.status, order.note, order.broker_ref):
        return order
    moved = rows.move(conn, order, report, now)
    if moved is None:
        return rows.find(conn, order.owner, order.id) or order
    if moved.status != order.status:
        fields = audit.fields_of(moved, moved.status, moved.fill_price)
        audit.note(conn, order.owner, moved.status, now, fields | {"note": moved.note})
    if moved.status == "filled":
        _settle(conn, moved, now)
    return moved


def _split(conn: Connection, order: Order, ratio: float, day: dt.date, now: dt.datetime) -> Order:
    """The order in the shares that a split has made, which is a step of the audit; unchanged where it is over."""
    changed = rows.split(conn, order, ratio, day)
    if changed is None:
        return rows.find(conn, order.owner, order.id) or order
    fields = audit.fields_of(changed, changed.status, changed.fill_price)
    more = {"ratio": ratio, "level": changed.level, "protect": changed.protect}
    audit.note(conn, order.owner, "split", now, fields | more)
    return changed


def _allowed(conn: Connection, order: Order, report: Report, halted: str) -> Report:
    """The paper broker's fill, or why the account cannot bear it."""
    if halted:
        return Report("cancelled", note=halt.STOPPED)
    need = order.quantity * (report.price or 0.0) + report.fee
    if order.side == "buy":
        have = amount_of(conn, order.owner, order.account, order.currency)
        if need > have + SMALLEST:
            note = NO_CASH.format(have=have, need=need, currency=order.currency)
            return Report("refused", note=note)
        return report
    held = holding_of(conn, order.owner, order.account, order.symbol)
    quantity = held.quantity if held else 0.0
    need = order.quantity * prod(s.value for s in _later_splits(conn, order, report.day))
    if need > quantity + SMALLEST:
        note = NO_SHARES.format(have=exact(quantity), need=exact(need), symbol=order.symbol)
        return Report("refused", note=note)
    return report


def _settle(conn: Connection, order: Order, now: dt.datetime) -> None:
    """Position, cash, history and event of a filled order; its protecting order is placed."""
    price, day = order.fill_price or 0.0, order.filled_on or now.date()
    paid = order.quantity * price
    held = holding_of(conn, order.owner, order.account, order.symbol)
    sign = 1 if order.side == "buy" else -1
    amount = -sign * paid - order.fee
    have, cost = (held.quantity, held.cost) if held else (0.0, 0.0)
    splits = _later_splits(conn, order, day)
    ratio = prod(split.value for split in splits)
    after = moved(have, cost, sign * order.quantity * ratio, price / ratio, order.fee)
    _position(conn, order, held, after, now)
    if order.broker == PAPER or rows.has_account(conn, order.owner, order.account):
        have = amount_of(conn, order.owner, order.account, order.currency)
        rows.set_cash(conn, order.owner, Cash(order.account, order.currency, have + amount))
    trade = Trade(
        kind=order.side,
        account=order.account,
        currency=order.currency,
        at=now,
        day=day,
        amount=amount,
        symbol=order.symbol,
        quantity=order.quantity,
        price=price,
        fee=order.fee,
        realised=after.realised,
        source=order.broker,
        order_id=order.id,
    )
    rows.add_trade(conn, order.owner, trade)
    for line in _splits_of(trade, splits, sign):
        rows.add_trade(conn, order.owner, line)
    event = Event("trade", told(order), now, (order.symbol,), source=f"order {order.id}")
    portfolio.put(conn, order.owner, event)
    if order.protect is not None:
        _protect(conn, order, now)


def _later_splits(conn: Connection, order: Order, day: dt.date | None) -> list[Action]:
    """The splits that the paper account has seen since the day of a fill which is booked late."""
    if order.broker != PAPER or day is None:
        return []
    return splits_since(rows.lines(conn, order.owner, order.account, order.symbol), day)


def _splits_of(trade: Trade, splits: Sequence[Action], sign: int) -> list[Trade]:
    """What later splits have made of a fill, as lines of the history: this is how they stand for the other shares."""
    found, quantity = [], sign * trade.quantity
    for split in splits:
        added = quantity * (split.value - 1)
        line = replace(trade, kind="split", day=split.day, quantity=added, price=split.value)
        found.append(replace(line, amount=0.0, fee=0.0, realised=0.0))
        quantity += added
    return found


def _position(
    conn: Connection, order: Order, held: Holding | None, after: Moved, now: dt.datetime
) -> None:
    """The position after a fill; a real broker may let it go below 0."""
    if after.quantity == 0:
        if held is not None:
            portfolio.remove(conn, order.owner, Holding, held.id)
        return
    fresh = held or Holding(
        order.symbol, 0.0, 0.0, now, currency=order.currency, account=order.account
    )
    changed = replace(fresh, quantity=after.quantity, cost=after.cost, updated_at=now)
    portfolio.put(conn, order.owner, changed)


def _protect(conn: Connection, order: Order, now: dt.datetime) -> None:
    """Place the stop order that was approved together with this one; its market begins where this one was filled."""
    stop = replace(
        order,
        id=0,
        key=f"{order.key}/protect",
        side="sell" if order.side == "buy" else "buy",
        kind="stop",
        limit_price=None,
        stop_price=order.protect,
        protect=None,
        status="sending",
        market_date=order.filled_on or order.market_date,
        fill_price=None,
        filled_on=None,
        filled_at=None,
        fee=0.0,
        note=PROTECTED.format(id=order.id),
        broker_ref="",
        split_on=None,
        parent=order.id,
        placed_at=now,
    )
    if rows.by_key(conn, order.owner, stop.key) is None:
        placed(conn, order.owner, stop, now)


def placed(conn: Connection, owner: str, order: Order, now: dt.datetime) -> Order:
    """Store a new order and say so in the audit."""
    stored = rows.add(conn, owner, order)
    fields = audit.fields_of(stored, stored.status, None) | {
        "kind": stored.kind,
        "level": stored.level,
        "protect": stored.protect,
        "account": stored.account,
        "mode": stored.mode,
        "broker": stored.broker,
        "notional_usd": stored.notional_usd,
        "key": stored.key,
    }
    audit.note(conn, owner, "placed", now, fields)
    return stored


def told(order: Order) -> str:
    """A filled order in a line."""
    verb = "Bought" if order.side == "buy" else "Sold"
    return (
        f"{verb} {exact(order.quantity)} {order.symbol} at {exact(order.fill_price or 0.0)} {order.currency} on "
        f"{order.filled_on} ({order.mode}, {order.broker}), fee {exact(order.fee)} {order.currency}"
    )
