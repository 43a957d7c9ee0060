"""Price series that live sources have given. Statements; none commits."""

import datetime as dt
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, select

from agent_core.storage.tables_prices import PriceSeries
from agent_core.storage.upsert import insert_into

_SERIES = PriceSeries.__table__  # type: ignore[attr-defined]
_KEY = ("source", "symbol")


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """One row: what was asked for (`start` None: from the beginning), and the packed answer."""

    source: str
    symbol: str
    start: dt.date | None
    end: dt.date
    fetched_at: dt.datetime
    data: bytes


def load_series(conn: Connection, source: str, symbol: str) -> StoredSeries | None:
    """The series of a symbol, or None."""
    query = select(_SERIES).where(_SERIES.c.source == source, _SERIES.c.symbol == symbol)
    row = conn.execute(query).mappings().first()
    return None if row is None else StoredSeries(**row)


def save_series(conn: Connection, series: StoredSeries) -> None:
    """Store a series in place of the one before; an older answer never takes the place of a newer one."""
    values = asdict(series)
    made = insert_into(conn.dialect.name, _SERIES).values(**values)
    changed = {name: made.excluded[name] for name in values if name not in _KEY}
    conn.execute(
        made.on_conflict_do_update(
            index_elements=list(_KEY),
            set_=changed,
            where=_SERIES.c.fetched_at <= made.excluded.fetched_at,
        )
    )


def delete_series_before(conn: Connection, before: dt.datetime) -> int:
    """Delete what was fetched before a time. Returns how many."""
    return conn.execute(delete(_SERIES).where(_SERIES.c.fetched_at < before)).rowcount
