"""The table of the cases of presets that were run from the console."""

import datetime as dt

from sqlalchemy import Column, Index, Text
from sqlmodel import Field, SQLModel

from agent_core.storage.tables import BigId, UtcDateTime


class PresetEval(SQLModel, table=True):
    """One run of the cases of a preset.

    `owner` is the operator who began it (`token:<name>` or `proxy:<name>`), `digest` names the text of the preset's
    file then, `model` what stood in for every model ("": each case's own). `status`: running, done, stopped or failed,
    with the reason in `note`. `results` is a JSON list, one entry for each of the `done` cases. Who runs it writes
    before `due_at`, or has died.
    """

    __tablename__ = "preset_eval"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (Index("preset_eval_preset", "preset", "id"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    owner: str
    preset: str
    digest: str = ""
    model: str = ""
    status: str
    cases: int
    done: int = 0
    passed: int = 0
    usd: float | None = 0.0
    results: str = Field(default="[]", sa_column=Column(Text, nullable=False))
    note: str = Field(default="", sa_column=Column(Text, nullable=False))
    began_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    due_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
