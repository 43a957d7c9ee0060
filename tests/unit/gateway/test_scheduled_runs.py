"""Runs by a cron line: turns of the configured person, once for each slot (field bugs, "Schedules")."""

import asyncio
import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.runtime.team import Timed
from agent_core.types import ToolUse
from gateway.people import access
from gateway.schedules import schedule
from gateway.schedules.runs import Runs
from gateway.schedules.schedules import runs_of
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from swarm_presets.loader import PresetSet
from tests.harness import agent, team
from tests.house import START, House, Watch, on_sqlite, settings, until

DAILY = {"cron": "0 13 * * *", "to": "telegram:1", "say": "brief me", "as": "telegram:1"}
SOON = {"cron": "2 12 * * *"}  # within the time that an approval is open
HOUR = 3_600.0


class Night:
    """A sleep that ends when the test says so."""

    def __init__(self) -> None:
        self.naps: list[float] = []
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await self.over.wait()
        self.over.clear()


async def tick(house: House, night: Night, seconds: float) -> None:
    """Time passes until the timer has looked."""
    naps = len(night.naps)
    house.clock.seconds += seconds
    night.over.set()
    await until(lambda: len(night.naps) > naps)


async def later(house: House, night: Night, seconds: float) -> None:
    """Time passes until what the timer has started is over."""
    await tick(house, night, seconds)
    await house.quiet()


def scheduled(*entries: dict[str, Any], **more: Any) -> Settings:
    return settings(schedules=list(entries), **more)


def asked(model: ScriptedModel, request: int = -1) -> str:
    """All that the model read in its last user message."""
    return model.requests[request].messages[-1].text


async def test_a_slot_starts_a_turn_of_the_person_in_the_chat(db: Database) -> None:
    night = Night()
    async with House(db, ["good morning"], rules=scheduled(DAILY), nap=night.sleep) as house:
        await until(lambda: night.naps)
        assert night.naps == [HOUR]
        await later(house, night, HOUR)
        assert house.channel.texts("1") == ["good morning"]
        turns = await house.all("select principal, preset from turn")
        assert [tuple(turn) for turn in turns] == [("telegram:1", "test")]
        key = await house.one("select key from inbox where key like 'sched:%'")
        assert key == "sched:1:2026-01-05T13:00:00+00:00"
        words = str(house.model.requests[-1])
        assert "brief me" in words
        assert "started by a schedule (0 13 * * *, UTC), due 2026-01-05 13:00" in words
        assert "It is late" not in words


async def test_a_slot_runs_once_also_after_a_restart(db: Database) -> None:
    """openclaw#42640, #33092: once for its slot, also across restarts."""
    clock, night = Watch(), Night()
    rules = scheduled(DAILY)
    async with House(db, ["one"], rules=rules, clock=clock, nap=night.sleep) as house:
        await until(lambda: night.naps)
        await later(house, night, HOUR)
    async with House(db, ["two"], rules=rules, clock=clock, nap=Night().sleep) as house:
        await house.quiet()
        assert house.channel.texts("1") == []
        assert await house.one("select count(*) from turn") == 1
        assert await house.one("select count(*) from schedule") == 1


@pytest.mark.parametrize(
    ("late_s", "answers", "told"),
    [(30, 1, False), (1_800, 1, True), (3 * HOUR, 0, False), (25 * HOUR, 1, True)],
)
async def test_a_slot_missed_while_down_is_caught_up_within_its_grace(
    db: Database, late_s: float, answers: int, told: bool
) -> None:
    """hermes#59229. Grace is half the time between slots, two hours at most; of several the last one alone runs."""
    rules = scheduled(DAILY)
    async with House(db, [], rules=rules, nap=Night().sleep):
        pass
    clock, night = Watch(), Night()
    clock.seconds = HOUR + late_s
    async with House(db, ["late"], rules=rules, clock=clock, nap=night.sleep) as house:
        await until(lambda: night.naps)
        await house.quiet()
        assert house.channel.texts("1") == ["late"] * answers
        if answers:
            assert ("It is late" in str(house.model.requests[-1])) is told


@on_sqlite
async def test_operators_hear_of_a_slot_that_was_left_out(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    rules = scheduled(DAILY)
    async with House(db, [], rules=rules, nap=Night().sleep) as house:
        await house.ask("/status", author="9", chat="9")
    clock, night = Watch(), Night()
    clock.seconds = 4 * HOUR
    async with House(db, [], rules=rules, clock=clock, nap=night.sleep) as house:
        await until(lambda: night.naps)
        await house.quiet()
        [note] = house.channel.texts("9")
        assert "it was due on 2026-01-05 13:00" in note
    assert "schedule_missed" in caplog.text


@on_sqlite
async def test_whoever_is_not_allowed_has_nothing_run(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Default deny: a stranger's id in a schedule opens nothing, nor does one that was shut out since."""
    stranger = DAILY | {"as": "telegram:666", "to": "telegram:666"}
    night = Night()
    async with House(db, [], rules=scheduled(DAILY, stranger), nap=night.sleep) as house:
        await house.ask("/status")
        await db.write(lambda conn: access.revoke(conn, "telegram:1"))
        await until(lambda: night.naps)
        await later(house, night, HOUR)
        assert await house.one("select count(*) from turn") == 0
        assert caplog.text.count("schedule_denied") == 2


@on_sqlite
async def test_a_private_chat_of_somebody_else_is_no_target(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with House(db, [], nap=Night().sleep) as house:
        await house.ask("/status", author="2", chat="2")
    wrong = DAILY | {"to": "telegram:2"}
    async with House(db, [], rules=scheduled(wrong), nap=Night().sleep) as house:
        await until(lambda: "schedule_without_chat" in caplog.text)
        assert await house.one("select count(*) from schedule") == 0


async def test_a_run_in_a_group_belongs_to_its_person_and_knows_nothing_private(
    db: Database,
) -> None:
    night = Night()
    group = DAILY | {"to": "telegram:-5"}
    async with House(db, ["hello all"], rules=scheduled(group), nap=night.sleep) as house:
        await until(lambda: night.naps)
        await later(house, night, HOUR)
        assert house.channel.texts("-5") == ["hello all"]
        assert await house.one("select principal from turn") == "telegram:1"
        assert await house.one("select private from conversation where id like '%-5'") in (0, False)


@on_sqlite
async def test_the_schedules_preset_works_and_the_chats_own_stays(db: Database) -> None:
    night = Night()
    rules = scheduled(DAILY | {"preset": "other"})
    async with House(db, ["a", "b"], rules=rules, nap=night.sleep) as house:
        await until(lambda: night.naps)
        await later(house, night, HOUR)
        await house.ask("and now?")
        presets = await house.all("select preset from turn order by id")
        assert [row.preset for row in presets] == ["other", "test"]


@on_sqlite
async def test_words_of_a_schedule_are_never_a_command(db: Database) -> None:
    night = Night()
    async with House(
        db, ["ok"], rules=scheduled(DAILY | {"say": "/new"}), nap=night.sleep
    ) as house:
        await house.ask("/status")
        session = await house.one("select session_id from conversation")
        await until(lambda: night.naps)
        await later(house, night, HOUR)
        assert house.channel.texts("1")[-1] == "ok"
        assert await house.one("select session_id from conversation") == session


@on_sqlite
async def test_a_run_waits_in_its_lane_and_is_not_steered_into_what_runs(db: Database) -> None:
    """An overlapping run waits; a further slot passes while one waits already."""
    gate, night = asyncio.Event(), Night()

    async def script(request: Any) -> str:
        if "long question" in str(request.messages[-1]):
            await gate.wait()
            return "long answer"
        return "brief"

    rules = scheduled(DAILY | {"cron": "*/30 * * * *"})
    async with House(db, script, rules=rules, nap=night.sleep) as house:
        await until(lambda: night.naps)
        await house.say("long question")
        await until(lambda: house.model.requests)
        for _ in range(3):
            await tick(house, night, 1_800)
        assert await house.one("select count(*) from inbox where key like 'sched:%'") == 1
        gate.set()
        await house.quiet()
        assert house.channel.texts("1") == ["long answer", "brief"]
        assert await house.one("select count(*) from turn") == 2


@on_sqlite
async def test_a_run_waits_while_a_turn_waits_for_a_person(db: Database) -> None:
    """What is asked of a person is not taken away by a slot (BGT-6 in spirit): it runs when the turn has ended."""
    night = Night()
    pay = Answer(calls=(ToolUse("c1", "pay", {"to": "bob"}),))
    the_team = team(agent(tools=("pay",)))
    async with House(
        db,
        [pay, "paid", "brief"],
        the_team=the_team,
        rules=scheduled(DAILY | SOON),
        nap=night.sleep,
    ) as house:
        await until(lambda: night.naps)
        await house.ask("pay bob")
        await later(house, night, 120)
        assert await house.one("select count(*) from turn") == 1
        await house.press("ok:1")
        await house.quiet()
        await until(lambda: house.channel.texts("1")[-1] == "brief")
        assert await house.one("select count(*) from turn") == 2


async def test_presets_bring_schedules_and_an_edit_changes_them_at_once(db: Database) -> None:
    """Hot reload: what a preset schedules follows its file; a slot that stays keeps its time."""
    night = Night()
    timed = Timed("0 13 * * *", "telegram:1", "from a preset", person="telegram:1")
    first = replace(team(agent(tools=())), name="daily", digest="1", timed=(timed,))
    async with House(db, ["ok"], nap=night.sleep) as house:
        house.teams.swap(PresetSet({"test": team(agent()), "daily": first}))
        await house.schedules.changed()
        await until(lambda: night.naps)
        due = await house.one("select next_at from schedule where status = 'active'")
        house.clock.seconds, naps = 60, len(night.naps)
        await house.schedules.changed()
        assert await house.one("select next_at from schedule where status = 'active'") == due
        await until(lambda: len(night.naps) > naps)  # the timer has looked again
        await later(house, night, HOUR)
        assert await house.one("select preset from turn") == "daily"
        second = replace(first, digest="2", timed=(replace(timed, cron="0 15 * * *"),))
        house.teams.swap(PresetSet({"test": team(agent()), "daily": second}))
        await house.schedules.changed()
        rows = await house.all("select cron, status from schedule order by id")
        assert [tuple(row) for row in rows] == [
            ("0 13 * * *", "cancelled"),
            ("0 15 * * *", "active"),
        ]
        house.teams.swap(PresetSet({"test": team(agent())}))
        await house.schedules.changed()
        assert await house.one("select count(*) from schedule where status = 'active'") == 0


@on_sqlite
async def test_a_preset_without_a_person_runs_for_whose_private_chat_it_is(db: Database) -> None:
    night = Night()
    timed = Timed("0 13 * * *", "telegram:1", "mine", timezone="Asia/Shanghai")
    daily = replace(team(agent(tools=())), name="daily", digest="1", timed=(timed,))
    async with House(db, [], nap=night.sleep) as house:
        await house.ask("/status")
        house.teams.swap(PresetSet({"test": team(agent()), "daily": daily}))
        await house.schedules.changed()
        [row] = await house.all("select owner, timezone, next_at from schedule")
        assert (row.owner, row.timezone) == ("telegram:1", "Asia/Shanghai")
        assert str(row.next_at).startswith("2026-01-06 05:00")


async def test_a_slot_is_started_once_even_if_two_look_at_it(db: Database) -> None:
    """Unique by its key, so also beside another engine (DESIGN.md 4)."""
    async with House(db, ["a", "b"], rules=scheduled(DAILY), nap=Night().sleep) as house:
        now = START + dt.timedelta(hours=1)
        runs: Runs = runs_of(house.settings)
        first = await db.write(lambda conn: schedule.run(conn, now, runs))
        assert first[0].wake is not None
        await db.write(lambda conn: conn.exec_driver_sql("update inbox set status = 2"))
        await db.write(
            lambda conn: conn.exec_driver_sql(
                "update schedule set next_at = '2026-01-05 13:00:00+00:00'"
            )
        )
        again = await db.write(lambda conn: schedule.run(conn, now, runs))
        assert [one.wake for one in again] == [None]


# Heartbeats ---------------------------------------------------------------------------------------

BEAT = DAILY | {"cron": "*/30 * * * *", "say": "Anything to worry about?", "quiet": True}


async def test_a_heartbeat_with_nothing_to_say_is_not_seen(db: Database) -> None:
    """openclaw#98556: no word, no preview and no mark; what it cost is known. News are sent like any reply."""
    night = Night()
    answers = ["NOTHING", "**Nothing.**", "The stop of GOOG is near."]
    async with House(db, answers, rules=scheduled(BEAT), nap=night.sleep) as house:
        await until(lambda: night.naps)
        for _ in range(2):
            await later(house, night, HOUR / 2)
        assert len(house.model.requests) == 2
        assert "answer with the one word NOTHING" in str(house.model.requests[-1])
        assert house.channel.order == []
        assert await house.one("select count(*) from outbox") == 0
        assert await house.one("select count(*) from turn where status = 'done'") == 2
        await later(house, night, HOUR / 2)
        assert house.channel.texts("1") == ["The stop of GOOG is near."]


@on_sqlite
async def test_only_a_heartbeat_may_keep_silent(db: Database) -> None:
    night = Night()
    async with House(db, ["NOTHING"], rules=scheduled(DAILY), nap=night.sleep) as house:
        await until(lambda: night.naps)
        await later(house, night, HOUR)
        assert house.channel.texts("1") == ["NOTHING"]


def test_there_are_no_heartbeats_but_those_that_are_written() -> None:
    assert settings().schedules == ()
    assert not scheduled(DAILY).schedules[0].quiet


# Several schedulers -------------------------------------------------------------------------------


async def test_two_schedulers_that_race_start_each_slot_once(db: Database) -> None:
    """Both look at the same moment, again and again: on PostgreSQL in transactions side by side."""
    async with House(db, [], rules=scheduled(BEAT), nap=Night().sleep) as house:
        rules = runs_of(house.settings)

        async def look(now: dt.datetime) -> int:
            ticked = await house.db.write(lambda conn: schedule.run(conn, now, rules))
            return sum(one.wake is not None for one in ticked)

        await house.engine.stop(0.0)
        for slot in range(1, 7):
            now = START + dt.timedelta(minutes=30 * slot, seconds=slot)
            started = sum(await asyncio.gather(*(look(now) for _ in range(4))))
            assert started == 1, f"slot {slot} was started {started} times"
            await house.db.write(_done)
        keys = [key for (key,) in await house.all("select key from inbox order by id")]
        assert len(keys) == len(set(keys)) == 6


def _done(conn: Connection) -> None:
    """What was started is over: a run that waits would let the next slots pass."""
    conn.execute(text("update inbox set status = 2"))


@pytest.mark.parametrize(
    ("line", "start", "slots"),
    [
        # 2026-03-29 in London: 01:00 to 02:00 is skipped; a fixed hour in it is due right after
        ("30 1 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        # 2026-10-25 in London: 01:00 to 02:00 comes twice; a fixed hour in it is due the first time
        ("30 1 * * *", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
    ],
)
async def test_a_change_of_the_clock_brings_each_day_one_run(
    db: Database, line: str, start: str, slots: list[str]
) -> None:
    begin = dt.datetime.fromisoformat(start).replace(tzinfo=dt.UTC)
    entry = DAILY | {"cron": line, "timezone": "Europe/London"}
    clock = Watch()
    clock.seconds = (begin - START).total_seconds()
    async with House(db, [], rules=scheduled(entry), nap=Night().sleep, clock=clock) as house:
        await house.engine.stop(0.0)
        rules, found = runs_of(house.settings), []
        for minutes in range(0, 2 * 24 * 60, 10):
            now = begin + dt.timedelta(minutes=minutes, seconds=1)
            ticked = await house.db.write(lambda conn: schedule.run(conn, now, rules))  # noqa: B023
            if any(one.wake is not None for one in ticked):
                found.append(f"{now:%Y-%m-%dT%H:%M}")
                await house.db.write(_done)
        assert found == slots
