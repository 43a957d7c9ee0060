"""The gateway's tables. Foreign keys point from here to the agent core's tables, never back."""

import datetime as dt
from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlmodel import Field

from agent_core.storage.tables import BigId, Stored, UtcDateTime


class InboxStatus(IntEnum):
    """States of an inbox row. WAITING: of a turn that waits for a person; nothing is to be done for it now."""

    NEW = 0
    IN_TURN = 1
    DONE = 2
    WAITING = 3


class OutboxStatus(IntEnum):
    """States of an outbox row.

    OPEN: its text is not final yet; PARKED: refused for good, waits for an operator.
    """

    OPEN = 0
    READY = 1
    SENT = 2
    PARKED = 3


class Conversation(Stored, table=True):
    """A lane: one place (a chat, a topic, a thread), its order and its fence.

    `session_id` is where the next turn goes; `epoch` rises with each run, and an append with an
    older one is refused. `address` is where replies go. `preset` and `model` are the chat's own
    choice, empty for the settings' default.
    """

    id: str = Field(primary_key=True)
    address: str
    private: bool = True
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    epoch: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    preset: str = ""
    model: str = ""
    thinking: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Inbox(Stored, table=True):
    """Everything that came in, once each: unique by (channel, account, key)."""

    __table_args__ = (
        UniqueConstraint("channel", "account", "key", name="inbox_key"),
        Index(
            "inbox_open",
            "conversation_id",
            "status",
            "id",
            sqlite_where=text("status < 2"),
            postgresql_where=text("status < 2"),
        ),
        Index("inbox_lane", "conversation_id", "id"),
        Index("inbox_turn", "turn_id"),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    channel: str
    account: str
    key: str
    conversation_id: str = Field(
        sa_column=Column(Text, ForeignKey("conversation.id"), nullable=False)
    )
    author: str
    body: str = Field(sa_column=Column(Text, nullable=False))
    status: int = 0
    turn_id: int | None = Field(default=None, sa_column=Column(BigInteger))
    attempts: int = 0
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Outbox(Stored, table=True):
    """One reply or notice.

    `key` is unique for a turn; `ids` are the platform's message ids, `final` how many are finished.

    `lane` is the address: rows of a lane go out in order of `id`. `attempts` counts failed sends in
    a row.
    """

    __table_args__ = (
        UniqueConstraint("turn_id", "key", name="outbox_turn_key"),
        Index("outbox_lane", "lane", "id"),
        Index(
            "outbox_open",
            "lane",
            "id",
            sqlite_where=text("status < 2"),
            postgresql_where=text("status < 2"),
        ),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    turn_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    key: str
    owner: str
    lane: str
    body: str = Field(sa_column=Column(Text, nullable=False))
    status: int = 0
    ids: str = Field(default="[]", sa_column=Column(Text, nullable=False))
    final: int = 0
    attempts: int = 0
    error: str = ""
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    replica: int = Field(
        default=0, sa_column=Column(BigInteger, nullable=False, server_default=text("0"))
    )
    sent_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))


class PresetVersion(Stored, table=True):
    """A preset as a turn began with it, kept while an open turn works with it. It is the installation's.

    `digest` is the sha256 of what it says, `source` its resolved text with its prompts (`swarm_presets/kept.py`).
    """

    __tablename__ = "preset_version"  # pyright: ignore[reportAssignmentType]

    digest: str = Field(primary_key=True)
    name: str
    source: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class SchemaFloor(Stored, table=True):
    """One row, the installation's: the revision of the oldest code that may run on this schema (storage/schema.py).

    A migration that only adds leaves it as it is; one that takes something away raises it.
    """

    __tablename__ = "schema_floor"  # pyright: ignore[reportAssignmentType]

    oldest: str = Field(primary_key=True)


class Person(Stored, table=True):
    """Someone who wrote.

    `id` is `<channel>:<stable id>`; `access` is allowed or revoked; the name is for showing only.
    """

    id: str = Field(primary_key=True)
    name: str = ""
    access: str = "allowed"
    role: str = "user"
    language: str = ""
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Pairing(Stored, table=True):
    """A code that an operator may approve. Opens only the person it names."""

    code: str = Field(primary_key=True)
    person_id: str = Field(unique=True)
    name: str = ""
    expires_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Question(Stored, table=True):
    """Something asked of a person: a choice of `ask_user`, or an approval of a tool call.

    Durable (DESIGN.md 4).

    `kind`: ask | approval. `args` is the call's canonical JSON and `digest` its sha256: an approval
    holds for exactly that call, once. `approvers` is a JSON list of person ids. `status`: open,
    answered, expired, cancelled or parked (the turn went on without it; a later yes runs the call
    in a turn of its own). `answer` is JSON.
    """

    __table_args__ = (
        UniqueConstraint("session_id", "call_id", name="question_call"),
        Index("question_open", "status", "expires_at"),
        Index("question_conversation", "conversation_id", "status", "id"),
    )

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    kind: str
    conversation_id: str = Field(
        sa_column=Column(Text, ForeignKey("conversation.id"), nullable=False)
    )
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    turn_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    call_id: str
    owner: str
    tool: str = ""
    args: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    digest: str = ""
    text: str = Field(sa_column=Column(Text, nullable=False))
    options: str = Field(default="[]", sa_column=Column(Text, nullable=False))
    approvers: str = Field(default="[]", sa_column=Column(Text, nullable=False))
    status: str = "open"
    answer: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    answered_by: str = ""
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    expires_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    answered_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))


class Schedule(Stored, table=True):
    """Something due at a time: a reminder once, or a cron line.

    A due slot becomes an inbox row, unique by its slot.

    `cron` is empty for a single time; `timezone` is an IANA name; `status`: active, done or
    cancelled.
    """

    __table_args__ = (Index("schedule_due", "status", "next_at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str = Field(index=True)
    conversation_id: str = Field(
        sa_column=Column(Text, ForeignKey("conversation.id"), nullable=False)
    )
    kind: str
    text: str = Field(sa_column=Column(Text, nullable=False))
    cron: str = ""
    timezone: str = "UTC"
    status: str = "active"
    next_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class Link(Stored, table=True):
    """A person who is the same as another: memory and portfolio are the principal's.

    Made by a code both sides saw.
    """

    person_id: str = Field(primary_key=True)
    principal: str = Field(index=True)
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class LinkCode(Stored, table=True):
    """A one-time code that links whoever sends it, from another channel, to the person who asked for it."""

    __tablename__ = "link_code"  # pyright: ignore[reportAssignmentType]

    code: str = Field(primary_key=True)
    person_id: str = Field(unique=True)
    expires_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
