"""The first schema"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("lane", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("ids", sa.Text(), nullable=False),
        sa.Column("final", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("turn_id", "key", name="outbox_turn_key"),
    )
    op.create_index("outbox_lane", "outbox", ["lane", "id"], unique=False)
    op.create_index(
        "outbox_open",
        "outbox",
        ["lane", "id"],
        unique=False,
        sqlite_where=sa.text("status < 2"),
        postgresql_where=sa.text("status < 2"),
    )

    op.create_table(
        "pairing",
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("person_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("code"),
        sa.UniqueConstraint("person_id"),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("access", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "session",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=True),
        sa.Column("agent", sa.String(), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["parent"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_session_owner"), "session", ["owner"], unique=False)

    op.create_table(
        "blob",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_blob_owner"), "blob", ["owner"], unique=False)

    op.create_table(
        "conversation",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("preset", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "transcript",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("meta", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session_id", "seq", name="transcript_session_seq"),
    )
    op.create_index("transcript_turn", "transcript", ["turn_id"], unique=False)

    op.create_table(
        "turn",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("preset", sa.String(), nullable=False),
        sa.Column("horizon", sa.BigInteger(), nullable=False),
        sa.Column("error_id", sa.String(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("turn_session", "turn", ["session_id"], unique=False)

    op.create_table(
        "usage",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cache_read_tokens", sa.Integer(), nullable=False),
        sa.Column("cache_write_tokens", sa.Integer(), nullable=False),
        sa.Column("usd", sa.Float(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_usage_turn_id"), "usage", ["turn_id"], unique=False)
    op.create_index("usage_owner_at", "usage", ["owner", "at"], unique=False)

    op.create_table(
        "inbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversation.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("channel", "account", "key", name="inbox_key"),
    )
    op.create_index(
        "inbox_open",
        "inbox",
        ["conversation_id", "id"],
        unique=False,
        sqlite_where=sa.text("status < 2"),
        postgresql_where=sa.text("status < 2"),
    )
    op.create_index("inbox_lane", "inbox", ["conversation_id", "id"], unique=False)
    op.create_index("inbox_turn", "inbox", ["turn_id"], unique=False)


def downgrade() -> None:
    op.drop_index("inbox_lane", table_name="inbox")
    op.drop_index("inbox_turn", table_name="inbox")
    op.drop_index(
        "inbox_open",
        table_name="inbox",
        sqlite_where=sa.text("status < 2"),
        postgresql_where=sa.text("status < 2"),
    )

    op.drop_table("inbox")
    op.drop_index("usage_owner_at", table_name="usage")
    op.drop_index(op.f("ix_usage_turn_id"), table_name="usage")

    op.drop_table("usage")
    op.drop_index("turn_session", table_name="turn")

    op.drop_table("turn")
    op.drop_index("transcript_turn", table_name="transcript")

    op.drop_table("transcript")
    op.drop_table("conversation")
    op.drop_index(op.f("ix_blob_owner"), table_name="blob")

    op.drop_table("blob")
    op.drop_index(op.f("ix_session_owner"), table_name="session")

    op.drop_table("session")
    op.drop_table("person")
    op.drop_table("pairing")
    op.drop_index("outbox_lane", table_name="outbox")
    op.drop_index(
        "outbox_open",
        table_name="outbox",
        sqlite_where=sa.text("status < 2"),
        postgresql_where=sa.text("status < 2"),
    )

    op.drop_table("outbox")
