"""Codes and ended log-ins of the web chat"""

import sqlalchemy as sa
from alembic import op

import agent_core.storage.tables

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("web_code", "web_ended"):
        op.create_table(
            name,
            sa.Column("id", sa.String(), nullable=False),
            sa.Column("owner", sa.String(), nullable=False),
            sa.Column("expires_at", agent_core.storage.tables.UtcDateTime(), nullable=False),
            sa.PrimaryKeyConstraint("id"),
        )


def downgrade() -> None:
    op.drop_table("web_ended")
    op.drop_table("web_code")
