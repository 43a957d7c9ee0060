"""Open rows of a conversation by their status: SQLite took the index of all rows as often, by which was made first"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

OPEN = sa.text("status < 2")


def upgrade() -> None:
    _replace(["conversation_id", "status", "id"])


def downgrade() -> None:
    _replace(["conversation_id", "id"])


def _replace(columns: list[str]) -> None:
    op.drop_index("inbox_open", "inbox")
    op.create_index("inbox_open", "inbox", columns, sqlite_where=OPEN, postgresql_where=OPEN)
