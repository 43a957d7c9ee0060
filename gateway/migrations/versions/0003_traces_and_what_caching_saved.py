"""Traces, and what caching saved"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trace",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("trace", schema=None) as batch_op:
        batch_op.create_index("trace_turn", ["turn_id", "id"], unique=False)
        batch_op.create_index("trace_owner_at", ["owner", "at"], unique=False)

    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "cache_write_1h_tokens", sa.Integer(), server_default=sa.text("0"), nullable=False
            )
        )
        batch_op.add_column(sa.Column("usd_uncached", sa.Float(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("usage", schema=None) as batch_op:
        batch_op.drop_column("usd_uncached")
        batch_op.drop_column("cache_write_1h_tokens")

    with op.batch_alter_table("trace", schema=None) as batch_op:
        batch_op.drop_index("trace_owner_at")
        batch_op.drop_index("trace_turn")

    op.drop_table("trace")
