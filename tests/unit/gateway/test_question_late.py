"""The talk goes on while a question is open: nothing is lost, nothing is run twice; /stop takes it back."""

import asyncio
import re

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.storage.db import Database
from tests.harness import call
from tests.house import House, settings
from tests.unit.gateway.asking import (
    CHOICE,
    PAY,
    THE_TEAM,
    house,
    question,
    results,
    settled,
    status,
)

# The talk goes on meanwhile -----------------------------------------------------------------------


async def test_a_message_meanwhile_is_a_turn_and_a_later_yes_runs_the_stored_call(
    db: Database,
) -> None:
    async with house(db, PAY, "about the weather", "reported: paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say("how is the weather?")
        await it.quiet()
        assert it.channel.texts("1")[-1] == "about the weather"
        assert results(it.model.requests[-1])[0].startswith("Awaiting question 1")
        assert await status(it) == "parked"
        assert it.tools.calls == []
        await it.press("ok:1")
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1")[-1] == "reported: paid"
        assert results(it.model.requests[-1])[-1] == "paid 3 to bob"
        assert await it.one("select count(*) from turn") == 3
        await settled(it)


async def test_a_late_yes_with_other_values_runs_those(db: Database) -> None:
    async with house(db, PAY, "weather", "reported") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say("how is the weather?")
        await it.quiet()
        await it.say("/approve 1\namount=9")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 9")]
        await settled(it)


async def test_a_late_choice_is_a_turn_of_its_own(db: Database) -> None:
    async with house(db, CHOICE, "weather", "GOOG then") as it:
        await it.say("go")
        await it.quiet()
        await it.say("how is the weather?")
        await it.quiet()
        await it.press("ask:1:2")
        await it.quiet()
        assert it.channel.texts("1")[-1] == "GOOG then"
        await settled(it)


async def test_a_late_no_or_expiry_says_so_and_begins_nothing(db: Database) -> None:
    async with house(db, PAY, "one", Answer(calls=(call("pay", "p2", to="carol"),)), "two") as it:
        for words in ("pay bob", "weather?", "pay carol", "weather?"):
            await it.say(words)
            await it.quiet()
        await it.press("no:1")
        await it.later(301)
        assert [await status(it, n) for n in (1, 2)] == ["answered", "expired"]
        assert it.tools.calls == []
        assert await it.one("select count(*) from turn") == 4
        await settled(it)


async def test_a_late_yes_waits_for_the_turn_that_runs(db: Database) -> None:
    async with house(db, PAY, Answer("slow", delay=0.05), "reported") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say("weather?")
        await until_busy(it)
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1")[-1] == "reported"
        await settled(it)


async def until_busy(it: House) -> None:
    async with asyncio.timeout(5):
        while len(it.model.requests) < 2:
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("command", ["/new", "/undo", "/retry", "/fork"])
async def test_a_command_that_moves_the_session_ends_the_wait_and_loses_nothing(
    db: Database, command: str
) -> None:
    async with house(db, PAY, "again", "reported") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(command)
        await it.quiet()
        assert await status(it) == "parked"
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_a_setting_of_the_chat_leaves_the_question_open(db: Database) -> None:
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say("/model")
        await it.quiet()
        assert await status(it) == "open"
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


# /stop --------------------------------------------------------------------------------------------


async def test_stop_cancels_a_pending_approval(db: Database) -> None:
    """hermes#8697."""
    async with house(db, PAY, "next") as it:
        await it.say("pay bob")
        await it.quiet()
        asked = question(it)
        await it.say("/stop")
        await it.quiet()
        assert await status(it) == "cancelled"
        assert asked.buttons == ()
        assert "Cancelled" in asked.text
        await it.press("ok:1")
        assert it.channel.answers[-1][1] == "This question is no longer open."
        assert it.tools.calls == []
        assert (await it.ask("more"))[-1] == "next"
        await settled(it)


async def test_the_stop_button_stops_the_turn_that_waits(db: Database) -> None:
    async with house(db, PAY) as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press(f"stop:{await it.one('select id from turn')}")
        await it.quiet()
        assert await status(it) == "cancelled"
        assert await it.one("select status from turn") == "stopped"
        await settled(it)


async def test_stop_takes_back_what_no_turn_waits_for_any_more(db: Database) -> None:
    async with house(db, PAY, "weather") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say("weather?")
        await it.quiet()
        assert (await it.ask("/stop"))[-1] == "Cancelled: 1."
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == []
        await settled(it)


async def test_a_press_and_a_message_at_the_same_moment_lose_nothing(db: Database) -> None:
    """Whoever is first: the call runs exactly once, the message is answered, no row stays open."""

    def script(request: ModelRequest) -> Answer | str:
        last = request.messages[-1]
        if words := re.search(r"pay \d+", last.text):
            return Answer(calls=(call("pay", "p", to=words[0]),))
        return f"re {last.text or results(request)[-1]}"

    rules = settings(sessions={"rate_limit": {"messages_per_minute": 10_000}})
    async with House(db, script, the_team=THE_TEAM, rules=rules) as it:
        for n in range(12):
            chat = str(n)
            await it.say(f"pay {n}", chat=chat)
            await it.quiet()
            number = await it.one("select max(id) from question")

            async def later(data: str, chat: str = chat, n: int = n) -> None:
                await asyncio.sleep(n % 4 * 0.001)
                await it.press(data, chat=chat)

            await asyncio.gather(it.say(f"hello {n}", chat=chat), later(f"ok:{number}"))
            await it.quiet()
            assert it.tools.calls.count(("pay", f"pay {n} 1")) == 1
            assert any(f"hello {n}" in text for text in it.channel.texts(chat))
        await settled(it)
