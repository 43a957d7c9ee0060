"""When markets trade: sessions with their hours, in UTC and in the exchange's own time.

`SimpleCalendars` knows weekdays and hours and no holidays, and says so; `ExchangeCalendars` asks exchange_calendars
(extra `finance`), which knows holidays and half days within the years that it covers.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Literal, Protocol
from zoneinfo import ZoneInfo

from agent_core.errors import SwarmgateError

Market = Literal["US", "HK", "SH", "SZ", "CRYPTO"]
DAY = dt.timedelta(days=1)
MONDAY_TO_FRIDAY = 5


@dataclass(frozen=True, slots=True)
class Hours:
    """Regular hours of an exchange in its own time; `zone` is an IANA name. Around the clock where both are None.

    `rest` is the break at noon, None where there is none.
    """

    exchange: str
    zone: str
    opens: dt.time | None
    closes: dt.time | None
    rest: tuple[dt.time, dt.time] | None = None


NOON = dt.time(12)
MAINLAND = Hours(
    "XSHG", "Asia/Shanghai", dt.time(9, 30), dt.time(15), (dt.time(11, 30), dt.time(13))
)
HOURS: dict[Market, Hours] = {
    "US": Hours("XNYS", "America/New_York", dt.time(9, 30), dt.time(16)),
    "HK": Hours("XHKG", "Asia/Hong_Kong", dt.time(9, 30), dt.time(16), (NOON, dt.time(13))),
    "SH": MAINLAND,
    "SZ": MAINLAND,  # the same days and hours
    "CRYPTO": Hours("24/7", "UTC", None, None),
}


class OutsideCalendar(SwarmgateError):
    """A day that the calendar does not cover; the text says which it does."""


@dataclass(frozen=True, slots=True)
class Session:
    """One trading day; times are aware, in the exchange's zone. `half` days close early; `rest` is a break at noon."""

    date: dt.date
    opens: dt.datetime
    closes: dt.datetime
    half: bool = False
    rest: tuple[dt.datetime, dt.datetime] | None = None


class Calendars(Protocol):
    """The sessions of markets. Methods may take a second at first: call them in a thread."""

    @property
    def source(self) -> str:
        """Where the days come from, for people."""
        ...

    @property
    def holidays(self) -> bool:
        """Whether holidays and half days are known."""
        ...

    def session(self, market: Market, day: dt.date) -> Session | None:
        """The session of a day, or None when the market is closed. Raises OutsideCalendar."""
        ...


class SimpleCalendars:
    """Weekdays at regular hours; every day for crypto. Holidays are not known."""

    source = "weekdays and regular hours; holidays are not known"
    holidays = False

    def session(self, market: Market, day: dt.date) -> Session | None:
        """See Calendars."""
        hours = HOURS[market]
        zone = ZoneInfo(hours.zone)
        if hours.opens is None or hours.closes is None:
            begin = dt.datetime.combine(day, dt.time(), zone)
            return Session(day, begin, begin + DAY)
        if day.weekday() >= MONDAY_TO_FRIDAY:
            return None

        def at(time: dt.time) -> dt.datetime:
            return dt.datetime.combine(day, time, zone)

        rest = (at(hours.rest[0]), at(hours.rest[1])) if hours.rest else None
        return Session(day, at(hours.opens), at(hours.closes), rest=rest)


def following(
    calendars: Calendars, market: Market, after: dt.date, count: int, within: int = 40
) -> list[Session]:
    """The next sessions after a day, at most `count`, within so many days, and as far as the calendar goes."""
    found: list[Session] = []
    for step in range(1, within + 1):
        try:
            session = calendars.session(market, after + step * DAY)
        except OutsideCalendar:
            break
        if session is not None:
            found.append(session)
            if len(found) == count:
                break
    return found


def last_closed(calendars: Calendars, market: Market, now: dt.datetime) -> dt.date:
    """The day of the last session that has ended at `now`: later daily prices are not final. Raises OutsideCalendar."""
    day = now.astimezone(ZoneInfo(HOURS[market].zone)).date()
    for _ in range(40):
        session = calendars.session(market, day)
        if session is not None and session.closes <= now:
            return day
        day -= DAY
    raise OutsideCalendar(f"no session of {market} ended in the 40 days before {now.date()}")


def market_of(symbol: str) -> Market:
    """The market of a canonical symbol id (agent_core/symbols.py), by its form."""
    _, dot, suffix = symbol.rpartition(".")
    if dot and suffix in {"HK", "SH", "SZ"}:
        return suffix  # type: ignore[return-value]
    if dot and suffix == "BJ":
        return "SH"  # Beijing keeps the mainland's days and hours
    return "CRYPTO" if symbol.endswith("-USD") else "US"
