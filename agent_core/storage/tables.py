"""The agent core's tables. Every row has an owner, directly or through its session.

Hot paths use `Table.__table__` with Core statements (see statements.py); the classes are for
reading and for admin. Times are aware UTC; on SQLite they are stored as text.
"""

import datetime as dt

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import DateTime, TypeDecorator
from sqlmodel import Field, SQLModel

# SQLite numbers rows by itself only in a column that is exactly INTEGER.
BigId = BigInteger().with_variant(Integer(), "sqlite")


class UtcDateTime(TypeDecorator[dt.datetime]):
    """Aware UTC datetimes on both databases: SQLite keeps no zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: object) -> dt.datetime | None:
        """Refuse naive times; store UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime reached the database")
        return value.astimezone(dt.UTC)

    def process_result_value(
        self, value: dt.datetime | None, dialect: object
    ) -> dt.datetime | None:
        """Give the zone back."""
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=dt.UTC)


class Stored(SQLModel):
    """A row of a table. No validator is built for it: rows are written by Core statements, never validated."""

    model_config = {"defer_build": True}


class Session(Stored, table=True):
    """A transcript's head.

    `parent` names the session that delegated to this one, `agent` whom it is.
    """

    id: str = Field(primary_key=True)
    owner: str = Field(index=True)
    parent: str | None = Field(default=None, sa_column=Column(Text, ForeignKey("session.id")))
    agent: str | None = None
    title: str = ""
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Transcript(Stored, table=True):
    """Append-only rows of a session; `seq` counts from 1 without gaps.

    Never updated, never deleted but by /forget.
    """

    __table_args__ = (
        UniqueConstraint("session_id", "seq", name="transcript_session_seq"),
        Index("transcript_turn", "turn_id"),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    turn_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    kind: str
    ref: str = ""
    body: str = Field(sa_column=Column(Text, nullable=False))
    meta: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Turn(Stored, table=True):
    """One run of a session for one principal. `id` is the id of its first inbox row.

    `status` is a TurnStatus, or "stopping" once a person asked to stop. Inbox rows up to `horizon`
    are backlog from before the turn: they are never steered into it. `digest` is that of its preset, empty where
    that is unknown.
    """

    __table_args__ = (Index("turn_session", "session_id"),)

    id: int = Field(sa_column=Column(BigId, primary_key=True, autoincrement=False))
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    principal: str
    status: str
    preset: str = ""
    digest: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    horizon: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    error_id: str | None = None
    started_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    ended_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))


class UsageRow(Stored, table=True):
    """One model call that was paid for.

    `usd` is null where the price is unknown, never 0 (MDL-3); so is `usd_uncached`, what the call would have cost
    without a cache, which rows from before it was counted do not have either.
    """

    __tablename__ = "usage"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("usage_owner_at", "owner", "at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    turn_id: int = Field(sa_column=Column(BigInteger, nullable=False, index=True))
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    owner: str
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    usd: float | None = None
    cache_write_1h_tokens: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
    usd_uncached: float | None = None
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Trace(Stored, table=True):
    """One event of a turn's trace: what was asked, sent, done and answered, in order of `id` (SCR-1).

    Separate from the transcript (SCR-5): nothing is rebuilt from it, and rows older than the retention are deleted.
    """

    __table_args__ = (
        Index("trace_turn", "turn_id", "id"),
        Index("trace_owner_at", "owner", "at"),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    turn_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    owner: str
    event: str
    body: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Checkpoint(Stored, table=True):
    """A decision about what a model sees of a transcript; the rows themselves never change (DESIGN.md 1).

    `kind` "undo": rows with a `seq` above `after` and below `until` are left out of the view.
    """

    __table_args__ = (Index("checkpoint_session", "session_id", "id"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    kind: str
    after: int = Field(sa_column=Column(BigInteger, nullable=False))
    until: int = Field(sa_column=Column(BigInteger, nullable=False))
    body: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Blob(Stored, table=True):
    """Bytes beside the rows: charts, files, long tool results.

    `id` is the sha256 of owner and data.
    """

    id: str = Field(primary_key=True)
    owner: str = Field(index=True)
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    name: str
    media_type: str
    data: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
