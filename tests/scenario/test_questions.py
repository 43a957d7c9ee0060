"""Questions to a person through the whole path: buttons in Telegram, kills while waiting and in an approved call."""

import re

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call
from tests.twins.telegram_state import Stored

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
OPERATOR = 900


def pay(label: str) -> Turn:
    return Turn([call("pay", {"label": label})])


async def asked(scene: Stage, chat: int, count: int = 1) -> Stored:
    """The newest message with buttons to decide something, once the turn waits."""

    def look() -> Stored | None:
        found = [
            m
            for m in scene.telegram.replies(chat)
            if any("Deny" in b["text"] or "1." in b["text"] for b in m.buttons)
        ]
        return found[-1] if len(found) >= count else None

    found: Stored = await scene.until(look)
    await scene.until(lambda: scene.gateway.count("turn", "status = 'waiting'"))
    return found


def shown(scene: Stage, chat: int, words: str) -> bool:
    return any(words in text for text in scene.texts(chat))


async def test_a_press_after_a_kill_goes_on_and_the_tool_runs_once(scene: Stage):
    scene.model.reply_to(r"^pay the rent$", [pay("rent"), "The rent is paid."])
    await scene.gateway.start()
    scene.telegram.say(1, "pay the rent")
    question = await asked(scene, 1)
    # A kill in the middle of a send may repeat it, which is another test's matter.
    await scene.until(lambda: not scene.gateway.count("outbox", "status = 1"))
    await scene.gateway.kill()
    await scene.gateway.start()
    assert scene.plugin.traces("payments") == []
    scene.telegram.press(1, question.id, "Approve")
    await scene.until(lambda: shown(scene, 1, "The rent is paid."))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["rent"]
    [edited] = [m for m in scene.telegram.replies(1) if m.id == question.id]
    assert not edited.buttons
    assert "Approved by" in edited.text
    assert len(scene.texts(1)) == 2
    scene.sound()


async def test_a_press_while_it_is_down_is_carried_out_at_the_next_start(scene: Stage):
    scene.model.reply_to(r"^pay the rent$", [pay("rent"), "The rent is paid."])
    await scene.gateway.start()
    scene.telegram.say(1, "pay the rent")
    question = await asked(scene, 1)
    await scene.gateway.kill()
    scene.telegram.press(1, question.id, "Approve")
    await scene.gateway.start()
    await scene.until(lambda: shown(scene, 1, "The rent is paid."))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["rent"]
    scene.sound()


async def test_killed_while_the_approved_call_runs_it_is_never_run_again(scene: Stage):
    """TGV-10: the outcome is unknown, and the model is told so."""
    scene.model.reply_to(r"^pay the rent$", [pay("rent"), "I cannot tell whether it was paid."])
    scene.plugin.hold()
    await scene.gateway.start()
    scene.telegram.say(1, "pay the rent")
    question = await asked(scene, 1)
    scene.telegram.press(1, question.id, "Approve")
    await scene.until(lambda: scene.plugin.traces("payments"))
    await scene.gateway.kill()
    scene.plugin.release()
    await scene.gateway.start()
    await scene.until(lambda: shown(scene, 1, "I cannot tell"))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["rent"]
    assert any(r.startswith("Outcome unknown") for r in scene.results("pay the rent"))
    scene.sound()


async def test_a_sub_agents_approval_survives_a_kill_and_nothing_is_paid_twice(scene: Stage):
    task = call("delegate_to_helper", {"task": "see to the rent"})
    scene.model.reply_to(r"^have the rent paid$", [Turn([task]), "All done."])
    scene.model.reply_to(r"^see to the rent$", [pay("rent"), "I have paid the rent."])
    await scene.gateway.start()
    scene.telegram.say(1, "have the rent paid")
    question = await asked(scene, 1)
    assert "asked by Helper" in question.text
    await scene.gateway.kill()
    await scene.gateway.start()
    scene.telegram.press(1, question.id, "Approve")
    await scene.until(lambda: shown(scene, 1, "All done."))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["rent"]
    scene.sound()


async def test_the_talk_goes_on_and_a_yes_after_a_kill_runs_the_stored_call(scene: Stage):
    scene.model.reply_to(r"^pay the rent$", [pay("rent")])
    scene.model.reply_to(r"^what is the time\?$", ["Noon.", "The rent is paid now."])
    await scene.gateway.start()
    scene.telegram.say(1, "pay the rent")
    question = await asked(scene, 1)
    scene.telegram.say(1, "what is the time?")
    await scene.until(lambda: shown(scene, 1, "Noon."))
    await scene.settled()
    await scene.gateway.kill()
    await scene.gateway.start()
    scene.telegram.press(1, question.id, "Approve")
    await scene.until(lambda: scene.plugin.traces("payments"))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["rent"]
    assert scene.telegram.violations == []


async def test_a_group_decides_by_the_askers_own_press_or_an_operators(scene: Stage):
    group = scene.telegram.group(-5)
    scene.model.reply_to(r"pay the rent$", [pay("rent"), "The rent is paid."])
    await scene.gateway.start()
    scene.telegram.say(group, "@swarm_bot pay the rent", user=1)
    question = await asked(scene, group)
    scene.telegram.press(group, question.id, "Approve", user=2)
    await scene.until(lambda: scene.gateway.count("inbox") == 2)
    assert scene.gateway.rows("select status from question") == [("open",)]
    scene.telegram.press(group, question.id, "Approve", user=OPERATOR)
    await scene.until(lambda: shown(scene, group, "The rent is paid."))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["rent"]
    scene.sound()


async def test_a_choice_by_button_and_an_edit_in_words(scene: Stage):
    options = {"question": "Which bill?", "options": ["rent", "phone"]}
    choose = Turn([call("ask_user", options)])
    scene.model.reply_to(r"^pay a bill$", [choose, pay("phone"), "Paid."])
    await scene.gateway.start()
    scene.telegram.say(1, "pay a bill")
    question = await asked(scene, 1)
    scene.telegram.press(1, question.id, "2. phone")
    approval = await scene.until(
        lambda: next(
            (m for m in scene.telegram.replies(1) if any(b["text"] == "Edit" for b in m.buttons)),
            None,
        )
    )
    scene.telegram.press(1, approval.id, "Edit")
    how = await scene.until(
        lambda: next(
            (
                t
                for t in scene.texts(1)
                if "/approve" in t and "label=phone" in t and "other values" in t
            ),
            None,
        )
    )
    assert re.search(r"/approve \d+\nlabel=phone", how)
    number = re.search(r"/approve (\d+)", how)[1]
    scene.telegram.say(1, f"/approve {number}\nlabel=mobile")
    await scene.until(lambda: shown(scene, 1, "Paid."))
    await scene.settled()
    assert scene.plugin.traces("payments") == ["mobile"]
    scene.sound()


async def test_stop_ends_the_wait(scene: Stage):
    """hermes#8697."""
    scene.model.reply_to(r"^pay the rent$", [pay("rent")])
    await scene.gateway.start()
    scene.telegram.say(1, "pay the rent")
    question = await asked(scene, 1)
    scene.telegram.say(1, "/stop")
    await scene.until(lambda: shown(scene, 1, "Cancelled"))
    await scene.settled()
    [edited] = [m for m in scene.telegram.replies(1) if m.id == question.id]
    assert not edited.buttons
    assert scene.gateway.rows("select status from question") == [("cancelled",)]
    assert scene.plugin.traces("payments") == []
    assert scene.model.violations == []
