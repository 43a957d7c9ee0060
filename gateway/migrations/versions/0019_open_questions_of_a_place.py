"""Questions of a conversation by their status: each message asks whether one is open, however many were asked before"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _replace(["conversation_id", "status", "id"])


def downgrade() -> None:
    _replace(["conversation_id", "id"])


def _replace(columns: list[str]) -> None:
    op.drop_index("question_conversation", "question")
    op.create_index("question_conversation", "question", columns)
