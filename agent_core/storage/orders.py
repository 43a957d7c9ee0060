"""Orders, trades and cash. Statements; none commits, each names its owner."""

import datetime as dt
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, func, insert, or_, select, update

from agent_core.storage.tables_orders import CashRow, TradeOrder, TradeRow
from agent_core.storage.upsert import insert_into
from agent_core.trading import UNDONE, Cash, Order, Report, Trade

_ORDER = TradeOrder.__table__  # type: ignore[attr-defined]
_TRADE = TradeRow.__table__  # type: ignore[attr-defined]
_CASH = CashRow.__table__  # type: ignore[attr-defined]
MANY = 10_000


# Orders -------------------------------------------------------------------------------------------


def add(conn: Connection, owner: str, order: Order) -> Order:
    """Store a new order; it has its number then."""
    values = {f.name: getattr(order, f.name) for f in fields(order) if f.name != "id"}
    made = conn.execute(insert(_ORDER).values(values | {"owner": owner}).returning(_ORDER.c.id))
    return _find(conn, _ORDER.c.id == made.scalar_one())


def by_key(conn: Connection, owner: str, key: str) -> Order | None:
    """The order of this key, or None."""
    row = conn.execute(select(_ORDER).where(_ORDER.c.owner == owner, _ORDER.c.key == key)).first()
    return None if row is None else _order(row)


def find(conn: Connection, owner: str, order_id: int) -> Order | None:
    """An order of this owner, or None."""
    mine = (_ORDER.c.owner == owner, _ORDER.c.id == order_id)
    row = conn.execute(select(_ORDER).where(*mine)).first()
    return None if row is None else _order(row)


def undone(conn: Connection, owner: str | None = None, limit: int = MANY) -> list[Order]:
    """Orders that are neither filled nor over, oldest first; of everybody where no owner is named."""
    query = select(_ORDER).where(_ORDER.c.status.in_(UNDONE))
    if owner is not None:
        query = query.where(_ORDER.c.owner == owner)
    return [_order(row) for row in conn.execute(query.order_by(_ORDER.c.id).limit(limit))]


def latest(conn: Connection, owner: str, limit: int) -> list[Order]:
    """The newest orders of a person, whatever became of them, newest first."""
    query = select(_ORDER).where(_ORDER.c.owner == owner).order_by(_ORDER.c.id.desc())
    return [_order(row) for row in conn.execute(query.limit(limit))]


def placed_since(conn: Connection, owner: str, mode: str, since: dt.datetime) -> float:
    """US dollars that a person's orders of one mode were worth since then; refused and unfilled cancelled ones not."""
    query = select(func.coalesce(func.sum(_ORDER.c.notional_usd), 0.0)).where(
        _ORDER.c.owner == owner,
        _ORDER.c.mode == mode,
        _ORDER.c.placed_at >= since,
        _ORDER.c.status.in_((*UNDONE, "filled")),
        _ORDER.c.parent == 0,
    )
    return float(conn.execute(query).scalar_one())


def move(conn: Connection, order: Order, report: Report, at: dt.datetime) -> Order | None:
    """Let an order be as its broker says; None where it was over already: nothing is done twice."""
    values: dict[str, Any] = {"status": report.status, "note": report.note or order.note}
    if report.ref:
        values["broker_ref"] = report.ref
    if report.status == "filled":
        values |= {"fill_price": report.price, "filled_on": report.day, "fee": report.fee}
        values["filled_at"] = at
        if report.quantity is not None:
            values["quantity"] = report.quantity
    still = (_ORDER.c.id == order.id, _ORDER.c.status.in_(UNDONE))
    moved = conn.execute(update(_ORDER).where(*still).values(**values)).rowcount
    return _find(conn, _ORDER.c.id == order.id) if moved else None


def split(conn: Connection, order: Order, ratio: float, day: dt.date) -> Order | None:
    """Let an order be in the shares that a split has made; None where it is over, or was changed by it before."""
    prices = ("limit_price", "stop_price", "protect", "reference")
    values = {name: _ORDER.c[name] / ratio for name in prices} | {
        "quantity": _ORDER.c.quantity * ratio,
        "split_on": day,
    }
    still = (_ORDER.c.id == order.id, _ORDER.c.status.in_(UNDONE))
    new = or_(_ORDER.c.split_on.is_(None), _ORDER.c.split_on < day)
    changed = conn.execute(update(_ORDER).where(*still, new).values(**values)).rowcount
    return _find(conn, _ORDER.c.id == order.id) if changed else None


def _find(conn: Connection, *where: Any) -> Order:
    return _order(conn.execute(select(_ORDER).where(*where)).one())


def _order(row: Any) -> Order:
    return Order(**{f.name: getattr(row, f.name) for f in fields(Order)})


# Trades and cash ----------------------------------------------------------------------------------


def add_trade(conn: Connection, owner: str, trade: Trade) -> int:
    """Add a line to a book's history."""
    values = {f.name: getattr(trade, f.name) for f in fields(trade) if f.name != "id"}
    made = conn.execute(insert(_TRADE).values(values | {"owner": owner}).returning(_TRADE.c.id))
    return int(made.scalar_one())


def trades(conn: Connection, owner: str, limit: int = MANY) -> list[Trade]:
    """The newest lines of a book's history, newest first."""
    query = select(_TRADE).where(_TRADE.c.owner == owner)
    newest = query.order_by(_TRADE.c.at.desc(), _TRADE.c.id.desc()).limit(limit)
    names = [f.name for f in fields(Trade)]
    return [Trade(**{n: getattr(row, n) for n in names}) for row in conn.execute(newest)]


def lines(conn: Connection, owner: str, account: str, symbol: str) -> list[Trade]:
    """The history of one symbol in one account, oldest day first."""
    mine = (_TRADE.c.owner == owner, _TRADE.c.account == account, _TRADE.c.symbol == symbol)
    query = select(_TRADE).where(*mine).order_by(_TRADE.c.day, _TRADE.c.id)
    names = [f.name for f in fields(Trade)]
    return [Trade(**{n: getattr(row, n) for n in names}) for row in conn.execute(query)]


def trade_known(conn: Connection, owner: str, trade: Trade) -> bool:
    """Whether the history has this very line."""
    same = ("kind", "account", "currency", "at", "day", "amount", "symbol", "quantity", "price")
    where = [_TRADE.c[name] == getattr(trade, name) for name in same]
    found = conn.execute(select(_TRADE.c.id).where(_TRADE.c.owner == owner, *where).limit(1))
    return found.first() is not None


def cash(conn: Connection, owner: str) -> list[Cash]:
    """All money of a person, by account and currency."""
    query = select(_CASH).where(_CASH.c.owner == owner)
    rows = conn.execute(query.order_by(_CASH.c.account, _CASH.c.currency))
    return [Cash(row.account, row.currency, row.amount) for row in rows]


def set_cash(conn: Connection, owner: str, money: Cash) -> None:
    """Let an account have this much of a currency."""
    values = {"owner": owner, "account": money.account, "currency": money.currency}
    stored = insert_into(conn.dialect.name, _CASH).values(values | {"amount": money.amount})
    key = ["owner", "account", "currency"]
    conn.execute(stored.on_conflict_do_update(index_elements=key, set_={"amount": money.amount}))


def has_account(conn: Connection, owner: str, account: str) -> bool:
    """Whether money was ever put into an account."""
    mine = (_CASH.c.owner == owner, _CASH.c.account == account)
    return conn.execute(select(_CASH.c.id).where(*mine).limit(1)).first() is not None
