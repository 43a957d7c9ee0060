"""Whole turns on each engine and database: steering at the last moment, clocks that jump, a disk that is full."""

import asyncio
import random
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from gateway.storage.db import Database
from tests.contract.engines import shared_by
from tests.house import House, on_sqlite, settings, until

LANES = 8
RACES = 600  # in whole turns, on each engine and database; test_engine.py races 2,000 times with the engines alone
RACING_S = 40.0
SEED = 20260801

Build = Callable[..., House]


@pytest.fixture(params=["local", pytest.param("procrastinate", marks=pytest.mark.slow)])
def build(request: pytest.FixtureRequest, database_url: str, db: Database) -> Build:
    """Makes a House on one of the engines."""
    if request.param == "local":
        return lambda script, **more: House(db, script, **more)
    if database_url.startswith("sqlite"):
        pytest.skip("the shared engine needs PostgreSQL")
    return lambda script, **more: House(db, script, engine=shared_by(database_url), **more)


def echo(request: ModelRequest) -> Answer:
    """Answers with all that was said since the last answer."""
    words = []
    for message in reversed(request.messages):
        if message.role == "assistant":
            break
        words.insert(0, message.text)
    return Answer(" | ".join(words))


def rules() -> object:
    return settings(sessions={"rate_limit": {"messages_per_minute": 1_000_000}})


@pytest.mark.slow
@pytest.mark.timeout(200)
async def test_a_message_at_the_very_end_of_a_turn_is_answered(build: Build):
    """At random moments around the end of the turn before: joined to it or a turn of its own, never left lying."""
    chance = random.Random(SEED)
    async with build(ScriptedModel(echo), rules=rules()) as home:
        loop = asyncio.get_running_loop()
        until_then, raced = loop.time() + RACING_S, [0] * LANES
        spread = 0.004 if home.db.dialect == "sqlite" else 0.015

        async def lane(number: int, chat: str) -> None:
            for n in range(RACES // LANES):
                if loop.time() > until_then:
                    return
                await home.say(f"first {n}.", chat=chat)
                await asyncio.sleep(chance.uniform(0, 2 * spread))
                await home.say(f"second {n}.", chat=chat)
                await until(
                    lambda n=n: any(f"second {n}." in t for t in home.channel.texts(chat)[-2:]),  # type: ignore[misc]
                    30.0,
                )
                raced[number] += 1

        await asyncio.gather(*(lane(n, f"{900 + n}") for n in range(LANES)))
        await home.quiet()
        print(f"{sum(raced)} races, none lost")
        assert sum(raced) >= 30  # on a loaded machine
        for number in range(LANES):
            said = " ".join(home.channel.texts(str(900 + number)))
            for n in range(raced[number]):
                assert said.count(f"first {n}.") == said.count(f"second {n}.") == 1
        assert await home.one("select count(*) from inbox where status <> 2") == 0


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0], ids=["a day on", "a day back"])
async def test_a_clock_that_jumps_in_a_turn_changes_nothing(build: Build, jump: float):
    thinks, go = asyncio.Event(), asyncio.Event()

    async def model(request: ModelRequest) -> Answer:
        thinks.set()
        await go.wait()
        return echo(request)

    async with build(ScriptedModel(model), rules=rules()) as home:
        await home.say("first")
        await thinks.wait()
        home.clock.seconds += jump
        await home.say("other", chat="2", author="2")
        go.set()
        await home.quiet()
        home.clock.seconds -= jump / 2
        await home.ask("last")
        assert ["first" in home.channel.texts("1")[0], "last" in home.channel.texts("1")[1]] == [
            True,
            True,
        ]
        assert len(home.channel.texts("2")) == 1


@on_sqlite
async def test_a_full_disk_fails_what_is_written_and_nothing_else(
    db: Database, database_url: str, caplog: pytest.LogCaptureFixture
):
    """The writer fails the batch; what comes once there is room again is stored, and the turn goes on."""
    wal = Path(f"{make_url(database_url).database}-wal")
    thinks, go = asyncio.Event(), asyncio.Event()

    async def model(request: ModelRequest) -> Answer:
        thinks.set()
        await go.wait()
        return echo(request)

    async with House(db, ScriptedModel(model), rules=rules()) as home:
        await home.say("before")
        await thinks.wait()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size, limits[1]))
        try:
            with pytest.raises(OperationalError):
                await home.say("x" * 3_000, chat="2", author="2", key="m:2:again")
            go.set()  # the turn has its answer, and nowhere to put it
            await until(lambda: "database_wait" in caplog.text)
            assert home.channel.texts("2") == []
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        await home.say("x" * 3_000, chat="2", author="2", key="m:2:again")
        await home.quiet()
        assert "before" in home.channel.texts("1")[0]
        assert len(home.channel.texts("1")) == len(home.channel.texts("2")) == 1
        assert len(home.model.finished) == 2  # the answer was kept while the disk was full
