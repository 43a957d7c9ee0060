"""When an alert is worth looking at: not more often than prices can change.

While the market of a symbol trades and its prices are up to date, every quarter of an hour; else once when the day's
close has been published.
"""

import datetime as dt
from zoneinfo import ZoneInfo

from agent_core.finance.calendars import (
    DAY,
    HOURS,
    Calendars,
    Market,
    OutsideCalendar,
    Session,
    SimpleCalendars,
)

LIVE = dt.timedelta(minutes=15)
PUBLISHED = dt.timedelta(minutes=35)  # after the close, when vendors have the day
FAR = 20  # days within which every market trades


def next_look(calendars: Calendars, market: Market, now: dt.datetime, *, live: bool) -> dt.datetime:
    """When prices of a market are next worth asking for, in UTC. `live`: they are up to date. Use a thread."""
    today = now.astimezone(ZoneInfo(HOURS[market].zone)).date()
    for step in range(-1, FAR):
        session = _session(calendars, market, today + step * DAY)
        if session is None:
            continue
        published = session.closes.astimezone(dt.UTC) + PUBLISHED
        if now >= published:
            continue
        if not live or now >= session.closes:
            return published
        return min(max(now, session.opens.astimezone(dt.UTC)) + LIVE, published)
    return now + DAY


def _session(calendars: Calendars, market: Market, day: dt.date) -> Session | None:
    try:
        return calendars.session(market, day)
    except OutsideCalendar:
        return SimpleCalendars().session(market, day)
