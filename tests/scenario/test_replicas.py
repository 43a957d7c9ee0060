"""Two gateways on one PostgreSQL with one Telegram bot: one polls, both answer, and the other goes on after a kill."""

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.databases import create_database
from tests.scenario.process import Gateway
from tests.scenario.stage import Stage, stage

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(120)]
TAKEN_OVER_S = 10.0


@pytest_asyncio.fixture
async def scene(postgres_server: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path, database=create_database(postgres_server)) as made:
        yield made


def beside(scene: Stage, folder: Path) -> Gateway:
    """A second gateway of the same installation, with a data folder of its own."""
    folder.mkdir()
    one = scene.gateway
    settings = one.settings | {"presets_dir": str(one.folder / "presets")}
    return Gateway(folder, json.loads(json.dumps(settings)), one.env)


async def test_a_second_gateway_stands_by_and_takes_the_poller_over_after_a_kill(
    scene: Stage, tmp_path: Path
):
    scene.model.reply_to("^question", ["answered"])
    await scene.gateway.start()
    other = beside(scene, tmp_path / "other")
    await other.start()
    scene.telegram.say(1, "question 1")
    await scene.answered([1])
    await scene.gateway.kill()
    began = time.monotonic()
    scene.telegram.say(2, "question 2")
    await scene.telegram.wait_replies(2, 1, 30.0)
    took = time.monotonic() - began
    print(f"\n  answered by the other {took:.1f} s after the kill")
    assert took < TAKEN_OVER_S
    scene.once({1: "answered", 2: "answered"})
    assert scene.telegram.violations == []
    await scene.gateway.start()  # it stands by now
    scene.telegram.say(3, "question 3")
    await scene.telegram.wait_replies(3, 1, 30.0)
    assert await other.terminate() == 0
    scene.telegram.say(4, "question 4")
    await scene.answered([4])
    scene.once(dict.fromkeys(range(1, 5), "answered"))
    assert await scene.gateway.terminate() == 0
    scene.sound()
