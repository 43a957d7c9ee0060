"""The calendars of exchange_calendars (Apache-2.0): holidays and half days of the years that it covers."""

import datetime as dt
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo

from agent_core.finance.calendars import HOURS, Calendars, Market, OutsideCalendar, Session
from agent_core.finance.calendars import SimpleCalendars as Simple

FIRST = "2000-01-01"


class ExchangeCalendars:
    """See Calendars. The first question about an exchange takes about a second."""

    source = "exchange_calendars"
    holidays = True

    def session(self, market: Market, day: dt.date) -> Session | None:
        """See Calendars."""
        hours = HOURS[market]
        if hours.opens is None:
            return Simple().session(market, day)
        calendar = _calendar(hours.exchange)
        first, last = calendar.first_session.date(), calendar.last_session.date()
        if not first <= day <= last:
            raise OutsideCalendar(
                f"the calendar of {market} runs from {first} to {last}, not {day}"
            )
        label = day.isoformat()
        if not calendar.is_session(label):
            return None
        zone = ZoneInfo(hours.zone)

        def at(stamp: Any) -> dt.datetime:
            found: dt.datetime = stamp.to_pydatetime().astimezone(zone)
            return found

        opens, closes = map(at, calendar.session_open_close(label))
        breaks = calendar.session_has_break(label)
        begin, end = calendar.session_break_start_end(label) if breaks else (None, None)
        rest = (at(begin), at(end)) if breaks else None
        return Session(day, opens, closes, closes.time() != hours.closes, rest)


@lru_cache
def _calendar(exchange: str) -> Any:
    from exchange_calendars import get_calendar

    return get_calendar(exchange, start=FIRST)


def calendars() -> Calendars:
    """The best calendars that are installed. Imports nothing yet."""
    return ExchangeCalendars() if find_spec("exchange_calendars") else Simple()
