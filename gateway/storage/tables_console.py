"""The tables of the console: who is logged in, and what was done there."""

import datetime as dt

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from agent_core.storage.tables import BigId, UtcDateTime


class ConsoleSession(SQLModel, table=True):
    """A log-in to the console.

    `id` is the sha256 of what the cookie holds, so the table opens nothing. `owner` is the operator: `token:<name>` or
    `proxy:<name>`. `mark` ties it to the token it was bought with: another token under the same name ends it.
    """

    __tablename__ = "console_session"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    owner: str = Field(index=True)
    mark: str = ""
    agent: str = ""
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    expires_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class ConsoleAudit(SQLModel, table=True):
    """One thing that an operator did in the console or by its API; written in the transaction that does it.

    `owner` is the operator, `target` what it was done to (`question 7`, `user telegram:1`), `note` one line.
    """

    __tablename__ = "console_audit"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("console_audit_at", "at"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    role: str
    action: str
    target: str = ""
    note: str = Field(default="", sa_column=Column(Text, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
