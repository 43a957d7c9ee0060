"""The tables of the web chat's door: codes that are open, and cookies that were logged out."""

import datetime as dt

from sqlalchemy import Column
from sqlmodel import Field

from agent_core.storage.tables import Stored, UtcDateTime


class WebCode(Stored, table=True):
    """A one-time code that logs `owner` in. `id` is the sha256 of its letters, so the table opens nothing."""

    __tablename__ = "web_code"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    owner: str
    expires_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


class WebEnded(Stored, table=True):
    """A cookie, by its nonce, that was logged out before its time; after that the row is of no use."""

    __tablename__ = "web_ended"  # pyright: ignore[reportAssignmentType]

    id: str = Field(primary_key=True)
    owner: str
    expires_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
