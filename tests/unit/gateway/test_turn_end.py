"""What arrives while a turn ends: nothing is lost, nothing is done twice, nobody else is stopped."""

import asyncio
import itertools

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.storage.db import Database
from tests.harness import call
from tests.house import House, settings

OFFSETS = [0.0, 0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.006, 0.009]


def last_words(request: ModelRequest) -> str:
    return request.messages[-1].text


@pytest.mark.parametrize("mode", ["steer", "queue"])
async def test_a_message_at_the_very_end_of_a_turn_is_answered(db: Database, mode: str) -> None:
    """Guide "engine", 3: at offsets around the end, over many chats."""
    rules = settings(sessions={"while_busy": mode, "rate_limit": {"messages_per_minute": 10_000}})
    async with House(db, lambda r: f"re {last_words(r)}", rules=rules) as house:
        for n, offset in enumerate(OFFSETS * 4):
            chat = str(n)
            await house.say(f"first {n}", chat=chat)
            await asyncio.sleep(offset)
            await house.say(f"second {n}", chat=chat)
        await house.quiet()
        for n in range(len(OFFSETS) * 4):
            texts = house.channel.texts(str(n))
            assert texts[-1].endswith(f"second {n}")
        assert await house.one("select count(*) from inbox where status <> 2") == 0
        assert await house.one("select count(*) from outbox where status <> 2") == 0


async def test_each_message_is_in_exactly_one_turn(db: Database) -> None:
    """Ten rapid messages while it is busy (hermes#99854): steered or turns of their own, none twice."""
    counter = itertools.count()

    def script(request: ModelRequest) -> Answer | str:
        n = next(counter)
        return Answer(calls=(call("echo", f"c{n}", words=str(n)),)) if n % 3 else "ok"

    async with House(db, script) as house:
        for n in range(10):
            await house.say(f"m{n}")
            await asyncio.sleep(OFFSETS[n])
        await house.quiet()
        rows = await house.all("select ref from transcript where kind = 'user' order by id")
        refs = [int(row[0]) for row in rows]
        assert refs == sorted(set(refs))
        assert len(refs) == 10
        assert not house.model.violations


async def test_a_stop_at_the_very_end_stops_that_turn_or_nothing(db: Database) -> None:
    """hermes PR#52084: the message right behind it is answered in any case."""

    async def script(request: ModelRequest) -> Answer | str:
        await asyncio.sleep(0.003)
        return f"re {last_words(request)}"

    rules = settings(
        sessions={"while_busy": "queue", "rate_limit": {"messages_per_minute": 10_000}}
    )
    async with House(db, script, rules=rules) as house:
        for n, offset in enumerate(OFFSETS * 3):
            chat = str(n)
            await house.say(f"first {n}", chat=chat)
            await asyncio.sleep(offset)
            await asyncio.gather(house.say("/stop", chat=chat), house.say(f"second {n}", chat=chat))
            await house.quiet()
            assert any(t.endswith(f"second {n}") for t in house.channel.texts(chat))
        found = await house.all("select distinct status from turn")
        assert {row[0] for row in found} <= {"done", "stopped"}
        assert await house.one("select count(*) from inbox where status <> 2") == 0


async def test_messages_of_many_people_and_chats_keep_their_order(db: Database) -> None:
    async def script(request: ModelRequest) -> Answer | str:
        await asyncio.sleep(0)
        return f"re {last_words(request)}"

    rules = settings(sessions={"while_busy": "queue", "max_running": 4})
    async with House(db, script, rules=rules) as house:
        posts = [
            house.say(f"m{n}", author=str(1 + chat % 2), chat=str(chat), key=f"{chat}-{n}")
            for n in range(5)
            for chat in range(6)
        ]
        for post in posts:
            await post
        await house.quiet()
        for chat in range(6):
            assert house.channel.texts(str(chat)) == [f"re m{n}" for n in range(5)]
