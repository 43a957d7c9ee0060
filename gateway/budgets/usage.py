"""What model calls used: sums by owner, session and days. Statements; none commits.

An unknown price makes a sum unknown (MDL-3). What caching saved is told of the calls whose both prices are known:
`usd_uncached` is missing in rows from before it was counted.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, Connection, Row, case, func, or_, select

from agent_core.storage.tables import Turn, UsageRow

_USAGE = UsageRow.__table__  # type: ignore[attr-defined]
_TURN = Turn.__table__  # type: ignore[attr-defined]
By = Literal["model", "user", "preset", "day"]


@dataclass(frozen=True, slots=True)
class Tally:
    """A sum of model calls.

    Attributes:
        key: what the calls have in common (a model, an owner, a preset, a day); "" for all.
        calls: how many.
        unpriced: how many of them have no known price.
        fresh: input tokens that no cache had; `read` and `written`: those read from and written to a cache.
        output: tokens written by the models.
        compared: how many have both prices, with and without a cache.
        usd: US dollars of the priced calls.
        saved: US dollars that caching saved over the compared calls; negative where writing cost more.
    """

    key: str = ""
    calls: int = 0
    unpriced: int = 0
    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0
    compared: int = 0
    usd: float = 0.0
    saved: float = 0.0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.key, *(getattr(self, n) + getattr(other, n) for n in _NUMBERS))

    @property
    def input(self) -> int:
        """Every token that a model read."""
        return self.fresh + self.read + self.written

    @property
    def hit_share(self) -> float:
        """The part of the input that came from a cache, 0..1."""
        return self.read / self.input if self.input else 0.0

    @property
    def cost(self) -> float | None:
        """US dollars of all calls; None where the price of one is unknown (MDL-3)."""
        return None if self.unpriced else self.usd


_COUNTS = ("calls", "unpriced", "fresh", "read", "written", "output", "compared")
_NUMBERS = (*_COUNTS, "usd", "saved")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which calls: of these owners (None: all), of a session and its sub-agents, since a time."""

    owners: Iterable[str] | None = None
    session: str = ""
    since: dt.datetime | None = None

    def where(self) -> list[ColumnElement[bool]]:
        """The conditions on usage rows."""
        found: list[ColumnElement[bool]] = []
        if self.owners is not None:
            found.append(_USAGE.c.owner.in_(list(self.owners)))
        if self.session:
            below = _USAGE.c.session_id.startswith(f"{self.session}/", autoescape=True)
            found.append(or_(_USAGE.c.session_id == self.session, below))
        if self.since is not None:
            found.append(_USAGE.c.at >= self.since)
        return found


def total(conn: Connection, scope: Scope) -> Tally:
    """The sum of a scope."""
    return _tally("", conn.execute(select(*_sums()).where(*scope.where())).one())


def by(conn: Connection, scope: Scope, what: By, zone: str = "UTC") -> list[Tally]:
    """The sums of a scope by model, owner, preset or day (of the time zone); the dearest first, days in order."""
    if what == "day":
        return _by_day(conn, scope, ZoneInfo(zone))
    key: ColumnElement[Any] = _USAGE.c.model if what == "model" else _USAGE.c.owner
    source = _USAGE
    if what == "preset":
        key = func.coalesce(_TURN.c.preset, "")
        source = _USAGE.outerjoin(_TURN, _TURN.c.id == _USAGE.c.turn_id)
    query = select(key.label("key"), *_sums()).select_from(source).where(*scope.where())
    found = [_tally(row.key, row) for row in conn.execute(query.group_by(key))]
    return sorted(found, key=lambda t: (-t.usd, -t.input, t.key))


def first_moment(now: dt.datetime, days: int, zone: str) -> dt.datetime:
    """When the last `days` days began, today included, in a time zone."""
    local = now.astimezone(ZoneInfo(zone))
    return dt.datetime.combine(
        local.date() - dt.timedelta(days=days - 1), dt.time(), ZoneInfo(zone)
    )


def _sums() -> tuple[ColumnElement[Any], ...]:
    both = _USAGE.c.usd.is_not(None) & _USAGE.c.usd_uncached.is_not(None)
    saved = case((both, _USAGE.c.usd_uncached - _USAGE.c.usd), else_=0.0)
    return (
        func.count(_USAGE.c.id).label("calls"),
        func.count(case((_USAGE.c.usd.is_(None), 1))).label("unpriced"),
        func.coalesce(func.sum(_USAGE.c.input_tokens), 0).label("fresh"),
        func.coalesce(func.sum(_USAGE.c.cache_read_tokens), 0).label("read"),
        func.coalesce(func.sum(_USAGE.c.cache_write_tokens), 0).label("written"),
        func.coalesce(func.sum(_USAGE.c.output_tokens), 0).label("output"),
        func.count(case((both, 1))).label("compared"),
        func.coalesce(func.sum(_USAGE.c.usd), 0.0).label("usd"),
        func.coalesce(func.sum(saved), 0.0).label("saved"),
    )


def _tally(key: str, row: Row[Any]) -> Tally:
    counts = {name: int(getattr(row, name)) for name in _COUNTS}
    return Tally(key, **counts, usd=float(row.usd), saved=float(row.saved))


def _by_day(conn: Connection, scope: Scope, zone: ZoneInfo) -> list[Tally]:
    """Summed here, row by row: SQLite knows no time zones."""
    days: dict[str, Tally] = {}
    for row in conn.execute(select(_USAGE).where(*scope.where()).order_by(_USAGE.c.at)):
        day = row.at.astimezone(zone).date().isoformat()
        days[day] = days.get(day, Tally(day)) + _of_call(row)
    return list(days.values())


def _of_call(row: Row[Any]) -> Tally:
    known = row.usd is not None and row.usd_uncached is not None
    return Tally(
        "",
        calls=1,
        unpriced=int(row.usd is None),
        fresh=row.input_tokens,
        read=row.cache_read_tokens,
        written=row.cache_write_tokens,
        output=row.output_tokens,
        compared=int(known),
        usd=row.usd or 0.0,
        saved=(row.usd_uncached or 0.0) - (row.usd or 0.0) if known else 0.0,
    )
