"""market_calendar: whether a market trades on a day, its hours, half days, and the next sessions."""

import asyncio
import datetime as dt
from typing import Literal

from agent_core import symbols
from agent_core.finance.calendars import (
    HOURS,
    Calendars,
    Market,
    OutsideCalendar,
    Session,
    following,
    market_of,
)
from agent_core.finance.calendars_exchange import calendars as installed
from agent_core.tools import answers
from agent_core.tools.series import dump
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["objective fact"] = "objective fact"
MARKETS: dict[str, Market] = {
    **{name: name for name in HOURS},
    "NYSE": "US",
    "NASDAQ": "US",
    "HKEX": "HK",
    "SSE": "SH",
    "SZSE": "SZ",
}
MAX_NEXT = 20
_CURE = {
    "en": "holidays are not known here: pip install 'swarmgate[finance]'",
    "zh": "这里不知道节假日：pip install 'swarmgate[finance]'",
}


def calendar_tools(calendars: Calendars | None = None) -> list[ToolSpec]:
    """The tool of this file, on these calendars; the best that are installed unless given."""
    known = calendars or installed()

    @tool(title={"en": "Market calendar", "zh": "交易日历"}, timeout=30, output=answers.Sessions)
    async def market_calendar(
        ctx: ToolContext, market: str, date: str | None = None, sessions: int = 5
    ) -> ToolOutput:
        """Whether a market trades on a day, its opening hours, half days, and the next sessions.

        Args:
            market: US, HK, SSE, SZSE or CRYPTO, or a symbol that is traded there.
            date: YYYY-MM-DD; today in the market's own time when left out.
            sessions: How many following sessions to list, 0 to 20.
        """
        code = _market(market)
        day = _day(ctx, code, date)
        count = max(0, min(sessions, MAX_NEXT))
        try:
            session, coming = await asyncio.to_thread(_look, known, code, day, count)
        except OutsideCalendar as error:
            raise ToolFailure(str(error)) from error
        fields: dict[str, object] = {
            "market": code,
            "date": str(day),
            "weekday": f"{day:%A}",
            "timezone": HOURS[code].zone,
            "is_trading_day": session is not None,
            "session": None if session is None else _row(session),
            "next_sessions": [_row(s) for s in coming],
            "source": known.source,
            "as_of": str(ctx.as_of or ctx.clock.now().date()),
            "window": {"start": str(day), "end": str(coming[-1].date if coming else day)},
            "currency": None,
            "credibility": CREDIBILITY,
            "note": "" if known.holidays or code == "CRYPTO" else _CURE[ctx.language],
        }
        return ToolOutput(dump(fields), _line(ctx, code, day, session))

    return [market_calendar]


def _look(
    known: Calendars, market: Market, day: dt.date, count: int
) -> tuple[Session | None, list[Session]]:
    coming = following(known, market, day, count) if count else []
    return known.session(market, day), coming


def _market(written: str) -> Market:
    word = written.strip().upper()
    if word in MARKETS:
        return MARKETS[word]
    found = symbols.lookup(written) or symbols.coded(written)
    if found is None or found.market == "FX":
        raise ToolFailure(f"{written!r} is no market; there are {', '.join(MARKETS)}")
    return market_of(found.id)


def _day(ctx: ToolContext, market: Market, date: str | None) -> dt.date:
    if date is None:
        return ctx.as_of or _there(ctx, market)
    try:
        return dt.date.fromisoformat(date.strip())
    except ValueError:
        raise ToolFailure(f"{date!r} is no day; write it as 2024-01-31") from None


def _there(ctx: ToolContext, market: Market) -> dt.date:
    """Today where the market is."""
    from zoneinfo import ZoneInfo

    return ctx.clock.now().astimezone(ZoneInfo(HOURS[market].zone)).date()


def _row(session: Session) -> dict[str, object]:
    row: dict[str, object] = {
        "date": str(session.date),
        "opens": session.opens.isoformat(timespec="minutes"),
        "closes": session.closes.isoformat(timespec="minutes"),
    }
    if session.rest:
        row["break"] = [time.isoformat(timespec="minutes") for time in session.rest]
    return row | ({"half_day": True} if session.half else {})


def _line(ctx: ToolContext, market: Market, day: dt.date, session: Session | None) -> str:
    zh = ctx.language == "zh"
    if session is None:
        return f"{market} {day}：休市" if zh else f"{market} {day}: closed"
    hours = f"{session.opens:%H:%M}–{session.closes:%H:%M}"
    half = ("（半日）" if zh else " (half day)") if session.half else ""
    return f"{market} {day}：交易日 {hours}{half}" if zh else f"{market} {day}: open {hours}{half}"
