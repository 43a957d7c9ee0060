"""Questions to a person and approvals: asked once, decided once, by the right person's own press (TGV-4 … TGV-7, TGV-10)."""

import asyncio
from typing import Any

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.types import ToolResult
from channels.types import Kind
from gateway.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House

TOOLS = ("echo", "pay", "ask_user")
THE_TEAM = team(agent(tools=TOOLS))
PAY = Answer(calls=(call("pay", "p1", to="bob", amount=3),))
CHOICE = Answer(calls=(call("ask_user", "a1", question="Which?", options=["AAPL", "GOOG"]),))
OPEN_QUESTION = Answer(calls=(call("ask_user", "a1", question="Which symbol?"),))

# FIX-4, TGV-6: none of these is a yes, wherever it is written.
NO_CONSENT = (
    *(
        "yes",
        "Yes!",
        "ok",
        "OK",
        "好的",
        "确认",
        "同意",
        "继续",
        "批准",
        "approve",
        "Approve 1",
        "1",
        "[1]",
    ),
    *(
        "不要继续",
        "我不确认",
        "do not allow",
        "allow",
        "token",
        "look",
        "ok:1",
        "/approve yes",
        "/approve 不要",
    ),
    *("approve 1 please", "👍", "是", "y", "sure, go ahead", "/deny nothing"),
)


def house(db: Database, *script: Any, **more: Any) -> House:
    return House(db, list(script), the_team=more.pop("the_team", THE_TEAM), **more)


def results(request: ModelRequest) -> list[str]:
    """What the tools answered, as this request shows it."""
    return [b.content for m in request.messages for b in m.blocks if isinstance(b, ToolResult)]


async def status(it: House, question: int = 1) -> str:
    return str(await it.one(f"select status from question where id = {question}"))


def question(it: House, chat: str = "1") -> Any:
    """The newest message that asks something."""
    return [shown for shown in it.channel.order if shown.chat == chat and shown.buttons][-1]


async def settled(it: House) -> None:
    """Nothing is left to do."""
    assert await it.one("select count(*) from inbox where status not in (2, 3)") == 0
    assert await it.one("select count(*) from outbox where status <> 2") == 0
    assert not it.model.violations


# The way through ---------------------------------------------------------------------------------------------------


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


# Who, once, in time ------------------------------------------------------------------------------------------------


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


# No consent in words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", NO_CONSENT)
async def test_words_are_never_consent(db: Database, words: str) -> None:
    """FIX-4."""
    async with house(db, PAY, "I wait for the button", "unused") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it) in ("open", "parked")


async def test_one_yes_does_not_allow_the_next_call(db: Database) -> None:
    """TGV-6: single use, bound to the call."""
    again = Answer(calls=(call("pay", "p2", to="bob", amount=3),))
    async with house(db, PAY, again, "both") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert await status(it, 2) == "open"
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]


async def test_a_ticket_of_other_arguments_allows_nothing(db: Database) -> None:
    """The stored digest is what was asked; a call that differs is not run."""
    async with house(db, PAY, "no") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.db.write(
            lambda conn: conn.exec_driver_sql("update question set digest = 'other'").rowcount
        )
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith("The approval is for another call")


# Commands and editing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "paid"),
    [("/approve", True), ("/approve 1", True), ("/deny", False), ("!deny #1", False)],
)
async def test_commands_decide_like_buttons(db: Database, words: str, paid: bool) -> None:
    async with house(db, PAY, "done") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == ([("pay", "bob 3")] if paid else [])
        assert "Recorded." in it.channel.texts("1")
        await settled(it)


async def test_a_command_without_a_number_needs_exactly_one_question(db: Database) -> None:
    async with house(db, PAY, Answer(calls=(call("pay", "p2", to="carol"),))) as it:
        assert (await it.ask("/approve"))[-1] == "Nothing waits for an approval here."
        await it.say("pay bob")
        await it.quiet()
        await it.say("and carol")
        await it.quiet()
        assert (await it.ask("/approve"))[-1].startswith("Several wait; say which: 1, 2")
        assert it.tools.calls == []


async def test_edited_arguments_are_validated_shown_and_run(db: Database) -> None:
    """TGV-4: edit then run, by a form."""
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        form = question(it).buttons[1].form
        assert [(f.name, f.value) for f in form.fields] == [("to", "bob"), ("amount", "3")]
        fields = (("to", "carol"), ("amount", "much"))
        await it.say("edit:1", kind=Kind.FORM, fields=fields)
        await it.quiet()
        assert it.channel.texts("1")[-1].startswith("Not approved: pay was not run: amount")
        assert await status(it) == "open"
        await it.say("edit:1", kind=Kind.FORM, fields=(("to", "carol"), ("amount", "2")))
        await it.quiet()
        assert it.tools.calls == [("pay", "carol 2")]
        assert any("amount=2\nto=carol" in t and "Approved by" in t for t in it.channel.texts("1"))
        await settled(it)


async def test_without_dialogs_the_values_come_as_lines_of_the_command(db: Database) -> None:
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("edit:1")
        await it.quiet()
        assert "/approve 1\namount=3\nto=bob" in it.channel.texts("1")[-1]
        await it.say("/approve 1\nto=5\namount=7")
        await it.quiet()
        assert it.tools.calls == [("pay", "5 7")]
        await settled(it)


@pytest.mark.parametrize(
    "words", ["/approve 1\nwhom=x", "/approve 1\nto bob", "/approve 1 now", "/approve one"]
)
async def test_an_edit_that_makes_no_sense_approves_nothing(db: Database, words: str) -> None:
    async with house(db, PAY) as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it) == "open"


async def test_always_is_not_offered_and_decides_nothing(db: Database) -> None:
    async with house(db, PAY) as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("always:1")
        assert await status(it) == "open"


async def test_arguments_cannot_pass_for_the_gateways_own_words(db: Database) -> None:
    to = "bob```\n**Approval 1: nothing to see**"
    async with house(db, Answer(calls=(call("pay", "p1", to=to),))) as it:
        await it.say("pay")
        await it.quiet()
        lines = question(it).text.splitlines()
        assert lines[2] == lines[4] == "````"
        assert lines[3].startswith('to="bob```\\n')


# The talk goes on meanwhile ----------------------------------------------------------------------------------------


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


# /stop -------------------------------------------------------------------------------------------------------------


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


# Sub-agents --------------------------------------------------------------------------------------------------------

HELPER = agent("helper", tools=("pay",))
DESK = team(agent(tools=("echo",)), HELPER)
SEND = Answer(calls=(delegate("helper", "pay bob"),))


async def test_a_sub_agents_approval_is_asked_in_the_roots_conversation(db: Database) -> None:
    """SUB-5: approvals still go to the human; the parent's call stays open meanwhile."""
    async with house(db, SEND, PAY, "helper paid", "lead done", the_team=DESK) as it:
        await it.say("go")
        await it.quiet()
        assert "asked by Helper" in question(it).text
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1").count("lead done") == 1
        assert len(it.model.requests) == 4
        await settled(it)


async def test_parallel_sub_agents_ask_side_by_side_and_nobody_is_paid_twice(db: Database) -> None:
    two = Answer(
        calls=(delegate("a", "one", "d1"), delegate("b", "two", "d2"), delegate("c", "three", "d3"))
    )

    def script(request: ModelRequest) -> Answer | str:
        who = request.system
        if "supervisor" in who:
            return "all done" if results(request) else two
        if results(request):
            return f"paid by {who}"
        if "You are c." in who:
            return "c needs nobody"
        return Answer(calls=(call("pay", "p", to="a" if "You are a." in who else "b"),))

    agents = [agent(name, tools=("pay",)) for name in "abc"]
    async with House(db, script, the_team=team(agent(tools=()), *agents)) as it:
        await it.say("go")
        await it.quiet()
        assert await it.one("select count(*) from question where status = 'open'") == 2
        before = len(it.model.requests)
        await it.press("ok:2")
        await it.quiet()
        await it.press("ok:1")
        await it.quiet()
        assert sorted(it.tools.calls) == [("pay", "a 1"), ("pay", "b 1")]
        assert it.channel.texts("1").count("all done") == 1
        assert len(it.model.requests) == before + 3
        await settled(it)


async def test_a_message_meanwhile_ends_the_delegation_and_a_later_yes_runs_the_helpers_tool(
    db: Database,
) -> None:
    async with house(db, SEND, PAY, "weather", "reported", the_team=DESK) as it:
        await it.say("go")
        await it.quiet()
        await it.say("weather?")
        await it.quiet()
        assert "Awaiting question 1" in results(it.model.requests[-1])[0]
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1")[-1] == "reported"
        await settled(it)


# Restarts ----------------------------------------------------------------------------------------------------------


async def test_a_decision_after_a_restart_goes_on_from_the_rows(db: Database) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
    async with house(db, "paid") as it:
        await it.quiet()
        assert len(it.model.requests) == 0
        await it.press("ok:1", key="cb:new")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_a_decision_whose_wake_up_was_lost_is_carried_out_by_the_next_start(
    db: Database,
) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        await first.engine.stop(0.0)
        await first.press("ok:1")
    async with house(db, "paid") as it:
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_what_expired_while_nothing_ran_is_said_at_the_next_start(db: Database) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        clock = first.clock
    clock.seconds += 400
    async with house(db, "expired", clock=clock) as it:
        await it.later(0)
        assert await status(it) == "expired"
        assert it.channel.texts("1")[-1] == "expired"
        await settled(it)


async def test_questions_one_after_another_are_no_broken_starts(db: Database) -> None:
    """The quarantine counts starts that broke, not answers (hermes#7536)."""
    asks = [Answer(calls=(call("pay", f"p{n}", to=f"n{n}"),)) for n in range(6)]
    async with house(db, *asks, "all paid") as it:
        await it.say("pay all")
        await it.quiet()
        for n in range(1, 7):
            await it.press(f"ok:{n}")
            await it.quiet()
        assert len(it.tools.calls) == 6
        assert it.channel.texts("1").count("all paid") == 1
        await settled(it)


async def test_an_approved_call_that_a_crash_cut_off_is_never_run_again(db: Database) -> None:
    """TGV-10: from the second intent row on, the outcome is unknown."""
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        await first.engine.stop(0.0)
        await first.press("ok:1")
        await first.db.write(_begun_by_a_dead_process)
    async with house(db, "unknown") as it:
        await it.quiet()
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith("Outcome unknown")


def _begun_by_a_dead_process(conn: Any) -> None:
    conn.exec_driver_sql(
        "insert into transcript (session_id, seq, turn_id, kind, ref, body, meta, at)"
        " select session_id, seq + 1, turn_id, kind, ref, body, '{\"approved\": 1}', at"
        " from transcript where kind = 'intent' order by seq desc limit 1"
    )
