"""Messages that say an earlier one anew: what the model sees then, once each, and that no row is ever changed."""

import asyncio
from collections.abc import Awaitable, Callable

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.storage.db import Database
from tests.harness import call
from tests.house import House, on_sqlite
from tests.unit.gateway.media_house import media_house
from tests.unit.gateway.test_sessions import WORDS, told, transcript

Script = Callable[[ModelRequest], Awaitable[Answer | str]]


def after_a_call(running: asyncio.Event, gate: asyncio.Event) -> Script:
    """A model that first calls a tool, once `gate` is open, and so sees what is steered in; it says what it saw."""

    async def script(request: ModelRequest) -> Answer | str:
        if not running.is_set():
            running.set()
            await gate.wait()
            return Answer(calls=(call("echo", "e1"),))
        return "saw " + " | ".join(told(request))

    return script


async def test_other_words_take_the_place_of_a_message_and_of_all_that_came_after(
    db: Database,
) -> None:
    async with House(db, list(WORDS)) as house:
        for key, words in (("k-a", "a"), ("k-b", "b"), ("k-c", "c")):
            await house.ask(words, key=key)
        before = await transcript(house)
        await house.ask("other b", key="k-b2", again="k-b")
        assert told(house.model.requests[-1]) == ["a", "other b"]
        assert (await transcript(house))[: len(before)] == before
        await house.ask("d")
        assert told(house.model.requests[-1]) == ["a", "other b", "d"]


async def test_a_message_is_said_anew_once_however_often_it_comes(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("a", key="k-a")
        for _ in range(3):
            await house.ask("a", key="k-a2", again="k-a")
        assert house.channel.texts("1") == ["one", "two"]
        assert told(house.model.requests[-1]) == ["a"]
        await house.ask("a", key="k-a3", again="k-a2")
        assert told(house.model.requests[-1]) == ["a"]


async def test_it_waits_for_a_running_turn_and_is_not_steered_into_it(db: Database) -> None:
    gate, running = asyncio.Event(), asyncio.Event()
    async with House(db, after_a_call(running, gate)) as house:
        await house.say("a", key="k-a")
        await running.wait()
        await house.say("other a", key="k-a2", again="k-a")
        gate.set()
        await house.quiet()
        assert house.channel.texts("1") == ["saw a", "saw other a"]


async def test_what_was_said_before_it_in_its_turn_is_asked_again_with_it(db: Database) -> None:
    """It is still in sight; what came after is taken back, also when the new version is said anew itself."""
    gate, running = asyncio.Event(), asyncio.Event()
    async with House(db, after_a_call(running, gate)) as house:
        await house.say("a", key="k-a")
        await running.wait()
        await house.say("b", key="k-b")
        gate.set()
        await house.quiet()
        assert await house.one("select count(distinct turn_id) from inbox") == 1
        assert (await house.ask("new b", key="k-b2", again="k-b"))[-1] == "saw a\nnew b"
        assert (await house.ask("newer b", key="k-b3", again="k-b2"))[-1] == "saw a\nnewer b"
        assert (await house.ask("new a", key="k-a2", again="k-a"))[-1] == "saw new a"


@on_sqlite
async def test_only_a_message_of_the_same_person_and_place_is_taken_back(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("mine", key="k-1")
        await house.ask("theirs", key="k-2", author="2", chat="2")
        for again in ("k-2", "no such key", "k-self"):
            await house.ask(f"like {again}", key="k-self" if again == "k-self" else "", again=again)
        words = ["mine", "like k-2", "like no such key", "like k-self"]
        assert told(house.model.requests[-1]) == words
        group = {"chat": "-5", "private": False}
        await house.ask("ours", key="k-3", **group)
        await house.ask("not mine", author="2", again="k-3", **group)
        assert [said.rpartition("\n")[2] for said in told(house.model.requests[-1])] == [
            "ours",
            "not mine",
        ]


@on_sqlite
async def test_after_a_new_conversation_nothing_is_taken_back(db: Database) -> None:
    async with House(db, list(WORDS)) as house:
        await house.ask("a", key="k-a")
        await house.ask("/new")
        await house.ask("b", key="k-b")
        await house.ask("a once more", key="k-a2", again="k-a")
        assert told(house.model.requests[-1]) == ["b", "a once more"]


@on_sqlite
async def test_files_come_along_again(db: Database) -> None:
    house, channel = media_house(db, list(WORDS))
    note = channel.put("note.txt", "text/plain", b"42 apples")
    async with house:
        await house.ask("count", key="k-a", attachments=(note,))
        await house.ask("count them", key="k-a2", again="k-a", attachments=(note,))
        (asked,) = told(house.model.requests[-1])
        assert asked.startswith("count them")
        assert "42 apples" in asked
