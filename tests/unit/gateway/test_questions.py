"""Questions to a person: asked once, decided once, in time, by the right person (TGV-4 … TGV-7)."""

import asyncio

import pytest

from agent_core.models.scripted import Answer
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.unit.gateway.asking import (
    CHOICE,
    OPEN_QUESTION,
    PAY,
    house,
    question,
    results,
    settled,
    status,
)

# The way through ----------------------------------------------------------------------------------


async def test_an_approval_waits_with_a_free_slot_and_goes_on_after_the_press(db: Database) -> None:
    async with house(db, PAY, "paid, then") as it:
        await it.say("pay bob")
        await it.quiet()
        assert it.tools.calls == []
        assert it.engine.busy() == 0
        assert await it.one("select status from turn") == "waiting"
        asked = question(it)
        assert [b.data for b in asked.buttons] == ["ok:1", "edit:1", "no:1"]
        assert "to=bob\namount=3" in asked.text
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert results(it.model.requests[-1]) == ["paid 3 to bob"]
        assert "Approved by name 1" in asked.text
        assert asked.buttons == ()
        assert it.channel.texts("1").count("paid, then") == 1
        await settled(it)


async def test_a_choice_is_the_result_of_the_call(db: Database) -> None:
    async with house(db, CHOICE, "GOOG it is") as it:
        await it.say("go")
        await it.quiet()
        assert [b.label for b in question(it).buttons] == ["1. AAPL", "2. GOOG"]
        await it.press("ask:1:2")
        await it.quiet()
        assert results(it.model.requests[-1]) == ["GOOG"]
        await settled(it)


@pytest.mark.parametrize(
    "data", ["ask:1:0", "ask:1:3", "ask:1:x", "ask:1:", "ok:1", "ask:9:1", "ask::1"]
)
async def test_a_press_that_fits_no_option_decides_nothing(db: Database, data: str) -> None:
    async with house(db, CHOICE) as it:
        await it.say("go")
        await it.quiet()
        await it.press(data)
        await it.quiet()
        assert it.channel.answers[-1][1] == "This question is no longer open."
        assert await status(it) == "open"


async def test_a_question_without_options_takes_the_next_message_as_its_answer(
    db: Database,
) -> None:
    async with house(db, OPEN_QUESTION, "looking at AAPL") as it:
        await it.say("go")
        await it.quiet()
        await it.say("AAPL, please")
        await it.quiet()
        assert results(it.model.requests[-1]) == ["AAPL, please"]
        assert await it.one("select count(*) from turn") == 1
        await settled(it)


async def test_a_denial_is_told_to_the_model_and_the_tool_does_not_run(db: Database) -> None:
    async with house(db, PAY, "not paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("no:1")
        await it.quiet()
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith("Denied by the person")
        await settled(it)


async def test_what_follows_an_approval_in_the_same_message_waits_too(db: Database) -> None:
    both = Answer(calls=(call("pay", "p1", to="bob"), call("echo", "e1", words="after")))
    async with house(db, both, "done") as it:
        await it.say("go")
        await it.quiet()
        assert it.tools.calls == []
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 1"), ("echo", "after")]
        await settled(it)


async def test_invalid_arguments_are_never_asked_about(db: Database) -> None:
    bad = Answer(calls=(call("pay", "p1", to="bob", amount="much"),))
    async with house(db, bad, "sorry") as it:
        assert await it.ask("pay") == ["sorry"]
        assert await it.one("select count(*) from question") == 0


async def test_a_chinese_question_has_chinese_buttons(db: Database) -> None:
    async with house(db, PAY, "已付") as it:
        await it.say("付款给 bob")
        await it.quiet()
        assert [b.label for b in question(it).buttons] == ["批准", "修改", "拒绝"]
        await it.press("ok:1")
        await it.quiet()
        await settled(it)


# Who, once, in time -------------------------------------------------------------------------------


async def test_two_clicks_book_once(db: Database) -> None:
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await asyncio.gather(*(it.press("ok:1", key=f"cb:{n}") for n in range(5)), it.press("no:1"))
        await it.quiet()
        assert len(it.tools.calls) <= 1
        said = [text for _, text in it.channel.answers]
        assert said.count("Recorded.") == 1
        assert said.count("This question is no longer open.") == 5
        await settled(it)


async def test_a_press_that_is_delivered_twice_decides_once(db: Database) -> None:
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("ok:1", key="cb:1")
        await it.press("ok:1", key="cb:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_another_persons_click_is_refused(db: Database) -> None:
    async with house(db, PAY, "paid") as it:
        await it.say("@bot pay bob", chat="-5", private=False)
        await it.quiet()
        for data in ("ok:1", "no:1", "edit:1"):
            await it.press(data, chat="-5", private=False, author="2")
        await it.say("/approve 1", chat="-5", private=False, author="2")
        await it.quiet()
        assert {t for _, t in it.channel.answers} == {
            "Only the person who was asked can decide this."
        }
        assert it.tools.calls == []
        assert await status(it) == "open"


async def test_an_operator_may_approve_but_not_choose_for_others(db: Database) -> None:
    async with house(db, PAY, CHOICE, "chosen") as it:
        await it.say("@bot pay bob", chat="-5", private=False)
        await it.quiet()
        await it.press("ok:1", chat="9", author="9")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert "Approved by name 9" in it.channel.order[-1].text or any(
            "Approved by name 9" in t for t in it.channel.texts("-5")
        )
        await it.press("ask:2:1", chat="9", author="9")
        await it.quiet()
        assert await status(it, 2) == "open"


@pytest.mark.parametrize(
    ("script", "result"), [(PAY, "Expired: nobody"), (CHOICE, "Nobody answered")]
)
async def test_an_expiry_is_neither_yes_nor_no(db: Database, script: Answer, result: str) -> None:
    """TGV-7."""
    async with house(db, script, "I had no answer") as it:
        await it.say("go")
        await it.quiet()
        await it.later(3_601)
        assert await status(it) == "expired"
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith(result)
        assert "Expired" in next(t for t in it.channel.texts("1") if "**" in t)
        await it.press("ok:1")
        assert it.channel.answers[-1][1] == "This question is no longer open."
        await settled(it)


async def test_an_approval_expires_after_five_minutes_and_no_sooner(db: Database) -> None:
    """TGV-6."""
    async with house(db, PAY, "late") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.later(299)
        assert await status(it) == "open"
        await it.later(2)
        assert await status(it) == "expired"


async def test_a_press_after_the_time_decides_nothing_even_before_the_clock_has_struck(
    db: Database,
) -> None:
    async with house(db, PAY, "late") as it:
        await it.say("pay bob")
        await it.quiet()
        it.clock.seconds += 301
        await it.press("ok:1")
        assert it.channel.answers[-1][1] == "This question is no longer open."
        assert await status(it) == "open"


async def test_the_time_of_waiting_counts_for_no_deadline(db: Database) -> None:
    """DESIGN.md 4: deadlines stop while a person is asked."""
    helper = agent("helper", tools=("pay",), limits={"time": 30.0})
    script = (Answer(calls=(delegate("helper"),)), PAY, "helper done", "all done")
    async with house(db, *script, the_team=team(agent(tools=()), helper)) as it:
        await it.say("go")
        await it.quiet()
        await it.later(250)
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert '"status": "completed"' in results(it.model.requests[-1])[0]
        await settled(it)
