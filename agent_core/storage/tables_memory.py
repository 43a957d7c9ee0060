"""What is remembered about a person, and what concerns their holdings. Every row has an owner; every query names it.

`scope` is "private", or the conversation id of a group: a row is recalled where its scope is (MEM-17). `codes` are
canonical symbol ids, each between spaces (" SSE:600519 "), "" for none. Times are aware UTC.
"""

import datetime as dt

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Text, UniqueConstraint
from sqlmodel import Field

from agent_core.storage.tables import BigId, Stored, UtcDateTime


class MemoryRow(Stored, table=True):
    """One memory.

    `kind`: preference, decision (L1), playbook (L2), persona (L3), view, plan, rule (notes of `remember`), marker
    (a processed summary: never recalled). `level`: raw, daily or digest (TIR-1). A row with `archived_at` is kept and
    not recalled (CAP-4); `superseded_by` names the memory that says it anew (MEM-15).
    """

    __tablename__ = "memory"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        Index("memory_owner", "owner", "kind", "id"),
        Index("memory_owner_hash", "owner", "kind", "hash"),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    scope: str = "private"
    kind: str
    text: str = Field(sa_column=Column(Text, nullable=False))
    hash: str  # sha256 of the normalised text (DED-1)
    codes: str = ""
    source: str  # "chat_log:<session id>", "remember:<session id>", "layer_refresh", "import"
    credibility: str = "mixed"
    topic_key: str = ""
    meta: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    level: str = "raw"
    quality: float = 0.5
    access_count: int = 0
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    confirmed_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    accessed_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    valid_until: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    superseded_by: int | None = Field(default=None, sa_column=Column(BigInteger))
    archived_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))


class MemoryVersion(Stored, table=True):
    """The text of a memory before it was shortened: one row for each level that it had, never overwritten (TIR-8)."""

    __tablename__ = "memory_version"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("memory_id", "level", name="memory_version_level"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    memory_id: int = Field(
        sa_column=Column(BigInteger, ForeignKey("memory.id"), nullable=False, index=True)
    )
    owner: str = Field(index=True)
    level: str
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class MemoryPending(Stored, table=True):
    """Something to be learnt when a model answers again: an extraction or a comparison that failed (DED-3, MEM-8)."""

    __tablename__ = "memory_pending"  # pyright: ignore[reportAssignmentType]

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str = Field(index=True)
    scope: str = "private"
    kind: str  # "extract", "compare", "refresh"
    body: str = Field(sa_column=Column(Text, nullable=False))
    attempts: int = 0
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Holding(Stored, table=True):
    """A position in a person's book. `cost` is the average price in `currency`; `note` is why it is held."""

    __table_args__ = (UniqueConstraint("owner", "account", "symbol", name="holding_symbol"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str = Field(index=True)
    account: str = "default"
    symbol: str
    name: str = ""
    quantity: float
    cost: float
    currency: str = ""
    relation: str = ""  # core, satellite, watch
    note: str = Field(default="", sa_column=Column(Text, nullable=False))
    updated_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class EventRow(Stored, table=True):
    """Something that happened to a symbol or a book: a decision, a trade, a backtest, a signal, news (RMB-2)."""

    __tablename__ = "event"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("event_owner_at", "owner", "kind", "at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    kind: str  # decision, trade, backtest, signal, news
    codes: str = ""
    text: str = Field(sa_column=Column(Text, nullable=False))
    source: str = ""
    credibility: str = "objective fact"
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Profile(Stored, table=True):
    """What is known of one symbol for one person: business, thesis, levels, fused signal (SIX-1)."""

    __table_args__ = (UniqueConstraint("owner", "symbol", name="profile_symbol"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str = Field(index=True)
    symbol: str
    text: str = Field(sa_column=Column(Text, nullable=False))
    signal: str = ""
    source: str = ""
    credibility: str = "logic tool"
    updated_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Alert(Stored, table=True):
    """A condition that a person wants to hear of. `state`: pending, fired, done."""

    __table_args__ = (Index("alert_owner_state", "owner", "state", "at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    symbol: str = ""
    text: str = Field(sa_column=Column(Text, nullable=False))
    condition: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    state: str = "pending"
    conversation_id: str = ""
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class ReportNote(Stored, table=True):
    """The conclusion of a report that was made for a person."""

    __tablename__ = "report_note"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("report_note_owner_at", "owner", "at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    codes: str = ""
    title: str = ""
    text: str = Field(sa_column=Column(Text, nullable=False))
    credibility: str = "logic tool"
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
