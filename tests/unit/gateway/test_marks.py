"""Marks on messages in groups: seen when an answer takes a while, and then what came of it."""

import asyncio
from collections.abc import Awaitable, Callable

from agent_core.errors import ModelAuthRefused
from agent_core.models.scripted import Answer, ScriptedModel
from channels.types import Address
from gateway.storage.db import Database
from tests.house import House, on_sqlite, until
from tests.unit.gateway.media_house import Files, media_house

pytestmark = on_sqlite
GROUP = {"chat": "-5", "private": False, "message_id": "77"}


class Clockwork:
    """A sleep that lasts until somebody says that the time has come."""

    def __init__(self) -> None:
        self.due = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        await self.due.wait()


def held(
    db: Database, answer: Answer | str, sleep: Callable[[float], Awaitable[None]]
) -> tuple[House, Files, asyncio.Event]:
    gate = asyncio.Event()

    async def script(_: object) -> Answer | str:
        await gate.wait()
        return answer

    house, channel = media_house(db, ScriptedModel(script))
    object.__setattr__(house.turns.services, "sleep", sleep)
    return house, channel, gate


async def test_a_long_answer_is_marked_as_seen_and_then_as_done(db: Database) -> None:
    clock = Clockwork()
    house, channel, gate = held(db, "ok", clock)
    async with house:
        await house.say("x", **GROUP)
        await until(lambda: house.model.requests)
        assert channel.marks == []
        clock.due.set()
        await until(lambda: channel.marks)
        assert channel.marks == [("77", "received")]
        gate.set()
        await house.quiet()
        assert channel.marks == [("77", "received"), ("77", "done")]


async def test_a_quick_answer_is_not_marked(db: Database) -> None:
    house, channel, gate = held(db, "ok", Clockwork())
    gate.set()
    async with house:
        await house.say("x", **GROUP)
        await house.quiet()
        assert channel.texts("-5") == ["ok"]
        assert channel.marks == []


async def test_a_private_chat_is_never_marked(db: Database) -> None:
    clock = Clockwork()
    clock.due.set()
    house, channel, gate = held(db, "ok", clock)
    async with house:
        await house.say("x", message_id="77")
        await until(lambda: house.model.requests)
        gate.set()
        await house.quiet()
        assert channel.marks == []


async def test_a_failure_is_marked(db: Database) -> None:
    clock = Clockwork()
    clock.due.set()
    house, channel, gate = held(db, Answer(error=ModelAuthRefused("p", "no")), clock)
    async with house:
        await house.say("x", **GROUP)
        await until(lambda: channel.marks)
        gate.set()
        await house.quiet()
        assert channel.marks[-1] == ("77", "failed")


async def test_a_stopped_turn_loses_its_mark(db: Database) -> None:
    clock = Clockwork()
    clock.due.set()
    house, channel, _ = held(db, "never", clock)
    async with house:
        await house.say("x", **GROUP)
        await until(lambda: channel.marks)
        clock.due.clear()
        await house.say("/stop", **GROUP)
        await house.quiet()
        assert channel.marks[-1] == ("77", None)


async def test_a_mark_that_fails_costs_nothing(db: Database) -> None:
    clock = Clockwork()
    clock.due.set()
    house, channel, gate = held(db, "ok", clock)

    async def react(address: Address, message_id: str, mark: object) -> None:
        channel.marks.append((message_id, None))
        raise OSError("gone")

    channel.react = react  # type: ignore[method-assign]
    async with house:
        await house.say("x", **GROUP)
        await until(lambda: channel.marks)
        gate.set()
        await house.quiet()
        assert channel.texts("-5") == ["ok"]
