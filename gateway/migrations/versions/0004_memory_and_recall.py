"""Memory, and its index for recall"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SQLITE_UP = (
    "create virtual table recall_fts using fts5"
    "(terms, content='recall_doc', content_rowid='id', tokenize='ascii', columnsize=0)",
    "create virtual table recall_word using fts5vocab('recall_fts', 'instance')",
    "create trigger recall_doc_added after insert on recall_doc begin"
    " insert into recall_fts(rowid, terms) values (new.id, new.terms); end",
    "create trigger recall_doc_gone after delete on recall_doc begin"
    " insert into recall_fts(recall_fts, rowid, terms) values ('delete', old.id, old.terms); end",
)
SQLITE_DOWN = (
    "drop trigger recall_doc_added",
    "drop trigger recall_doc_gone",
    "drop table recall_word",
    "drop table recall_fts",
)
POSTGRES_UP = ("create index recall_doc_terms on recall_doc using gin (terms)",)


def upgrade() -> None:
    op.create_table(
        "alert",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("condition", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("alert", schema=None) as batch_op:
        batch_op.create_index("alert_owner_state", ["owner", "state", "at"], unique=False)

    op.create_table(
        "event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("codes", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("credibility", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.create_index("event_owner_at", ["owner", "kind", "at"], unique=False)

    op.create_table(
        "holding",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("quantity", sa.Float(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("relation", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner", "account", "symbol", name="holding_symbol"),
    )
    with op.batch_alter_table("holding", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_holding_owner"), ["owner"], unique=False)

    op.create_table(
        "memory",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("codes", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("credibility", sa.String(), nullable=False),
        sa.Column("topic_key", sa.String(), nullable=False),
        sa.Column("meta", sa.Text(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("quality", sa.Float(), nullable=False),
        sa.Column("access_count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("accessed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("superseded_by", sa.BigInteger(), nullable=True),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("memory", schema=None) as batch_op:
        batch_op.create_index("memory_owner", ["owner", "kind", "id"], unique=False)
        batch_op.create_index("memory_owner_hash", ["owner", "kind", "hash"], unique=False)

    op.create_table(
        "memory_pending",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("memory_pending", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_memory_pending_owner"), ["owner"], unique=False)

    op.create_table(
        "profile",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("signal", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("credibility", sa.String(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner", "symbol", name="profile_symbol"),
    )
    with op.batch_alter_table("profile", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_profile_owner"), ["owner"], unique=False)

    op.create_table(
        "recall_doc",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column(
            "terms",
            sa.Text().with_variant(postgresql.ARRAY(sa.Text()), "postgresql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "recall_space",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("corpus", sa.String(), nullable=False),
        sa.Column("docs", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("sessions", sa.Integer(), nullable=False),
        sa.Column("pairs", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("no"),
        sa.UniqueConstraint("owner", "scope", "corpus", name="recall_space_owner"),
    )
    op.create_table(
        "report_note",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("codes", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("credibility", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("report_note", schema=None) as batch_op:
        batch_op.create_index("report_note_owner_at", ["owner", "at"], unique=False)

    op.create_table(
        "memory_version",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("memory_id", "level", name="memory_version_level"),
    )
    with op.batch_alter_table("memory_version", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_memory_version_memory_id"), ["memory_id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_memory_version_owner"), ["owner"], unique=False)

    op.create_table(
        "recall_group",
        sa.Column("no", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("space", sa.BigInteger(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("docs", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("around", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["space"],
            ["recall_space.no"],
        ),
        sa.PrimaryKeyConstraint("no"),
        sa.UniqueConstraint("space", "ref", "part", name="recall_group_ref"),
    )
    with op.batch_alter_table("recall_group", schema=None) as batch_op:
        batch_op.create_index("recall_group_of", ["ref"], unique=False)

    op.create_table(
        "recall_mark",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["session.id"],
        ),
        sa.PrimaryKeyConstraint("session_id"),
    )

    own = SQLITE_UP if op.get_bind().dialect.name == "sqlite" else POSTGRES_UP
    for statement in own:
        op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for statement in SQLITE_DOWN:
            op.execute(statement)

    op.drop_table("recall_mark")
    with op.batch_alter_table("recall_group", schema=None) as batch_op:
        batch_op.drop_index("recall_group_of")

    op.drop_table("recall_group")
    with op.batch_alter_table("memory_version", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_memory_version_owner"))
        batch_op.drop_index(batch_op.f("ix_memory_version_memory_id"))

    op.drop_table("memory_version")
    with op.batch_alter_table("report_note", schema=None) as batch_op:
        batch_op.drop_index("report_note_owner_at")

    op.drop_table("report_note")
    op.drop_table("recall_space")
    op.drop_table("recall_doc")
    with op.batch_alter_table("profile", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_profile_owner"))

    op.drop_table("profile")
    with op.batch_alter_table("memory_pending", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_memory_pending_owner"))

    op.drop_table("memory_pending")
    with op.batch_alter_table("memory", schema=None) as batch_op:
        batch_op.drop_index("memory_owner_hash")
        batch_op.drop_index("memory_owner")

    op.drop_table("memory")
    with op.batch_alter_table("holding", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_holding_owner"))

    op.drop_table("holding")
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.drop_index("event_owner_at")

    op.drop_table("event")
    with op.batch_alter_table("alert", schema=None) as batch_op:
        batch_op.drop_index("alert_owner_state")

    op.drop_table("alert")
