"""Who holds which symbols in an account, and since when. Statements; none commits."""

import datetime as dt

from sqlalchemy import Connection, func, select

from agent_core.storage.tables_memory import Holding
from agent_core.storage.tables_orders import TradeRow

_HOLDING = Holding.__table__  # type: ignore[attr-defined]
_TRADE = TradeRow.__table__  # type: ignore[attr-defined]


def any_holder(conn: Connection, account: str) -> bool:
    """Whether anybody holds anything in accounts of this name."""
    found = select(_HOLDING.c.id).where(_HOLDING.c.account == account).limit(1)
    return conn.execute(found).first() is not None


def holders(
    conn: Connection,
    account: str,
    sold_since: dt.datetime,
    owner: str | None = None,
    symbol: str | None = None,
) -> dict[tuple[str, str], dt.date]:
    """By owner and symbol, the first day of all that is held in accounts of this name, or was sold since then.

    Narrowed to one owner, and to one symbol, where they are named.
    """
    held = select(_HOLDING.c.owner, _HOLDING.c.symbol, _HOLDING.c.updated_at)
    held = held.where(_HOLDING.c.account == account)
    traded = select(
        _TRADE.c.owner,
        _TRADE.c.symbol,
        func.min(_TRADE.c.day).label("first"),
        func.max(_TRADE.c.at).label("last"),
    )
    traded = traded.where(_TRADE.c.account == account, _TRADE.c.symbol != "")
    if owner is not None:
        held, traded = held.where(_HOLDING.c.owner == owner), traded.where(_TRADE.c.owner == owner)
    if symbol is not None:
        held = held.where(_HOLDING.c.symbol == symbol)
        traded = traded.where(_TRADE.c.symbol == symbol)
    found = {(row.owner, row.symbol): row.updated_at.date() for row in conn.execute(held)}
    for row in conn.execute(traded.group_by(_TRADE.c.owner, _TRADE.c.symbol)):
        what = row.owner, row.symbol
        if what in found:
            found[what] = min(row.first, found[what])
        elif row.last >= sold_since:
            found[what] = row.first
    return found
