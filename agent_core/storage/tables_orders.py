"""Orders, trades, cash, the kill switch, and the audit of orders. Every row has an owner; amounts are in its currency.

The audit is a chain: each row's hash covers the hash before it. When a person is forgotten, the words of their rows go
and the hashes stay, so that the chain still holds for everybody else (orders_audit.py).
"""

import datetime as dt

from sqlalchemy import Boolean, Column, Date, Index, Text, UniqueConstraint
from sqlmodel import Field

from agent_core.storage.tables import BigId, Stored, UtcDateTime


class TradeOrder(Stored, table=True):
    """One order; see agent_core.trading.Order."""

    __tablename__ = "trade_order"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        UniqueConstraint("owner", "key", name="trade_order_key"),
        Index("trade_order_status", "status", "id"),
        Index("trade_order_placed", "owner", "placed_at"),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    key: str
    account: str
    mode: str
    broker: str
    symbol: str
    side: str
    quantity: float
    kind: str
    limit_price: float | None = None
    stop_price: float | None = None
    protect: float | None = None
    currency: str
    reference: float
    market_date: dt.date = Field(sa_column=Column(Date, nullable=False))
    notional_usd: float
    status: str
    fill_price: float | None = None
    filled_on: dt.date | None = Field(default=None, sa_column=Column(Date))
    filled_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    fee: float = 0.0
    note: str = Field(default="", sa_column=Column(Text, nullable=False))
    broker_ref: str = ""
    turn_id: int = Field(default=0, sa_column=Column(BigId, nullable=False))
    parent: int = Field(default=0, sa_column=Column(BigId, nullable=False))
    split_on: dt.date | None = Field(default=None, sa_column=Column(Date))
    placed_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class TradeRow(Stored, table=True):
    """One line of a book's history; see agent_core.trading.Trade."""

    __tablename__ = "trade"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("trade_owner_at", "owner", "at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    account: str
    kind: str
    symbol: str = ""
    quantity: float = 0.0
    price: float = 0.0
    fee: float = 0.0
    amount: float = 0.0
    currency: str
    realised: float = 0.0
    day: dt.date = Field(sa_column=Column(Date, nullable=False))
    source: str = ""
    order_id: int = Field(default=0, sa_column=Column(BigId, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class CashRow(Stored, table=True):
    """Money of one currency in one account."""

    __tablename__ = "cash"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("owner", "account", "currency", name="cash_currency"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    account: str
    currency: str
    amount: float


class OrderAudit(Stored, table=True):
    """One step of an order. `digest` is that of `body`, which is empty once its owner is forgotten."""

    __tablename__ = "order_audit"  # pyright: ignore[reportAssignmentType]

    n: int = Field(sa_column=Column(BigId, primary_key=True, autoincrement=False))
    owner: str = Field(index=True)
    body: str = Field(sa_column=Column(Text, nullable=False))
    digest: str
    previous: str
    hash: str


class TradingHalt(Stored, table=True):
    """The kill switch: one row, `id` 1. `owner` is who threw it last. Every order locks it."""

    __tablename__ = "trading_halt"  # pyright: ignore[reportAssignmentType]

    id: int = Field(sa_column=Column(BigId, primary_key=True, autoincrement=False))
    halted: bool = Field(sa_column=Column(Boolean, nullable=False))
    owner: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
