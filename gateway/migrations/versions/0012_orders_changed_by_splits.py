"""By which split an open order was changed last"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("trade_order", schema=None) as batch_op:
        batch_op.add_column(sa.Column("split_on", sa.Date(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("trade_order", schema=None) as batch_op:
        batch_op.drop_column("split_on")
