"""Budgets: pots, and what running calls have set aside in them"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False)


def upgrade() -> None:
    op.create_table(
        "budget_pot",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        _count("usd"),
        _count("usd_held"),
        _count("tokens"),
        _count("tokens_held"),
        _count("runs"),
        _count("unpriced"),
        _count("raised"),
        _count("asked"),
        _flag("denied"),
        _flag("warned"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "key", "period", name="budget_pot_key"),
    )
    op.create_table(
        "budget_hold",
        sa.Column("turn_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        _count("n"),
        sa.Column("pots", sa.Text(), nullable=False),
        _count("usd"),
        _count("tokens"),
        sa.PrimaryKeyConstraint("turn_id", "session_id"),
    )


def downgrade() -> None:
    op.drop_table("budget_hold")
    op.drop_table("budget_pot")
