"""The oldest version whose code may run on this schema"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    table = op.create_table(
        "schema_floor",
        sa.Column("oldest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("oldest"),
    )
    op.bulk_insert(table, [{"oldest": "0014"}])


def downgrade() -> None:
    op.drop_table("schema_floor")
