"""Alerts in chat: asked for, watched when prices can change, told once where they were made (issue "Alerts")."""

import datetime as dt
from dataclasses import replace

import pytest

from agent_core.book import Alert, Event
from agent_core.storage import alerts as rows
from channels.types import Address
from gateway.alerts.alerts import MAX_OPEN
from gateway.http.web_host import _history
from gateway.inbound.seen import SeenPlaces
from gateway.people import access
from gateway.storage.db import Database
from gateway.trading.portfolio import StoredPortfolio
from tests.house import START, House, Watch, on_sqlite, settings, until
from tests.unit.gateway.watching import FRIDAY, Ticker, watching

ALICE, OTHER = "telegram:1", "2"
MONDAY = START.date()
HOUR = 3_600.0
OPEN_S = 2.5 * 3_600  # from noon UTC to New York's opening
PLACE = {"chat": "-5", "private": False}


async def alerts(db: Database, owner: str = ALICE) -> list[Alert]:
    return await StoredPortfolio(db).records(owner, Alert)


async def looked(house: House) -> None:
    """Until the keeper has looked for the first time, and what it had to tell is sent."""
    await until(lambda: house.alerts._looked)
    await house.quiet()


async def test_an_alert_is_told_once_where_it_was_made(db: Database) -> None:
    """Noted with its conversation, watched, told there; the signal is in the book (RMB-2)."""
    ticker = Ticker()
    async with watching(db, ticker) as house:
        said = await house.ask("/alert GOOG above 400", **PLACE)
        assert said[0] == (
            f"I will tell you here once: GOOG above 400.00 USD\nNow: 395.00 USD ({FRIDAY})\n_No. 1_"
        )
        [alert] = await alerts(db)
        assert (alert.symbol, alert.state) == ("GOOG", "pending")
        assert alert.conversation_id == str(Address("telegram", "777", "-5"))
        ticker.put(MONDAY, 401.0)
        await house.resting(HOUR)
        house.move(OPEN_S + 900)
        await until(lambda: len(house.channel.texts("-5")) == 2)
        assert house.channel.texts("-5")[1] == (
            "🔔 **GOOG above 400.00 USD**\n401.00 USD on 2026-01-05 (level 400.00)\n\n_Alert 1 is done._"
        )
        await house.quiet()
        assert [a.state for a in await alerts(db)] == ["done"]
        [event] = await StoredPortfolio(db).records(ALICE, Event)
        assert (event.kind, event.codes, event.source) == ("signal", ("GOOG",), "alert")
        assert "401.00 USD on 2026-01-05" in event.text
        assert await house.one("select count(*) from turn") == 0
        assert (
            await house.one("select key from inbox where key like 'alert:%'")
            == "alert:1:2026-01-05"
        )
        assert (await house.ask("/alert list", **PLACE))[-1] == "You have no alerts here."


@on_sqlite
async def test_a_repeating_alert_is_told_each_time_and_not_each_look(db: Database) -> None:
    ticker = Ticker()
    async with watching(db, ticker) as house:
        await house.ask("/alert GOOG above 400 repeat")
        await house.resting(HOUR)
        house.move(OPEN_S + 900)
        await house.resting(900)
        for latest, told in ((401.0, 1), (402.0, 1), (390.0, 1), (401.0, 1), (390.0, 1)):
            ticker.put(MONDAY, latest)
            house.move(900)
            await house.resting(900)
            await house.quiet()
            assert len(house.channel.texts("1")) == 1 + told
        ticker.put(MONDAY + dt.timedelta(days=1), 405.0)
        house.move(900)
        await until(lambda: len(house.channel.texts("1")) == 3)
        assert "Alert 1 goes on" in house.channel.texts("1")[-1]


@on_sqlite
async def test_prices_are_asked_for_once_a_symbol_and_not_while_they_cannot_change(
    db: Database,
) -> None:
    """One batch a symbol for all persons; nothing is asked while there is no alert or the market is closed."""
    ticker = Ticker()
    async with watching(db, ticker) as house:
        assert await house.alerts.look() is None  # nothing to wait for
        assert ticker.asked == []
        await house.ask("/alert GOOG above 400")
        await house.ask("/alert GOOG below 300", author=OTHER, chat="2")
        await house.ask("/alert GOOG rsi above 70")
        asked = len(ticker.asked)
        await house.resting(HOUR)
        house.move(OPEN_S)  # an hour at a time it looks at its clock, not at prices
        await house.resting(900)
        assert len(ticker.asked) == asked
        house.move(900)
        await house.resting(900)
        assert ticker.asked[asked:] == ["GOOG"]


@pytest.mark.parametrize("days", [1, 20])
async def test_what_came_true_while_nobody_ran_is_told_once_at_the_start(
    db: Database, days: int
) -> None:
    ticker = Ticker()
    async with watching(db, ticker) as house:
        await house.ask("/alert GOOG above 400")
    ticker.put(MONDAY, 410.0)
    ticker.put(MONDAY + dt.timedelta(days=days), 380.0)
    clock = Watch()
    clock.seconds = days * 86_400.0
    async with watching(db, ticker, clock=clock) as house:
        await until(lambda: house.channel.texts("1"))
        assert "410.00 USD on 2026-01-05" in house.channel.texts("1")[0]
        await house.quiet()
    async with watching(db, ticker, clock=clock) as house:
        await house.alerts.look()
        await house.quiet()
        assert house.channel.texts("1") == []


@on_sqlite
async def test_a_bar_is_told_of_once_though_its_alert_was_set_back(db: Database) -> None:
    """The slot is the key of an inbox row: a second firing of the same day's bar writes nothing."""
    ticker = Ticker()
    async with watching(db, ticker) as house:
        await house.ask("/alert GOOG above 400")
        before = await db.read(rows.every)
        ticker.put(MONDAY, 401.0)
        for _ in range(2):
            house.alerts._due.clear()
            house.alerts._looked = False
            await house.alerts.look()
            alert = before[0].alert
            await StoredPortfolio(db).put(ALICE, alert)
        await house.quiet()
        assert len(house.channel.texts("1")) == 2


@on_sqlite
async def test_what_is_so_already_is_said_and_waits_until_it_is_not(db: Database) -> None:
    async with watching(db, Ticker(410.0)) as house:
        said = (await house.ask("/alert GOOG above 400"))[-1]
        assert "this is so already (410.00 USD on 2026-01-02 (level 400.00))" in said
        assert "waits until it is not" in (await house.ask("/alert list"))[-1]
        assert [a.state for a in await alerts(db)] == ["fired"]


@on_sqlite
async def test_prices_that_have_ended_are_said_at_creation(db: Database) -> None:
    """Bundled prices end in 2013: the alert says that it cannot come true, and what the last bar would say."""
    async with watching(db, Ticker(838.6, dt.date(2013, 3, 1))) as house:
        said = (await house.ask("/alert GOOG above 400"))[-1]
        assert "the prices of ticker end on 2013-03-01" in said
        assert "this is so already" in said
        chinese = (await house.ask("/alert 谷歌 跌破 300"))[-1]
        assert "条件成立时我会在此提醒一次：GOOG 谷歌 低于 300.00 USD" in chinese
        assert "止于 2013-03-01" in chinese
        assert (await house.alerts.look()) == START + dt.timedelta(hours=9, minutes=35)


@on_sqlite
async def test_what_cannot_be_an_alert_is_said(db: Database) -> None:
    ticker = Ticker()
    async with watching(db, ticker) as house:
        assert "How to use it" in (await house.ask("/alert GOOG"))[-1]
        assert "用法" in (await house.ask("/alert 谷歌"))[-1]
        assert (
            "no symbol is named 'NOSUCHTHING'"
            in (await house.ask("/alert NOSUCHTHING above 3"))[-1]
        )
        assert "no prices of AAPL" in (await house.ask("/alert AAPL above 3"))[-1]
        assert "below 100 %" in (await house.ask("/alert GOOG down 200%"))[-1]
        ticker.broken = True
        assert "Prices cannot be asked for" in (await house.ask("/alert GOOG above 400"))[-1]
        ticker.broken, ticker.away = False, True
        assert "no prices of GOOG" in (await house.ask("/alert GOOG above 400"))[-1]
        assert await alerts(db) == []


async def test_alerts_are_listed_and_removed_by_their_owner_alone(db: Database) -> None:
    async with watching(db, Ticker()) as house:
        assert (await house.ask("/alert"))[-1] == "You have no alerts here."
        await house.ask("/alert GOOG above 400")
        await house.ask("/alert IBM down 5% repeat")
        await house.ask("/alert GOOG above 500", **PLACE)
        await house.ask("/alert GOOG above 600", author=OTHER, **PLACE)
        lines = (await house.ask("/alert list"))[-1].splitlines()
        assert lines == [
            "- 1 · GOOG above 400.00 USD",
            f"- 2 · IBM down 5 % from 395.00 ({FRIDAY}) · each time",
        ]
        assert (await house.ask("/alert list", **PLACE))[-1] == "- 3 · GOOG above 500.00 USD"
        for number in ("4", "3", "x", "99999999999999999999999"):
            assert "no alert" in (await house.ask(f"/alert remove {number}"))[-1]
        assert (await house.ask("/alert remove 1"))[-1] == "Alert 1 is removed."
        assert "no alert 1" in (await house.ask("/alert remove 1"))[-1]
        assert len(await db.read(rows.every)) == 3


@on_sqlite
async def test_a_person_has_a_bounded_number_of_alerts(db: Database) -> None:
    rules = settings(sessions={"rate_limit": {"messages_per_minute": 1_000}})
    async with watching(db, Ticker(), rules=rules) as house:
        await house.ask("/alert GOOG above 500")
        [alert] = await alerts(db)
        for _ in range(MAX_OPEN - 1):
            await StoredPortfolio(db).put(ALICE, replace(alert, id=0))
        assert "50 alerts already" in (await house.ask("/alert GOOG above 1000"))[-1]
        assert (
            "I will tell you"
            in (await house.ask("/alert IBM above 1000", author=OTHER, chat="2"))[-1]
        )


@on_sqlite
async def test_a_source_that_is_away_delays_and_ends_nothing(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    ticker = Ticker()
    async with watching(db, ticker) as house:
        await house.ask("/alert GOOG above 400")
        ticker.away = True
        ticker.put(MONDAY, 401.0)
        await house.resting(HOUR)
        house.move(OPEN_S + 900)
        await until(lambda: "alert_not_checked" in caplog.text)
        await house.resting(900)
        ticker.away = False
        house.move(900)
        await until(lambda: len(house.channel.texts("1")) == 2)


@on_sqlite
@pytest.mark.parametrize("away", [False, True])
async def test_prices_that_end_later_are_told_of_once_until_they_go_on(
    db: Database, away: bool
) -> None:
    """Missing data is said: a source that goes silent must not look like a quiet market."""
    ticker, clock = Ticker(), Watch()
    async with watching(db, ticker, clock=clock) as house:
        await house.ask("/alert GOOG above 400")
    clock.seconds = 9 * 86_400.0
    ticker.away = away
    for told in ([True], []):
        async with watching(db, ticker, clock=clock) as house:
            await looked(house)
            shown = house.channel.texts("1")
            assert ["Alert 1 cannot be watched" in text for text in shown] == told
    ticker.away = False
    ticker.put(MONDAY + dt.timedelta(days=9), 410.0)
    async with watching(db, ticker, clock=clock) as house:
        await until(lambda: house.channel.texts("1"))
        assert "410.00 USD on 2026-01-14" in house.channel.texts("1")[0]


@on_sqlite
async def test_whoever_was_shut_out_is_told_nothing(db: Database) -> None:
    ticker = Ticker()
    async with watching(db, ticker) as house:
        await house.ask("/alert GOOG above 400")
        await db.write(lambda conn: access.revoke(conn, ALICE))
        ticker.put(MONDAY, 401.0)
        house.alerts._due.clear()
        house.alerts._looked = False
        await house.alerts.look()
        await house.quiet()
        assert len(house.channel.texts("1")) == 1
        assert [a.state for a in await alerts(db)] == ["done"]


async def test_an_alert_hides_no_message_from_a_channel_that_looks_for_missed_ones(
    db: Database,
) -> None:
    """openclaw#77594: where a channel was is told by the platform's own ids alone; and it is no message of anybody."""
    ticker = Ticker()
    async with watching(db, ticker) as house:
        await house.ask("/alert GOOG above 400", key="12345")
        ticker.put(MONDAY, 401.0)
        house.alerts._due.clear()
        house.alerts._looked = False
        await house.alerts.look()
        await house.quiet()
        found = await SeenPlaces(db).places("telegram", "777")
        assert [key for _, key in found] == ["12345"]
        lane = str(Address("telegram", "777", "1"))
        said = await db.read(lambda conn: _history(conn, lane))
        assert [item.text for item in said if item.role == "user"] == ["/alert GOOG above 400"]
