"""The table of price series that live sources have given. Prices are public: the rows are the installation's own."""

import datetime as dt

from sqlalchemy import Column, Date, LargeBinary, Text
from sqlmodel import Field

from agent_core.storage.tables import Stored, UtcDateTime


class PriceSeries(Stored, table=True):
    """What one source answered about one symbol last, so that a restart does not ask again.

    There is no owner: nothing in a row tells who asked, and everybody gets the same. `start` None: from the beginning.
    `data` is what finance/sources/packed.py writes, about 40 bytes a day.
    """

    __tablename__ = "price_series"  # pyright: ignore[reportAssignmentType]

    source: str = Field(sa_column=Column(Text, primary_key=True))
    symbol: str = Field(sa_column=Column(Text, primary_key=True))
    start: dt.date | None = Field(default=None, sa_column=Column(Date))
    end: dt.date = Field(sa_column=Column(Date, nullable=False))
    fetched_at: dt.datetime = Field(sa_column=Column(UtcDateTime, nullable=False))
    data: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
