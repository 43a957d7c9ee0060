"""The table of background tasks. Foreign keys point from here to the gateway's and the agent core's tables."""

import datetime as dt

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Text, UniqueConstraint
from sqlmodel import Field

from agent_core.storage.tables import Stored, UtcDateTime


class TaskRow(Stored, table=True):
    """A call of a tool that runs in the background (section 21 of the requirements).

    `owner` is the principal, `author` who wrote the message that led to it. `session_id` is the transcript that
    started it, `call_session` the one in which the call was made (a sub-agent's, or the same). `args` and `meta` are
    JSON. `state`: queued, running, done, failed, cancelled or interrupted; `attempts` counts starts. `progress` is 0..1
    or null for unknown. `body` is the tool's answer as a transcript keeps it, "" until there is one; `error` the class
    of what went wrong. `told_at`: since when nothing more is to be said of it.
    """

    __tablename__ = "task"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (
        UniqueConstraint("call_session", "call_id", name="task_call"),
        Index("task_owner", "owner", "created_at"),
        Index("task_session", "session_id"),
        Index("task_state", "state"),
    )

    id: str = Field(primary_key=True)
    owner: str
    author: str
    session_id: str = Field(sa_column=Column(Text, ForeignKey("session.id"), nullable=False))
    conversation_id: str = Field(
        sa_column=Column(Text, ForeignKey("conversation.id"), nullable=False)
    )
    turn_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    call_session: str
    call_id: str
    agent: str = ""
    tool: str
    args: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    language: str = "en"
    as_of: str = ""
    max_age: float | None = None
    sources: str | None = None
    state: str = "queued"
    attempts: int = 0
    detail: str = ""
    progress: float | None = None
    summary: str = Field(default="", sa_column=Column(Text, nullable=False))
    error: str = ""
    body: str = Field(default="", sa_column=Column(Text, nullable=False))
    meta: str = Field(default="{}", sa_column=Column(Text, nullable=False))
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    started_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    ended_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
    told_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime))
