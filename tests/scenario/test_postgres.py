"""The same gateway on PostgreSQL: an answer, kills, and engines that do not share a database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.databases import create_database
from tests.scenario.stage import Stage, stage
from tests.twins.llm_script import Turn, call, say

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(120)]

CHATS = range(1, 11)
ANSWERS = {chat: f"answer for chat {chat}" for chat in CHATS}


@pytest_asyncio.fixture
async def scene(postgres_server: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path, database=create_database(postgres_server)) as made:
        yield made


def script(scene: Stage, chat: int, first: Turn) -> None:
    """A first call whose answer is lost, then the answer; after a tool call the answer is the second turn."""
    answer = ANSWERS[chat]
    turns = [first, answer] if first.ends == "tool_use" else [[first, answer]]
    scene.model.reply_to(f"^question {chat}$", turns)


async def test_beside_an_embedded_engine_a_second_gateway_is_refused(
    postgres_server: str, tmp_path: Path
):
    database = create_database(postgres_server)
    async with stage(tmp_path, database=database, engine={"kind": "local"}) as scene:
        await is_answered(scene)
        other = tmp_path / "other"
        other.mkdir()
        env = {"SWARMGATE__DATA_DIR": str(other)}
        done = await scene.gateway.command("run", env=env)
        assert done.code == 2
        assert "another swarmgate is running on this database; stop it" in done.problems[0]["event"]
        done = await scene.gateway.command("run", env=env | {"SWARMGATE__ENGINE__KIND": "auto"})
        assert done.code == 2
        assert "shares this database with nobody" in done.problems[0]["event"]
        assert await scene.gateway.terminate() == 0
        scene.sound()


async def test_a_question_is_answered_and_an_engine_for_one_is_refused(
    scene: Stage, tmp_path: Path
):
    await is_answered(scene)
    other = tmp_path / "other"
    other.mkdir()
    env = {"SWARMGATE__DATA_DIR": str(other), "SWARMGATE__ENGINE__KIND": "local"}
    done = await scene.gateway.command("run", env=env)
    assert done.code == 2
    assert (
        "another swarmgate is running on this database; stop it first" in done.problems[0]["event"]
    )
    assert await scene.gateway.terminate() == 0
    scene.sound()


async def is_answered(scene: Stage) -> None:
    look = Turn([call("slow_look", {"label": "x"})])
    scene.model.reply_to("^question 1$", [look, ANSWERS[1]])
    await scene.gateway.start()
    scene.telegram.say(1, "question 1")
    scene.telegram.redeliver()
    await scene.answered([1])
    scene.once({1: ANSWERS[1]})
    assert scene.gateway.count("usage") == 2
    assert not (scene.gateway.data / "swarmgate.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before the model call", "in the stream", "after the intent"])
async def test_ten_chats_survive_a_kill(scene: Stage, moment: str):
    first = {
        "before the model call": Turn([say("lost")], delay=60),
        "in the stream": Turn([say("half of it " * 2000)], gap=0.05),
        "after the intent": Turn([call("order_goods", {"label": "order"})]),
    }[moment]
    for chat in CHATS:
        script(scene, chat, first)
    scene.plugin.hold()
    await scene.gateway.start()
    for chat in CHATS:
        scene.telegram.say(chat, f"question {chat}")
    reached = {
        "before the model call": lambda: len(scene.model.answers) == len(CHATS),
        "in the stream": lambda: all("half" in (scene.telegram.draft(c) or "") for c in CHATS),
        "after the intent": lambda: len(scene.plugin.traces("orders")) == len(CHATS),
    }[moment]
    await scene.until(reached)
    await scene.gateway.kill()
    scene.plugin.release()
    for chat in CHATS:
        scene.telegram.say(chat, f"while down {chat}")
    await scene.gateway.start()
    await scene.answered(CHATS, 2)
    for chat in CHATS:
        assert scene.texts(chat) == [ANSWERS[chat], f"while down {chat}"]
    scene.sound()
    if moment == "after the intent":
        assert len(scene.plugin.traces("orders")) == len(CHATS)
        assert all(r.startswith("Outcome unknown") for r in scene.results('"question '))
