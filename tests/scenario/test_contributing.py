"""The recipes of CONTRIBUTING are followed word by word in a copy of the repository; what they add works in a chat."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.architecture.sources import ROOT, tracked
from tests.readme_text import CONTRIBUTING, Readme
from tests.scenario.readme_follower import BIN, Follower
from tests.twins.llm_script import Turn, say
from tests.twins.openai import OpenAITwin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GROWTH = "compound interest on 1000 at 5% for 10 years"
GROWN = "1628.89"
LEFT_OUT = {"bench", "browser", "fixtures", "property"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The repository, as far as the recipes and their commands look at it."""
    folder = tmp_path / "copy"
    for path in tracked():
        if not LEFT_OUT & set(path.parts):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)
    return folder


@pytest_asyncio.fixture
async def model() -> AsyncIterator[OpenAITwin]:
    async with OpenAITwin() as twin:
        yield twin
        assert twin.violations == []


async def test_whoever_follows_the_recipes_gets_what_they_promise(
    copy: Path, tmp_path: Path, model: OpenAITwin
) -> None:
    page, site = Readme(CONTRIBUTING), tmp_path / "site"
    follower = Follower(
        page,
        copy,
        copy,
        site,
        PATH=f"{BIN}:/usr/bin:/bin",
        SWARMGATE__MODELS__PROVIDERS__EXAMPLE__BASE_URL=f"{model.url}/v1",
    )
    python = f"{sys.executable} -m"
    follower.installed |= {
        "make docs": f"{python} tests.tool_table",
        "make test PYTEST_ARGS=": f"{python} pytest ",
        "pip install": f"{python} pip install --no-build-isolation --no-index --target {site}",
    }
    try:
        await a_tool(follower)
        await a_preset(follower)
        await a_source(follower)
        await a_channel(follower)
        await commands(follower)
        await a_provider(follower, model)
    finally:
        await follower.close()
    assert follower.followed == list(page.steps)


async def a_tool(follower: Follower) -> None:
    follower.writes("tool")
    for step in ("toolbox", "errand", "arguments", "told", "words"):
        follower.changes(step)
    await follower.types("docs")
    assert "| `compound_interest` | 复利 |" in (follower.folder / "README.zh-CN.md").read_text()
    follower.writes("tool_test")
    await follower.types("tool_tests")


async def a_preset(follower: Follower) -> None:
    follower.writes("preset")
    follower.writes("prompt")
    follower.changes("told_en")
    follower.changes("told_zh")
    await follower.types("judged")
    assert GROWN in await follower.asks(GROWTH, SWARMGATE__PRESET="savings-desk")


async def a_source(follower: Follower) -> None:
    follower.writes("source")
    follower.changes("kind")
    follower.writes("source_on")
    await follower.types("source_well")
    answer = await follower.asks("How did IBM do in 2012?")
    assert "almanac" in answer
    assert "77.25" in answer


async def a_channel(follower: Follower) -> None:
    follower.writes("channel")
    follower.writes("package")
    await follower.types("installed")
    follower.writes("channel_on")
    await follower.types("channel_well")
    await follower.types("channel_said")
    heard = follower.folder / "chat" / "heard"
    async with asyncio.timeout(60):
        while not heard.exists() or not heard.read_text("utf-8").endswith("\n"):
            await asyncio.sleep(0.1)
    reply = json.loads(heard.read_text("utf-8"))
    assert reply["to"] == "file:desk:1"
    assert GROWN in reply["text"]
    await follower.stops()


async def commands(follower: Follower) -> None:
    for step in ("routed", "command", "texts"):
        follower.changes(step)
    follower.writes("shell")
    follower.changes("registered")
    await follower.types("shell_typed")
    assert "Swarmgate, with 13 presets." in await follower.asks("/about")
    assert "/about — what this is" in await follower.asks("/help")


async def a_provider(follower: Follower, model: OpenAITwin) -> None:
    follower.changes("provider")
    follower.stands_for["…"] = "key-0123456789"
    model.script(Turn([say("Hello from the new provider.")]))
    await follower.types("provider_asked")
    # What was said before may be learnt from in the same moment.
    assert any(call.said.endswith("hello") for call in model.finished)
