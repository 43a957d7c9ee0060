"""A fixed plan on the real process: SIGKILL in the middle of a step, and everything that was finished is kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.scenario.stage import Stage, stage
from tests.twins.llm_script import Turn, say

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CHATS = range(1, 4)
LONG = 60.0  # seconds that a model hangs until the kill
PLAN = """
version: 1
name: plan
title: Plan
inputs: {topic: {type: text, required: true}}
supervisor: {role: Lead, prompt: You lead., tools: [], limits: {time: 5m}}
agents:
  facts: {role: Facts, prompt: You collect., tools: []}
  bull: {role: Bull, prompt: You hope., tools: []}
  bear: {role: Bear, prompt: You fear., tools: []}
flow:
  - {id: collect, delegate: facts, task: "collect about {{ inputs.topic }}"}
  - id: argue
    parallel:
      - {delegate: bull, task: "hope about {{ inputs.topic }}"}
      - {delegate: bear, task: "fear about {{ inputs.topic }}"}
  - {answer: true}
"""


@pytest_asyncio.fixture
async def planned(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage with the plan as its preset."""
    async with stage(tmp_path, preset="plan") as made:
        (tmp_path / "presets" / "plan.yaml").write_text(PLAN, "utf-8")
        yield made


async def test_a_plan_that_is_killed_in_a_step_keeps_what_was_finished(planned: Stage):
    scene = planned
    for chat in CHATS:
        scene.model.reply_to(rf"^collect about chat {chat}$", ["facts"])
        scene.model.reply_to(rf"^hope about chat {chat}$", ["it rises"])
        lost = Turn([say("lost")], delay=LONG)
        scene.model.reply_to(rf"^fear about chat {chat}$", [[lost, "it falls"]])
    scene.model.reply_to("fixed plan of this preset", ["This is the answer."])
    await scene.gateway.start()
    for chat in CHATS:
        scene.telegram.say(chat, f"chat {chat}")
    rows = "select count(*) from session where parent is not null"
    await scene.until(lambda: scene.gateway.rows(rows)[0][0] == 3 * len(CHATS))
    # Facts and bull are paid and stored, bear waits for its model.
    await scene.until(lambda: scene.gateway.count("usage") == 2 * len(CHATS))
    await scene.until(lambda: len(scene.model.answers) == 3 * len(CHATS))
    await scene.gateway.kill()
    await scene.gateway.start()
    await scene.answered(CHATS)
    scene.sound()  # no finished model call was made again
    scene.once(dict.fromkeys(CHATS, "This is the answer."))
    # facts, bull, bear's lost one, bear again, the answer
    assert len(scene.model.answers) == 5 * len(CHATS)
    assert scene.gateway.rows(rows)[0][0] == 3 * len(CHATS)
    assert scene.gateway.count("turn", "status <> 'done'") == 0
