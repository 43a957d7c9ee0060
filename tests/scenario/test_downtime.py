"""Stopping, being down, starting again, and the commands that work beside a running gateway."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.scenario.stage import Stage, stage
from tests.twins.llm_script import Turn, say

CHATS = (1, 2, 3)


@pytest_asyncio.fixture
async def private(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage on which strangers need a pairing code."""
    async with stage(tmp_path, access={"default": "pairing"}) as made:
        yield made


async def test_messages_sent_while_it_was_down_are_turns_of_their_own_in_order(scene: Stage):
    """hermes#87040, #41193: also those that Telegram hands over in one batch. The twin's model echoes."""
    await scene.gateway.start()
    assert await scene.gateway.terminate() == 0
    for number in ("one", "two", "three"):
        for chat in CHATS:
            scene.telegram.say(chat, f"{number} of {chat}")
    await scene.gateway.start()
    await scene.answered(CHATS, 3)
    for chat in CHATS:
        assert scene.texts(chat) == [f"{n} of {chat}" for n in ("one", "two", "three")]
    assert scene.gateway.count("turn") == 3 * len(CHATS)
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
    assert time.monotonic() - began < 5
    assert scene.texts(1) == ["The slow answer."]
    await scene.gateway.start()
    await scene.answered([1, 2])
    scene.once({1: "The slow answer.", 2: "written while it stops"})
    assert len(scene.model.answers) == 2
    scene.sound()


@pytest.mark.slow
async def test_a_turn_longer_than_the_grace_goes_on_after_the_next_start(scene: Stage):
    scene.model.reply_to("^slow", [[Turn([say("lost")], delay=60), "The answer."]])
    await scene.gateway.start()
    scene.telegram.say(1, "slow question")
    await scene.until(lambda: scene.model.answers)
    began = time.monotonic()
    assert await scene.gateway.terminate() == 0
    assert time.monotonic() - began < 15
    await scene.gateway.start()
    await scene.answered([1])
    scene.once({1: "The answer."})
    scene.sound()


async def test_an_update_delivered_twice_is_answered_once_also_after_a_restart(scene: Stage):
    """hermes#68502, openclaw#83521."""
    await scene.gateway.start()
    scene.telegram.say(1, "hello")
    await scene.answered([1])
    scene.telegram.redeliver()
    scene.telegram.say(2, "a later one")
    await scene.answered([2])
    assert await scene.gateway.terminate() == 0
    first = min(scene.telegram.state.updates.all)
    scene.telegram.redeliver(first)
    await scene.gateway.start()
    scene.telegram.say(2, "the latest one")
    await scene.answered([2], 2)
    scene.once({1: "hello"})
    assert len(scene.model.answers) == 3
    scene.sound()


async def test_a_second_run_is_refused_in_one_line(scene: Stage):
    await scene.gateway.start()
    done = await scene.gateway.command("run")
    assert done.code == 2
    (said,) = done.problems
    assert said["level"] == "error"
    assert re.search(r"another swarmgate is running on .*; stop it first", said["event"])
    scene.telegram.say(1, "still there?")
    await scene.answered([1])
    scene.sound()


async def test_chat_beside_a_running_gateway_goes_through_it(scene: Stage):
    await scene.gateway.start()
    done = await scene.gateway.command("chat", "--user", "alice", "--json", "hello from here")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["text"] == "hello from here"
    assert (scene.gateway.data / "control.sock").stat().st_mode & 0o777 == 0o600
    assert scene.gateway.count("inbox", "channel = 'terminal'") == 1
    scene.sound()


async def test_chat_takes_the_role_itself_where_nothing_runs(scene: Stage):
    done = await scene.gateway.command("chat", "--user", "alice", "hello alone")
    assert (done.code, done.err, done.out) == (0, "", "hello alone\n")
    await scene.settled()
    scene.sound()


async def test_a_stranger_is_let_in_beside_the_running_gateway(private: Stage):
    await private.gateway.start()
    private.telegram.say(5, "hello?")
    (told,) = await private.telegram.wait_replies(5)
    code = re.findall(r"\b[A-Z]{4}-\d{4}\b", told.text)[0]
    assert private.model.answers == []
    wrong = await private.gateway.command("users", "approve", "AAAA-0000")
    assert wrong.code == 1
    done = await private.gateway.command("users", "approve", code)
    assert done.code == 0, done.err
    private.telegram.say(5, "and now?")
    private.telegram.say(6, "me too?")
    await private.answered([5], 2)
    await private.answered([6], 1)
    assert private.texts(5)[1] == "and now?"
    assert code not in private.texts(6)[0]
    assert len(private.model.answers) == 1
    private.sound()


async def test_a_stopped_gateway_leaves_no_socket_and_no_lock(scene: Stage):
    await scene.gateway.start()
    await scene.gateway.kill()
    await scene.gateway.start()  # neither a stale socket nor a stale lock stands in the way
    assert await scene.gateway.terminate() == 0
    assert not (scene.gateway.data / "control.sock").exists()
    levels = {line["level"] for line in scene.gateway.lines}
    assert levels <= {"info"}, scene.gateway.log()
