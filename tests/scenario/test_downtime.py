"""Stopping, being down, and starting again."""

import asyncio
import time

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, say

CHATS = (1, 2, 3)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]  # many starts on a loaded machine


async def test_what_was_sent_while_it_was_down_is_answered_in_order_and_nothing_twice(scene: Stage):
    """hermes#87040, #41193: turns of their own, also those that Telegram hands over in one batch.

    hermes#68502, openclaw#83521: an update that was answered before the restart comes again after it. The model echoes.
    """
    await scene.gateway.start()
    scene.telegram.say(4, "hello")
    await scene.answered([4])
    assert await scene.gateway.terminate() == 0
    scene.telegram.redeliver()
    for number in ("one", "two", "three"):
        for chat in CHATS:
            scene.telegram.say(chat, f"{number} of {chat}")
    await scene.gateway.start()
    await scene.answered(CHATS, 3)
    for chat in CHATS:
        assert scene.texts(chat) == [f"{n} of {chat}" for n in ("one", "two", "three")]
    scene.once({4: "hello"})
    assert scene.gateway.count("turn") == len(scene.model.answers) == 3 * len(CHATS) + 1
    scene.sound()


async def test_a_stop_drains_what_runs_and_leaves_the_rest_for_the_next_start(scene: Stage):
    scene.model.reply_to("^slow", [Turn([say("The slow answer.")], delay=1.0)])
    await scene.gateway.start()
    scene.telegram.say(1, "slow question")
    await scene.until(lambda: scene.model.answers)
    began = time.monotonic()
    stopping = asyncio.create_task(scene.gateway.terminate())
    await asyncio.sleep(0.3)
    scene.telegram.say(2, "written while it stops")
    assert await stopping == 0
    assert time.monotonic() - began < 9  # the grace is 10 s: it was not needed
    assert scene.texts(1) == ["The slow answer."]
    await scene.gateway.start()
    await scene.answered([1, 2])
    scene.once({1: "The slow answer.", 2: "written while it stops"})
    assert len(scene.model.answers) == 2
    assert await scene.gateway.terminate() == 0
    assert not (scene.gateway.data / "control.sock").exists()
    assert {line["level"] for line in scene.gateway.lines} == {"info"}
    scene.sound()


@pytest.mark.slow
async def test_a_turn_longer_than_the_grace_goes_on_after_the_next_start(scene: Stage):
    scene.model.reply_to("^slow", [[Turn([say("lost")], delay=60), "The answer."]])
    await scene.gateway.start()
    scene.telegram.say(1, "slow question")
    await scene.until(lambda: scene.model.answers)
    began = time.monotonic()
    assert await scene.gateway.terminate() == 0
    assert time.monotonic() - began < 25  # the grace of turns, and that of what they send
    await scene.gateway.start()
    await scene.answered([1])
    scene.once({1: "The answer."})
    scene.sound()


async def test_chat_takes_the_role_itself_where_nothing_runs(scene: Stage):
    done = await scene.gateway.command("chat", "--user", "alice", "hello alone")
    assert (done.code, done.err, done.out) == (0, "", "hello alone\n")
    await scene.settled()
    scene.sound()
