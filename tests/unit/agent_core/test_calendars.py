"""When markets trade: weekdays and hours without a package, holidays and half days with it, and the tool over both."""

import datetime as dt
import json
from importlib.util import find_spec
from typing import Any

import pytest

from agent_core.finance.calendars import (
    Calendars,
    Market,
    OutsideCalendar,
    Session,
    SimpleCalendars,
    following,
    last_closed,
    market_of,
)
from agent_core.tools.calendar import calendar_tools
from agent_core.tools.spec import ToolContext, ToolFailure
from tests.vendors import DAY, Watch

SIMPLE = SimpleCalendars()


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("now", "market", "day"),
    [
        ("2024-03-08T20:59+00:00", "US", "2024-03-07"),
        ("2024-03-08T21:00+00:00", "US", "2024-03-08"),
        ("2024-03-11T19:59+00:00", "US", "2024-03-08"),  # summer time began on Sunday
        ("2024-03-11T20:00+00:00", "US", "2024-03-11"),
        ("2024-03-11T07:00+00:00", "SH", "2024-03-11"),
        ("2024-03-10T23:00+00:00", "HK", "2024-03-08"),
        ("2024-03-10T23:00+00:00", "CRYPTO", "2024-03-09"),
    ],
)
def test_a_day_is_over_when_its_market_has_closed(now: str, market: Market, day: str) -> None:
    assert last_closed(SIMPLE, market, at(now)) == DAY(day)


def test_sessions_are_in_the_time_of_their_exchange() -> None:
    session = SIMPLE.session("SZ", DAY("2024-03-08"))
    assert session is not None
    assert session.opens == at("2024-03-08T09:30+08:00")
    assert session.closes == at("2024-03-08T15:00+08:00")
    assert session.rest == (at("2024-03-08T11:30+08:00"), at("2024-03-08T13:00+08:00"))
    assert SIMPLE.session("SZ", DAY("2024-03-09")) is None
    assert [s.date.day for s in following(SIMPLE, "US", DAY("2024-03-08"), 3)] == [11, 12, 13]


@pytest.mark.parametrize(
    ("symbol", "market"),
    [
        ("AAPL", "US"),
        ("BRK.B", "US"),
        ("0700.HK", "HK"),
        ("600519.SH", "SH"),
        ("000001.SZ", "SZ"),
        ("920001.BJ", "SH"),
        ("BTC-USD", "CRYPTO"),
    ],
)
def test_a_symbol_tells_its_market(symbol: str, market: str) -> None:
    assert market_of(symbol) == market


class Holidays:
    """Calendars with one holiday, one half day and an end."""

    source = "a list"
    holidays = True

    def session(self, market: Market, day: dt.date) -> Session | None:
        if day > DAY("2024-12-31"):
            raise OutsideCalendar(f"the calendar of {market} ends on 2024-12-31")
        if day == DAY("2024-11-28"):
            return None
        found = SIMPLE.session(market, day)
        if found is None or day != DAY("2024-11-29"):
            return found
        return Session(day, found.opens, found.closes.replace(hour=13), half=True)


async def ask(
    calendars: Calendars, language: str = "en", **args: Any
) -> tuple[dict[str, Any], str]:
    (spec,) = calendar_tools(calendars)
    as_of = args.pop("as_of", None)
    ctx = ToolContext("alice", "s", 1, "c", language, Watch(), as_of)  # type: ignore[arg-type]
    output = await spec.call(ctx, args)
    return json.loads(output.content), output.summary


async def test_the_tool_tells_a_holiday_and_the_half_day_after_it() -> None:
    closed, line = await ask(Holidays(), market="AAPL", date="2024-11-28", sessions=2)
    assert (closed["is_trading_day"], closed["session"], closed["weekday"]) == (
        False,
        None,
        "Thursday",
    )
    assert [row["date"] for row in closed["next_sessions"]] == ["2024-11-29", "2024-12-02"]
    assert closed["next_sessions"][0]["half_day"]
    assert (closed["source"], closed["note"], line) == ("a list", "", "US 2024-11-28: closed")
    half, line = await ask(Holidays(), "zh", market="nyse", date="2024-11-29", sessions=0)
    assert half["session"]["closes"] == "2024-11-29T13:00-05:00"
    assert line == "US 2024-11-29：交易日 09:30–13:00（半日）"


async def test_today_is_the_day_of_the_market_or_of_the_run() -> None:
    """At noon UTC it is still 8 March everywhere; `as_of` is the present of a run."""
    today, _ = await ask(SIMPLE, market="SSE")
    assert today["session"]["break"] == ["2024-03-08T11:30+08:00", "2024-03-08T13:00+08:00"]
    assert (today["date"], today["timezone"]) == ("2024-03-08", "Asia/Shanghai")
    past, _ = await ask(SIMPLE, market="HK", as_of=DAY("2012-06-01"))
    assert (past["date"], past["as_of"]) == ("2012-06-01", "2012-06-01")


async def test_what_is_not_known_is_said() -> None:
    simple, _ = await ask(SIMPLE, market="US", date="2024-12-25")
    assert simple["is_trading_day"]
    assert simple["note"] == "holidays are not known here: pip install 'swarmgate[finance]'"
    coins, _ = await ask(SIMPLE, market="BTC-USD", date="2024-12-25")
    assert (coins["is_trading_day"], coins["note"]) == (True, "")
    last, _ = await ask(Holidays(), market="US", date="2024-12-30")
    assert [row["date"] for row in last["next_sessions"]] == ["2024-12-31"]
    with pytest.raises(ToolFailure, match="ends on 2024-12-31"):
        await ask(Holidays(), market="US", date="2025-03-03")
    with pytest.raises(ToolFailure, match="is no market; there are US, HK"):
        await ask(SIMPLE, market="the moon")
    with pytest.raises(ToolFailure, match="write it as 2024-01-31"):
        await ask(SIMPLE, market="US", date="Christmas")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("exchange_calendars") is None, reason="comes with the extra finance")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_package_knows_holidays_and_half_days() -> None:
    """Thanksgiving 2024 and the Friday after it (NYSE), Golden Week (SSE), Christmas Eve (HKEX)."""
    from agent_core.finance.calendars_exchange import ExchangeCalendars, calendars

    known = calendars()
    assert isinstance(known, ExchangeCalendars)
    assert known.session("US", DAY("2024-11-28")) is None
    friday = known.session("US", DAY("2024-11-29"))
    assert friday is not None
    assert (friday.half, friday.closes) == (True, at("2024-11-29T13:00-05:00"))
    assert following(known, "SZ", DAY("2024-09-30"), 1)[0].date == DAY("2024-10-08")
    eve = known.session("HK", DAY("2024-12-24"))
    assert eve is not None
    assert (eve.half, eve.closes.hour, eve.rest) == (True, 12, None)
    for market in ("HK", "SH"):
        day, usual = (
            known.session(market, DAY("2024-03-08")),
            SIMPLE.session(market, DAY("2024-03-08")),
        )  # type: ignore[arg-type]
        assert day == usual
    assert known.session("CRYPTO", DAY("2024-12-25")) is not None
    with pytest.raises(OutsideCalendar, match="runs from 2000-01-0"):
        known.session("US", DAY("1999-03-01"))
