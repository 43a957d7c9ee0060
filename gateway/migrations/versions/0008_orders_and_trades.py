"""Orders, trades, cash, the kill switch and the audit of orders"""

import sqlalchemy as sa
from alembic import op

from agent_core.storage.tables import UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def _id(name: str = "id", *, counted: bool = True) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, nullable=False, autoincrement="auto" if counted else False)


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String(), nullable=False) for name in names]


def _number(name: str, *, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Float(), nullable=nullable)


def _prose(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def upgrade() -> None:
    op.create_table(
        "trade_order",
        _id(),
        *_text("owner", "key", "account", "mode", "broker", "symbol", "side"),
        _number("quantity"),
        *_text("kind"),
        _number("limit_price", nullable=True),
        _number("stop_price", nullable=True),
        _number("protect", nullable=True),
        *_text("currency"),
        _number("reference"),
        sa.Column("market_date", sa.Date(), nullable=False),
        _number("notional_usd"),
        *_text("status"),
        _number("fill_price", nullable=True),
        sa.Column("filled_on", sa.Date(), nullable=True),
        sa.Column("filled_at", UtcDateTime(), nullable=True),
        _number("fee"),
        _prose("note"),
        *_text("broker_ref"),
        _id("turn_id", counted=False),
        _id("parent", counted=False),
        sa.Column("placed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner", "key", name="trade_order_key"),
    )
    op.create_index("trade_order_status", "trade_order", ["status", "id"])
    op.create_index("trade_order_placed", "trade_order", ["owner", "placed_at"])
    op.create_table(
        "trade",
        _id(),
        *_text("owner", "account", "kind", "symbol"),
        *(_number(name) for name in ("quantity", "price", "fee", "amount")),
        *_text("currency"),
        _number("realised"),
        sa.Column("day", sa.Date(), nullable=False),
        *_text("source"),
        _id("order_id", counted=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("trade_owner_at", "trade", ["owner", "at"])
    op.create_table(
        "cash",
        _id(),
        *_text("owner", "account", "currency"),
        _number("amount"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner", "account", "currency", name="cash_currency"),
    )
    op.create_table(
        "order_audit",
        _id("n", counted=False),
        *_text("owner"),
        _prose("body"),
        *_text("digest", "previous", "hash"),
        sa.PrimaryKeyConstraint("n"),
    )
    op.create_index("ix_order_audit_owner", "order_audit", ["owner"])
    op.create_table(
        "trading_halt",
        _id(counted=False),
        sa.Column("halted", sa.Boolean(), nullable=False),
        *_text("owner"),
        _prose("reason"),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    for table in ("trading_halt", "order_audit", "cash", "trade", "trade_order"):
        op.drop_table(table)
