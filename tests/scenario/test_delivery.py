"""Replies on their way: a limited chat, a kill between the parts of a reply, a platform that is away."""

import time

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call, say

GOOG = {"symbol": "GOOG", "start": "2012", "end": "2012"}


@pytest.mark.slow
async def test_a_limited_chat_waits_as_told_and_the_others_go_on(scene: Stage):
    """hermes#102402: the answer comes after retry_after, once; nothing is sent to the chat before."""
    await scene.gateway.start()
    scene.telegram.flood(1, 8.0)
    began = time.monotonic()
    scene.telegram.say(1, "limited")
    await scene.telegram.wait_call(lambda call: call.status == 429, timeout=20)
    scene.telegram.say(2, "free")
    await scene.telegram.wait_replies(2, timeout=20)
    assert scene.texts(1) == []
    await scene.answered([1, 2])
    assert time.monotonic() - began >= 8
    scene.once({1: "limited", 2: "free"})
    refused = scene.telegram.matching(lambda call: call.status == 429)
    assert len(refused) == 1, "typing, previews and the answer all honour one refusal"
    scene.sound()


@pytest.mark.slow
async def test_a_reply_goes_on_with_the_part_that_is_missing(scene: Stage):
    """Killed with the text sent and the chart not: each is there once after the restart."""
    scene.model.reply_to("^chart", [Turn([call("chart", GOOG)]), "Here it is."])
    fault = scene.telegram.fault(r"/sendPhoto$", hang=True)
    await scene.gateway.start()
    scene.telegram.say(1, "/preset solo")
    await scene.telegram.wait_replies(1, timeout=20)
    scene.telegram.delete(1, scene.telegram.replies(1)[0].id)
    scene.telegram.say(1, "chart, please")
    await scene.until(lambda: fault.used_up)
    await scene.gateway.kill()
    assert [m.kind for m in scene.telegram.replies(1)] == ["text"]
    await scene.gateway.start()
    await scene.answered([1], 2)
    assert [m.kind for m in scene.telegram.replies(1)] == ["text", "photo"]
    assert scene.texts(1)[0] == "Here it is."
    scene.sound()


@pytest.mark.slow
async def test_answers_wait_for_a_platform_that_is_away(scene: Stage):
    """Telegram goes away while the model thinks, and comes back: one answer. Nor does a start need it."""
    scene.model.reply_to("^question", [Turn([say("the answer")], delay=1.0)])
    await scene.gateway.start()
    scene.telegram.say(1, "question")
    await scene.until(lambda: scene.model.answers)
    port = int(scene.telegram.url.rpartition(":")[2])
    await scene.telegram.stop()
    await scene.until(lambda: scene.gateway.count("turn", "status = 'done'") == 1)
    assert await scene.gateway.terminate() == 0
    await scene.gateway.start()
    await scene.telegram.start(port)
    await scene.answered([1])
    scene.once({1: "the answer"})
    assert len(scene.model.answers) == 1
    scene.sound()
