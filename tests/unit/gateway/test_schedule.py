"""Reminders: once for their slot, in the place they came from, also after a restart (field bugs, "Schedules")."""

import asyncio
import datetime as dt

import pytest

from channels.types import Address
from gateway.commands.remind import MAX_ACTIVE, MAX_CHARS
from gateway.http.web_host import _history
from gateway.inbound.seen import SeenPlaces
from gateway.people import access
from gateway.rounds import LONGEST_NAP_S
from gateway.schedules import schedule
from gateway.storage.db import Database
from tests.house import START, House, Watch, on_sqlite, settings, until

pytestmark = pytest.mark.statements

OTHER = "2"


class Night:
    """A sleep that ends when the test says so; it notes for how long somebody wanted to sleep."""

    def __init__(self) -> None:
        self.naps: list[float] = []
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await self.over.wait()
        self.over.clear()


async def asleep(night: Night, naps: int) -> None:
    await until(lambda: len(night.naps) >= naps)


async def test_a_reminder_arrives_at_its_time_where_it_was_asked_for(db: Database) -> None:
    """hermes#24100, hermes#9394: reminders go to the place they came from; no turn is run for them."""
    night = Night()
    async with House(db, [], nap=night.sleep) as house:
        place = {"chat": "-5", "private": False}
        said = await house.ask("/remind in 10m drink tea", **place)
        assert "2026-01-05 12:10 (UTC): drink tea" in said[0]
        await asleep(night, 1)
        assert night.naps == [600.0]
        assert len(house.channel.texts("-5")) == 1
        house.clock.seconds = 600.0
        night.over.set()
        await until(lambda: len(house.channel.texts("-5")) == 2)
        assert house.channel.texts("-5")[1] == "⏰ drink tea"
        await house.quiet()
        assert await house.one("select count(*) from turn") == 0
        assert await house.one("select status from schedule") == "done"
        key = await house.one("select key from inbox where key like 'sched:%'")
        assert key == "sched:1:2026-01-05T12:10:00+00:00"


@on_sqlite
async def test_a_new_reminder_wakes_the_timer_that_sleeps_for_a_later_one(db: Database) -> None:
    night = Night()
    async with House(db, [], nap=night.sleep) as house:
        await house.ask("/remind in 50m later")
        await asleep(night, 1)
        await house.ask("/remind in 10m sooner")
        await asleep(night, 2)
        assert night.naps == [3_000.0, 600.0]


@on_sqlite
async def test_the_timer_looks_up_at_least_once_an_hour(db: Database) -> None:
    """The wall clock may be set and a machine may sleep."""
    night = Night()
    async with House(db, [], nap=night.sleep) as house:
        await house.ask("/remind in 3 days far")
        await asleep(night, 1)
        assert night.naps == [LONGEST_NAP_S]
        night.over.set()
        await asleep(night, 2)
        assert len(house.channel.texts("1")) == 1


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (30, "⏰ tea"),
        (300, "⏰ tea\n\n_This was due at 2026-01-05 12:10._"),
        (7_200, "⏰ Missed while I was away: tea\n\n_This was due on 2026-01-05 12:10._"),
    ],
)
async def test_a_reminder_missed_while_down_comes_once_at_the_start(
    db: Database, late: int, expected: str
) -> None:
    async with House(db, [], nap=Night().sleep) as house:
        await house.ask("/remind in 10m tea")
    clock = Watch()
    clock.seconds = 600.0 + late
    async with House(db, [], clock=clock, nap=Night().sleep) as house:
        await until(lambda: house.channel.texts("1"))
        assert house.channel.texts("1") == [expected]
        await house.quiet()
    async with House(db, [], clock=clock, nap=Night().sleep) as house:  # nothing more to say
        await asyncio.sleep(0.1)
        await house.quiet()
        assert house.channel.texts("1") == []
    assert await house.one("select count(*) from outbox") == 2


async def test_a_slot_is_done_once_even_if_two_look_at_it(db: Database) -> None:
    """openclaw#42640: unique by the slot, so also beside another engine."""
    async with House(db, [], nap=Night().sleep) as house:
        await house.ask("/remind in 10m tea")
        now = START + dt.timedelta(minutes=10)
        first = await db.write(lambda conn: schedule.fire(conn, now))
        assert len(first) == 1
        await db.write(lambda conn: conn.exec_driver_sql("update schedule set status = 'active'"))
        assert await db.write(lambda conn: schedule.fire(conn, now)) == []


async def test_reminders_are_listed_and_cancelled_by_their_owner_alone(db: Database) -> None:
    async with House(db, [], nap=Night().sleep) as house:
        group = {"chat": "-5", "private": False}
        assert (await house.ask("/remind list"))[-1] == "You have no reminders here."
        await house.ask("/remind 2026-02-01 09:00 second")
        await house.ask("/remind 2026-01-20 09:00 first")
        await house.ask("/remind in 1h public", **group)
        await house.ask("/remind in 1h not mine", author=OTHER, **group)
        lines = (await house.ask("/remind list"))[-1].splitlines()
        assert lines == ["- 2 · 2026-01-20 09:00 · first", "- 1 · 2026-02-01 09:00 · second"]
        assert (await house.ask("/remind list", **group))[-1].endswith("public")
        assert "no reminder 4" in (await house.ask("/remind cancel 4"))[-1]
        assert "no reminder x" in (await house.ask("/remind cancel x"))[-1]
        assert (await house.ask("/remind cancel 2"))[-1] == "Reminder 2 is cancelled."
        assert "no reminder 2" in (await house.ask("/remind cancel 2"))[-1]
        later = START + dt.timedelta(days=60)
        assert len(await db.write(lambda conn: schedule.fire(conn, later))) == 3


@on_sqlite
async def test_what_cannot_be_reminded_of_is_said(db: Database) -> None:
    async with House(db, [], nap=Night().sleep) as house:
        assert "How to use it" in (await house.ask("/remind"))[-1]
        assert "How to use it" in (await house.ask("/remind in 10m"))[-1]
        assert "用法" in (await house.ask("/remind 喝水"))[-1]
        assert "has passed already" in (await house.ask("/remind 2026-01-01 09:00 x"))[-1]
        assert "too far away" in (await house.ask("/remind 2040-01-01 09:00 x"))[-1]
        assert "characters" in (await house.ask("/remind in 1h " + "x" * (MAX_CHARS + 1)))[-1]
        assert await house.one("select count(*) from schedule") == 0


@on_sqlite
async def test_a_person_has_a_bounded_number_of_reminders(db: Database) -> None:
    rules = settings(sessions={"rate_limit": {"messages_per_minute": 1_000}})
    async with House(db, [], nap=Night().sleep, rules=rules) as house:
        for n in range(MAX_ACTIVE):
            await house.say(f"/remind in {n + 1}h x")
        await house.quiet()
        assert "reminders already" in (await house.ask("/remind in 1h one more"))[-1]


@on_sqlite
async def test_a_reminder_is_on_time_while_a_turn_runs_and_breaks_no_steering(
    db: Database,
) -> None:
    gate = asyncio.Event()

    async def script(_: object) -> str:
        await gate.wait()
        return "done"

    night = Night()
    async with House(db, script, nap=night.sleep) as house:
        await house.ask("/remind 10分钟后 喝水")
        await house.say("long question")
        await until(lambda: house.model.requests)
        await asleep(night, 1)
        house.clock.seconds = 600.0
        night.over.set()
        await until(lambda: "⏰ 喝水" in house.channel.texts("1"))
        gate.set()
        await house.quiet()
        assert "done" in house.channel.texts("1")


@on_sqlite
async def test_what_was_due_is_no_message_of_the_person(db: Database) -> None:
    async with House(db, [], nap=Night().sleep) as house:
        await house.ask("/remind in 10m tea")
        await db.write(lambda conn: schedule.fire(conn, START + dt.timedelta(hours=1)))
        lane = str(Address("telegram", "777", "1"))
        found = await db.read(lambda conn: _history(conn, lane))
        assert [item.text for item in found if item.role == "user"] == ["/remind in 10m tea"]


async def test_a_reminder_hides_no_message_from_a_channel_that_looks_for_missed_ones(
    db: Database,
) -> None:
    """openclaw#77594: where a channel was is told by the platform's own ids alone."""
    async with House(db, [], nap=Night().sleep) as house:
        await house.ask("/remind in 10m tea", key="12345")
        await db.write(lambda conn: schedule.fire(conn, START + dt.timedelta(hours=1)))
        found = await SeenPlaces(db).places("telegram", "777")
        assert [key for _, key in found] == ["12345"]


@on_sqlite
async def test_whoever_was_shut_out_is_reminded_of_nothing(db: Database) -> None:
    async with House(db, [], nap=Night().sleep) as house:
        await house.ask("/remind in 10m tea")
        await db.write(lambda conn: access.revoke(conn, "telegram:1"))
        later = START + dt.timedelta(hours=1)
        assert await db.write(lambda conn: schedule.fire(conn, later)) == []
        assert await house.one("select status from schedule") == "done"


@on_sqlite
async def test_a_database_that_is_away_delays_and_does_not_end_the_timer(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    night = Night()
    async with House(db, [], nap=night.sleep) as house:
        await house.ask("/remind in 10m tea")
        await asleep(night, 1)
        house.clock.seconds = 600.0
        with monkeypatch.context() as broken:
            broken.setattr(type(db), "read", None)
            night.over.set()
            await asleep(night, 2)
        assert night.naps[-1] == schedule.RETRY_S
        assert "schedule_waits" in caplog.text
        night.over.set()
        await until(lambda: "⏰ tea" in house.channel.texts("1"))
