"""Rate limits at each platform: what waits, what goes on meanwhile, and what is never sent anew (field bugs).

Web and terminal have no limit of a platform.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from channels.base import CanReact, CanStream
from channels.errors import FloodLimited, Refused
from channels.types import Outbound, Preview
from gateway.storage.db import Database
from tests.contract.rigs.home import Held, housed, until
from tests.contract.rigs.rooms import ROOMS, Room, stays
from tests.house import House, on_sqlite
from tests.twins.receipt import MemoryReceipt

pytestmark = pytest.mark.slow  # the whole gateway behind every platform

SHORT_S, LONG_S = 18.0, 149.0  # the waits of hermes#102402


@pytest.fixture(params=list(ROOMS))
async def room(request: pytest.FixtureRequest) -> AsyncIterator[Room]:
    """A bot in a private chat and in a group."""
    async with ROOMS[request.param]() as made:
        yield made
    assert made.violations == []


def held(room: Room) -> Held:
    """The gateway's clock and the channel's go on together."""

    def moved(seconds: float) -> None:
        room.shift += seconds

    return Held(moved)


def last_words(request: ModelRequest) -> str:
    return [m.text for m in request.messages if m.role == "user" and m.text][-1]


@on_sqlite
@pytest.mark.parametrize("seconds", [SHORT_S, LONG_S])
async def test_the_answer_comes_after_the_wait_and_other_chats_go_on(
    room: Room, db: Database, seconds: float
) -> None:
    """hermes#102402, hermes#89962: once, after `retry_after`; nothing goes to that chat before."""
    clock = held(room)

    async def script(request: ModelRequest) -> str:
        return f"answer to {last_words(request)}"

    async with housed(db, room, script, clock=clock) as house:
        end = room.limit_place(room.address, seconds)
        await room.say("first")
        await until(lambda: clock.waits)
        assert seconds - 2 <= clock.waits[0] <= seconds + 1
        tried = len(room.calls_to(room.address))
        await room.elsewhere_say("second")
        await until(lambda: room.visible(room.elsewhere()))
        assert [m.text for m in room.visible(room.elsewhere())] == ["answer to second"]
        await stays(lambda: len(room.calls_to(room.address)))
        assert (len(room.calls_to(room.address)), room.visible()) == (tried, [])
        end()
        clock.end()
        await house.quiet()
        assert [m.text for m in room.visible()] == ["answer to first"]
        assert await sent_once(house)


async def sent_once(house: House) -> bool:
    """Both replies are sent and none is parked."""
    return [r.status for r in await house.all("select status from outbox")] == [2, 2]


async def test_a_limited_chat_gets_no_preview_no_typing_and_no_mark(room: Room) -> None:
    """hermes#102402, hermes#89962: heartbeats and typing stop as well, and begin again after the wait."""
    end = room.limit_place(room.address, LONG_S)
    with pytest.raises(FloodLimited):
        await room.channel.send(Outbound(room.address, "x", id="r1"), MemoryReceipt())
    tried = len(room.calls_to(room.address))
    end()  # the platform would take it again, but it said how long to wait
    assert isinstance(room.channel, CanStream)
    for private in (True, False):
        stream = room.channel.stream(room.address, MemoryReceipt(), private=private, reply_to=None)
        for words in ("half", "half an answer"):
            await stream.show(Preview(words, "looking up"))
            await asyncio.sleep(0.2)
        await stream.close()
    assert isinstance(room.channel, CanReact)
    await room.channel.react(room.address, "1", "received")
    with pytest.raises(FloodLimited) as limited:
        await room.channel.send(Outbound(room.address, "x", id="r1"), MemoryReceipt())
    assert LONG_S - 10 <= limited.value.retry_after <= LONG_S + 1
    assert len(room.calls_to(room.address)) == tried
    room.shift += LONG_S + 1
    await room.channel.send(Outbound(room.address, "x", id="r1"), MemoryReceipt())
    assert [m.text for m in room.visible()] == ["x"]
    tried = len(room.calls_to(room.address))
    stream = room.channel.stream(room.address, MemoryReceipt(), private=True, reply_to=None)
    await stream.show(Preview("half", "looking up"))
    await until(lambda: len(room.calls_to(room.address)) > tried)
    await stream.close()


@on_sqlite
async def test_a_preview_that_is_limited_becomes_the_answer_in_its_place(
    room: Room, db: Database
) -> None:
    """hermes#76494: an edit that has to wait is made later; no message is sent for it, neither meanwhile nor then."""
    clock = held(room)
    gate = asyncio.Event()

    async def script(_: ModelRequest) -> Answer:
        return Answer("half and the whole answer", chunk=4, gap=0.01)

    async with housed(db, room, script, clock=clock) as house:
        house.model.sleep = after(gate)
        thread = await room.ask("question")
        await until(lambda: room.texts(thread))
        (before,) = room.there(thread)
        end = room.limit_place(thread, LONG_S)
        gate.set()
        await until(lambda: clock.waits)
        tried = len(room.calls_to(thread))
        await stays(lambda: len(room.calls_to(thread)))
        assert len(room.calls_to(thread)) == tried
        end()
        clock.end()
        await house.quiet()
        (shown,) = room.there(thread)
        assert (shown.id, shown.text) == (before.id, "half and the whole answer")
        assert room.loose() == []


def after(gate: asyncio.Event) -> Callable[[float], Awaitable[object]]:
    """A pause of the model that lasts until the gate opens."""

    async def sleep(_: float) -> None:
        await gate.wait()

    return sleep


async def test_an_edit_that_is_refused_is_answered_with_no_new_message(room: Room) -> None:
    """hermes#76494: refused for good, it is told to the gateway, which parks it."""
    first = MemoryReceipt()
    await room.channel.send(Outbound(room.address, "half", id="r1"), first)
    posted = room.posted()
    room.refuse_edit()
    with pytest.raises(Refused):
        await room.channel.send(
            Outbound(room.address, "the whole", id="r1"), MemoryReceipt(first.ids)
        )
    assert [m.text for m in room.visible()] == ["half"]
    assert room.posted() == posted
