"""Threads and groups at each platform: what belongs to a place stays there (field bugs, CHN-3)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.types import Context, ToolResult
from channels.base import CanHistory
from channels.types import Address
from gateway.inbound.seen import Known
from gateway.storage.db import Database
from tests.contract.rigs.home import housed, until
from tests.contract.rigs.rooms import ROOMS, Room, stays
from tests.harness import call
from tests.house import Watch, on_sqlite

pytestmark = pytest.mark.slow  # the whole gateway behind every platform

PAY = Answer(calls=(call("pay", "p1", to="bob", amount=3),))
FIVE = ["10", "11", "12", "13", "14"]


@pytest.fixture(params=list(ROOMS))
async def room(request: pytest.FixtureRequest, db: Database) -> AsyncIterator[Room]:
    """A bot in a group, which knows from the database in which threads it is."""
    made = ROOMS[request.param]()
    made.knows = Known(db)
    async with made:
        yield made
    assert made.violations == []


def told(request: ModelRequest) -> list[str]:
    """What people said, as a request shows it."""
    return [m.text for m in request.messages if m.role == "user" and m.text]


def background(request: ModelRequest) -> str:
    """What stands beside their words."""
    return "\n".join(b.text for m in request.messages for b in m.blocks if isinstance(b, Context))


async def echo(request: ModelRequest) -> str:
    return f"to {told(request)[-1]}"


async def answered(room: Room, thread: Address, count: int = 1) -> list[str]:
    """The texts of a thread, as soon as there are so many and the newest is no preview any more."""

    def done() -> bool:
        found = room.there(thread)
        return len(found) >= count and "to " in found[-1].text and not found[-1].buttons

    await until(done)
    return room.texts(thread)


# Where things go -----------------------------------------------------------------------------------------------------


@on_sqlite
async def test_an_approval_is_asked_and_decided_in_the_thread_it_came_from(
    room: Room, db: Database
) -> None:
    """hermes#24100, hermes#9394, CHN-4: neither the group nor another thread nor the private chat sees any of it."""

    async def script(request: ModelRequest) -> Answer | str:
        asks = told(request)[-1] == "pay bob" and not results(request)
        return PAY if asks else await echo(request)

    async with housed(db, room, script) as house:
        other = await room.ask("hello")
        await answered(room, other)
        thread = await room.ask("pay bob")
        await until(lambda: buttons(room, thread))
        assert "Approve" in buttons(room, thread)
        assert house.tools.calls == []
        await room.push(thread, "Approve")
        await until(lambda: "to pay bob" in room.texts(thread))
        await house.quiet()
        assert house.tools.calls == [("pay", "bob 3")]
        assert buttons(room, thread) == []
        assert room.texts(other) == ["to hello"]
        assert (room.loose(), room.visible()) == ([], [])


def results(request: ModelRequest) -> bool:
    """Whether a tool has answered."""
    return any(isinstance(b, ToolResult) for m in request.messages for b in m.blocks)


def buttons(room: Room, thread: Address) -> list[str]:
    return [label for shown in room.there(thread) for label in shown.buttons if label != "Stop"]


class Night:
    """A sleep that lasts until the test ends it."""

    def __init__(self) -> None:
        self.naps: list[float] = []
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await self.over.wait()
        self.over.clear()


@on_sqlite
async def test_a_reminder_comes_to_the_thread_it_was_asked_for_in(room: Room, db: Database) -> None:
    """hermes#24100, hermes#9394."""
    night = Night()
    async with housed(db, room, echo, nap=night.sleep) as house:
        other = await room.ask("hello")
        await answered(room, other)
        thread = await room.ask("hi")
        await answered(room, thread)
        await room.tell(thread, "!remind in 10m drink tea")
        await until(lambda: night.naps)
        house.clock.seconds += 600.0
        night.over.set()
        await until(lambda: len(room.texts(thread)) == 3)
        await house.quiet()
        assert "drink tea" in room.texts(thread)[1]
        assert room.texts(thread)[2] == "⏰ drink tea"
        assert room.texts(other) == ["to hello"]
        assert (room.loose(), room.visible()) == ([], [])


@on_sqlite
async def test_an_approval_and_a_reminder_find_their_thread_after_a_restart(
    room: Room, db: Database
) -> None:
    """hermes#24100, hermes#9394: the place is in the row, not in a process."""
    async with housed(db, room, [PAY], nap=Night().sleep) as house:
        remembered = await room.ask("!remind in 10m drink tea")
        await until(lambda: len(room.texts(remembered)) == 1)
        asking = await room.ask("pay bob")
        await until(lambda: buttons(room, asking))
        await house.quiet()
    await room.fresh()
    later = Watch()
    later.seconds = 200.0  # the approval holds for 300
    night = Night()
    async with housed(db, room, ["paid"], clock=later, nap=night.sleep) as house:
        await room.push(asking, "Approve")
        await until(lambda: "paid" in room.texts(asking))
        assert house.tools.calls == [("pay", "bob 3")]
        later.seconds = 600.0
        await until(lambda: night.naps)
        night.over.set()
        await until(lambda: len(room.texts(remembered)) == 2)
        await house.quiet()
        assert room.texts(remembered)[1] == "⏰ drink tea"
        assert (room.loose(), room.visible()) == ([], [])


# Which session it is -------------------------------------------------------------------------------------------------


@on_sqlite
async def test_a_new_thread_is_a_new_session_and_a_thread_keeps_its_own(
    room: Room, db: Database
) -> None:
    """hermes#31550; the second half holds after a restart too, without a mention where none was needed before."""
    async with housed(db, room, echo) as house:
        first = await room.ask("about GOOG")
        await answered(room, first)
        second = await room.ask("about AAPL")
        await answered(room, second)
        assert told(house.model.requests[-1]) == ["about AAPL"]
        await room.tell(first, "and before?")
        await answered(room, first, 2)
        assert told(house.model.requests[-1]) == ["about GOOG", "and before?"]
        await house.quiet()
        assert first != second
        assert await house.one("select count(*) from conversation") == 2
    await room.fresh()
    async with housed(db, room, echo) as house:
        await room.tell(second, "and now?")
        await answered(room, second, 2)
        assert told(house.model.requests[-1]) == ["about AAPL", "and now?"]
        assert room.texts(second) == ["to about AAPL", "to and now?"]
        assert await house.one("select count(*) from conversation") == 2
        assert room.loose() == []


@on_sqlite
async def test_five_mentions_at_once_are_five_threads_that_are_not_mixed(
    room: Room, db: Database
) -> None:
    """goclaw#1476."""
    async with housed(db, room, echo) as house:
        threads = {user: await room.ask(f"question {user}", user=user) for user in FIVE}
        for user, thread in threads.items():
            assert await answered(room, thread) == [f"to question {user}"]
        await house.quiet()
        assert len(set(threads.values())) == 5
        asked = sorted(told(request) for request in house.model.requests)
        assert asked == [[f"question {user}"] for user in FIVE]
        assert (room.loose(), room.visible()) == ([], [])


@on_sqlite
async def test_words_of_a_group_never_reach_the_private_session(room: Room, db: Database) -> None:
    """openclaw#16149: nor the other way round, also when one person writes in both."""
    person = room.author.rpartition("U")[2]
    async with housed(db, room, echo) as house:
        await room.say("my secret")
        await until(lambda: [m.text for m in room.visible()] == ["to my secret"])
        thread = await room.ask("in public", user=person)
        assert await answered(room, thread) == ["to in public"]
        await room.say("again in private")
        await until(lambda: [m.text for m in room.visible()][1:] == ["to again in private"])
        await house.quiet()
        asked = [told(request) for request in house.model.requests]
        assert asked == [["my secret"], ["in public"], ["my secret", "again in private"]]
        assert "secret" not in background(house.model.requests[1])
        assert "in public" not in background(house.model.requests[2])
        assert room.texts(thread) == ["to in public"]
        owners = {row.owner for row in await house.all("select owner from session")}
        assert len(owners) == 1


@on_sqlite
@pytest.mark.parametrize("session", ["thread", "person"])
async def test_people_of_a_thread_share_a_session_or_have_one_each_as_set(
    room: Room, db: Database, session: str
) -> None:
    """CHN-3: by the setting, in the same thread; who said what is told either way."""
    async with housed(db, room, echo, groups={"session": session}) as house:
        thread = await room.ask("mine")
        await answered(room, thread)
        await room.tell(thread, "yours", user="3")
        await answered(room, thread, 2)
        await room.tell(thread, "mine again")
        await answered(room, thread, 3)
        await house.quiet()
        shared = ["mine", "yours", "mine again"]
        own = ["mine", "mine again"]
        assert told(house.model.requests[-1]) == (shared if session == "thread" else own)
        assert told(house.model.requests[1])[-1] == "yours"
        assert "author: " in background(house.model.requests[1])
        assert await house.one("select count(*) from conversation") == (
            1 if session == "thread" else 2
        )


@on_sqlite
async def test_a_thread_has_one_turn_at_a_time_and_threads_run_side_by_side(
    room: Room, db: Database
) -> None:
    """CHN-3."""
    gate = asyncio.Event()

    async def script(request: ModelRequest) -> str:
        if told(request) == ["slow"]:
            await gate.wait()
        return await echo(request)

    async with housed(db, room, script) as house:
        slow = await room.ask("slow")
        await until(lambda: house.model.requests)
        await until(lambda: is_open(room, slow))
        await room.tell(slow, "next", user="3")
        await room.inbound(2)
        quick = await room.ask("quick", user="4")
        assert await answered(room, quick) == ["to quick"]
        assert [told(r)[-1] for r in house.model.requests] == ["slow", "quick"]
        gate.set()
        await until(lambda: room.texts(slow) == ["to slow", "to next"])
        await house.quiet()
        assert told(house.model.requests[-1]) == ["slow", "next"]


def is_open(room: Room, thread: Address) -> bool:
    """Discord opens the thread of a mention with the first message of the answer."""
    return room.name != "discord" or bool(room.there(thread))


# Who is meant --------------------------------------------------------------------------------------------------------


@on_sqlite
async def test_what_people_say_among_themselves_in_a_thread_starts_nothing(
    room: Room, db: Database
) -> None:
    """hermes#8019: the mention policy holds in threads and topics; a mention there is answered there."""
    async with housed(db, room, echo) as house:
        thread = await room.talk("GOOG looks cheap")
        await room.murmur(thread, "no it does not", user="3")
        await room.inbound(2)
        await stays(lambda: len(house.model.requests), 0.1)
        assert await house.one("select count(*) from inbox") == 0
        await room.call(thread, "who is right?", user="3")
        assert await answered(room, thread) == ["to who is right?"]
        assert [told(r) for r in house.model.requests] == [["who is right?"]]
        assert room.loose() == []


@on_sqlite
async def test_a_mention_in_a_running_thread_brings_what_was_said_there(
    room: Room, db: Database
) -> None:
    """hermes#15201: read where the platform lets a bot read, else as far as the bot heard it."""
    assert isinstance(room.channel, CanHistory)
    async with housed(db, room, echo) as house:
        thread = await room.talk("GOOG looks cheap")
        await room.murmur(thread, "no it does not", user="3")
        await room.inbound(2)
        await room.call(thread, "who is right?")
        await answered(room, thread)
        [request] = house.model.requests
        assert told(request) == ["who is right?"]
        said = background(request)
        assert said.index("GOOG looks cheap") < said.index("no it does not")
        await room.call(thread, "are you sure?")
        await answered(room, thread, 2)
        assert background(house.model.requests[-1]).count("GOOG looks cheap") == 1


# Interactions --------------------------------------------------------------------------------------------------------


@on_sqlite
async def test_a_press_whose_acknowledgement_came_too_late_is_still_carried_out(
    room: Room, db: Database
) -> None:
    """openclaw#16262, hermes#33472: and once."""
    script = [PAY, "paid"]
    async with housed(db, room, script) as house:
        thread = await room.ask("pay bob")
        await until(lambda: buttons(room, thread))
        room.expire()
        await room.push(thread, "Approve")
        await until(lambda: "paid" in room.texts(thread))
        await house.quiet()
        assert house.tools.calls == [("pay", "bob 3")]


@on_sqlite
async def test_a_press_is_acknowledged_while_the_turn_it_starts_still_runs(
    room: Room, db: Database
) -> None:
    """openclaw#16262: within 3 s, whatever the press sets going."""
    gate = asyncio.Event()

    async def script(request: ModelRequest) -> Answer | str:
        if not results(request):
            return PAY
        await gate.wait()
        return "paid"

    async with housed(db, room, script) as house:
        thread = await room.ask("pay bob")
        await until(lambda: buttons(room, thread))
        await room.push(thread, "Approve")
        await until(room.heard)
        assert "paid" not in room.texts(thread)
        gate.set()
        await until(lambda: "paid" in room.texts(thread))
        await house.quiet()


@on_sqlite
@pytest.mark.parametrize("room", ["slack", "discord"], indirect=True)
@pytest.mark.parametrize("late", [True, False])
async def test_a_slash_command_is_run_once_whether_its_acknowledgement_was_late_or_not(
    room: Room, db: Database, late: bool
) -> None:
    """openclaw#16262, hermes#33472. In Telegram commands are messages, which have no deadline."""
    async with housed(db, room, []) as house:
        if late:
            room.expire()
        await room.slash("help")
        await until(lambda: ["/help" in m.text for m in room.visible()] == [True])
        await house.quiet()
        await stays(lambda: len(room.visible()), 0.1)
        assert await house.one("select count(*) from inbox") == 1
        assert room.loose() == []
