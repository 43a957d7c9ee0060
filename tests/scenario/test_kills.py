"""SIGKILL at each kind of moment, with ten chats under way: after the restart each has exactly one answer."""

import re
from collections import Counter

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Attempts, Turn, call, say

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CHATS = range(1, 11)
LONG = 60.0  # seconds that something hangs until the kill


def answer(chat: int) -> str:
    return f"This is the answer for chat {chat}."


ANSWERS = {chat: answer(chat) for chat in CHATS}


def script(scene: Stage, chat: int, turns: list[Attempts], words: str = "question") -> None:
    """What the model says to `words` of one chat, so that no two chats send the same request."""
    scene.model.reply_to(rf"^{words} of chat {chat}$", turns)


def ask(scene: Stage, words: str = "question") -> None:
    for chat in CHATS:
        scene.telegram.say(chat, f"{words} of chat {chat}")


async def restart_and_check(scene: Stage, *, allowed: Counter[int] | None = None) -> None:
    await scene.gateway.kill()
    scene.plugin.release()
    await scene.gateway.start()
    await scene.answered(CHATS)
    scene.sound()
    scene.once(ANSWERS, extra=allowed)
    assert scene.gateway.count("turn", "status <> 'done'") == 0


async def test_killed_before_the_model_answers(scene: Stage):
    for chat in CHATS:
        script(scene, chat, [[Turn([say("lost")], delay=LONG), answer(chat)]])
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: len(scene.model.answers) == len(CHATS))
    await restart_and_check(scene)


async def test_killed_in_the_middle_of_a_stream(scene: Stage):
    for chat in CHATS:
        slow = Turn([say("half of an answer " * 1000)], gap=0.05)
        script(scene, chat, [[slow, answer(chat)]])
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: all("half" in (scene.telegram.draft(c) or "") for c in CHATS))
    await restart_and_check(scene)
    assert all(scene.telegram.draft(chat) is None for chat in CHATS)


async def test_killed_while_a_group_watches_the_answer_grow(scene: Stage):
    """The message that was visible at the kill becomes the answer: one message (openclaw#31514)."""
    groups = [scene.telegram.group(-chat) for chat in CHATS]
    for chat in CHATS:
        slow = Turn([say("half of an answer " * 1000)], gap=0.05)
        script(scene, chat, [[slow, answer(chat)]])
    await scene.gateway.start()
    for chat in CHATS:
        scene.telegram.say(-chat, f"@swarm_bot question of chat {chat}", user=chat)
    await scene.until(lambda: all("half" in "".join(scene.texts(group)) for group in groups))
    # The message is there a moment before the gateway has written its id down.
    await scene.until(lambda: not scene.unknown(groups).total())
    await scene.gateway.kill()
    seen = {group: scene.telegram.replies(group)[0].id for group in groups}
    await scene.gateway.start()
    await scene.until(lambda: all(scene.texts(-chat) == [answer(chat)] for chat in CHATS))
    await scene.settled()
    scene.sound()
    assert {group: scene.reply(group).id for group in groups} == seen


def delegated(scene: Stage, child: list[Attempts], chat: int) -> None:
    """Lead → helper → lead; `child` is what the helper does."""
    task = {"task": f"task of chat {chat}"}
    script(scene, chat, [Turn([say("wait"), call("delegate_to_helper", task)]), answer(chat)])
    script(scene, chat, child, words="task")


async def test_killed_while_a_sub_agent_waits_for_its_model(scene: Stage):
    for chat in CHATS:
        look = Turn([call("slow_look", {"label": f"{chat}"})])
        delegated(scene, [look, [Turn([say("lost")], delay=LONG), "seen"]], chat)
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: len(scene.model.answers) == 3 * len(CHATS))
    await restart_and_check(scene)
    # lead, helper, helper again, the helper's lost one, lead
    assert len(scene.model.answers) == 5 * len(CHATS)
    assert sorted(map(int, scene.plugin.traces("looks"))) == list(CHATS)
    assert scene.gateway.count("session", "parent is not null") == len(CHATS)


async def test_killed_while_a_sub_agents_tool_runs(scene: Stage):
    """The tool is idempotent, so it runs again; neither the lead nor the helper is asked again."""
    for chat in CHATS:
        delegated(scene, [Turn([call("slow_look", {"label": f"{chat}"})]), "seen"], chat)
    scene.plugin.hold()
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: len(scene.plugin.traces("looks")) == len(CHATS))
    await restart_and_check(scene)
    assert len(scene.model.answers) == 4 * len(CHATS)
    assert Counter(map(int, scene.plugin.traces("looks"))) == dict.fromkeys(CHATS, 2)


async def test_a_tool_that_must_not_run_twice_is_told_as_unknown(scene: Stage):
    """TGV-10: the intent is there, the result is not, and the order may have gone out."""
    for chat in CHATS:
        order = Turn([say("I order"), call("order_goods", {"label": f"order {chat}"})])
        script(scene, chat, [order, answer(chat)])
    scene.plugin.hold()
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: len(scene.plugin.traces("orders")) == len(CHATS))
    await restart_and_check(scene)
    assert Counter(scene.plugin.traces("orders")) == {f"order {chat}": 1 for chat in CHATS}
    for chat in CHATS:
        (told,) = scene.results(f'question of chat {chat}"')
        assert told.startswith("Outcome unknown")


async def test_killed_before_the_reply_leaves(scene: Stage):
    """The answer is in the outbox; Telegram never got it. It is sent once, and no model is asked again."""
    for chat in CHATS:
        script(scene, chat, [answer(chat)])
    fault = scene.telegram.fault(r"/sendMessage$", hang=True, times=len(CHATS))
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: fault.used_up)
    await restart_and_check(scene)
    assert len(scene.model.answers) == len(CHATS)


async def test_killed_between_the_send_and_its_answer(scene: Stage):
    """Telegram has no key for a send and no way to look: the one place where a duplicate is allowed, and one only."""
    for chat in CHATS:
        script(scene, chat, [answer(chat)])
    fault = scene.telegram.fault(r"/sendMessage$", delay_after=LONG, times=len(CHATS))
    await scene.gateway.start()
    ask(scene)
    await scene.until(lambda: fault.used_up)
    await scene.until(lambda: all(scene.telegram.replies(chat) for chat in CHATS))
    await scene.gateway.kill()
    allowed = scene.unknown(CHATS)
    assert allowed == dict.fromkeys(CHATS, 1)
    await scene.gateway.start()
    await scene.answered(CHATS, 2)
    scene.sound()
    scene.once(ANSWERS, extra=allowed)
    assert [line["event"] for line in scene.gateway.lines].count("reply_perhaps_sent") == len(CHATS)


async def test_a_reset_after_the_send_brings_one_duplicate_at_most_and_is_logged(scene: Stage):
    for chat in CHATS:
        script(scene, chat, [answer(chat)])
    scene.telegram.fault(r"/sendMessage$", drop="after", times=len(CHATS))
    await scene.gateway.start()
    ask(scene)
    await scene.answered(CHATS)
    scene.sound()
    scene.once(ANSWERS, extra=Counter(dict.fromkeys(CHATS, 1)))
    said = [line["event"] for line in scene.gateway.lines]
    assert said.count("reply_perhaps_sent") == len(CHATS)


async def test_a_turn_that_kills_the_process_again_and_again_is_set_aside(scene: Stage):
    """hermes#7536: three tries, then a notice; the next message of the chat is answered."""
    script(scene, 1, [Turn([say("lost")], delay=LONG)])
    script(scene, 1, ["fine again"], words="next")
    scene.telegram.say(1, "question of chat 1")
    for tries in range(1, 5):
        await scene.gateway.start()
        if tries < 4:
            await scene.until(lambda n=tries: len(scene.model.answers) == n)
            await scene.gateway.kill()
    await scene.answered([1])
    assert re.search(r"set it aside\. \(id [0-9a-f]{6}\)", scene.reply(1).text)
    scene.telegram.say(1, "next of chat 1")
    await scene.answered([1], 2)
    assert scene.texts(1)[1] == "fine again"
    assert scene.model.repeated() == []
