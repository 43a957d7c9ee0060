"""Each README is followed word by word, from two commands to a bot in Telegram and an edited preset (8 of 8, 7)."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.readme_text import CHINESE, ENGLISH, Readme
from tests.scenario.readme_follower import Follower
from tests.scenario.web_person import WebPerson
from tests.twins.telegram import TelegramTwin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALICE = 301
DEMO = re.compile(r"demo planner|演示 demo")
CODE = re.compile(r"\b[A-Z0-9]{4}-[A-Z0-9]{4}\b")
# By README: which of the questions is asked again and again, and who is seen at work after the edit.
READERS = [(ENGLISH, 0, "Trend reader"), (CHINESE, 1, "趋势分析师")]


@pytest_asyncio.fixture
async def telegram() -> AsyncIterator[TelegramTwin]:
    async with TelegramTwin() as twin:
        assert isinstance(twin, TelegramTwin)
        yield twin
        assert twin.violations == []


@pytest.mark.parametrize(("file", "mine", "renamed"), READERS, ids=["en", "zh"])
async def test_whoever_follows_it_gets_answers_a_telegram_bot_and_an_edited_preset(
    tmp_path: Path, telegram: TelegramTwin, file: Path, mine: int, renamed: str
) -> None:
    readme = Readme(file)
    follower = Follower(
        readme,
        tmp_path,
        SWARMGATE__CHANNELS__TELEGRAM__BASE_URL=telegram.base_url,
        SWARMGATE__CHANNELS__TELEGRAM__BASE_FILE_URL=telegram.base_file_url,
    )
    follower.stands_for["TELEGRAM_BOT_TOKEN=…"] = f"TELEGRAM_BOT_TOKEN={telegram.token}"
    try:
        questions = await two_commands(follower)
        await a_bot_in_telegram(follower, telegram, questions[mine])
        await an_edited_preset(follower, questions[mine], renamed)
        await follower.types("backup")
        assert (follower.folder / "before.swarmgate").stat().st_size > 0
        await follower.stops()
    finally:
        await follower.close()
    assert follower.followed == list(readme.steps)


async def two_commands(follower: Follower) -> tuple[str, ...]:
    """An answer to each of the questions in the web chat. Returns these."""
    await follower.types("demo")
    questions = follower.block("ask").bare
    async with WebPerson(follower.server) as person:
        for count, question in enumerate(questions, 1):
            await person.say(question)
            answer = (await person.messages(count))[-1]
            assert grounded(answer["text"]), answer
            assert pictures(answer), answer
    await follower.stops()
    return questions


async def a_bot_in_telegram(follower: Follower, telegram: TelegramTwin, question: str) -> None:
    """From an empty folder to a stranger who is let in and answered; the bot is left running."""
    await follower.types("init")
    follower.edits("settings", "swarmgate.yaml")
    await follower.types("telegram")
    telegram.say(ALICE, question)
    [shown] = await telegram.wait_replies(ALICE, 1, 30.0)
    code = CODE.search(shown.text)
    assert code, shown.text
    assert not grounded(shown.text)
    follower.stands_for["ABCD-1234"] = code[0]
    await follower.types("pair")
    telegram.say(ALICE, question)
    replies = await telegram.wait_replies(ALICE, 2, 30.0)
    assert grounded(replies[-1].text), replies


async def an_edited_preset(follower: Follower, question: str, renamed: str) -> None:
    """A preset of one's own answers like its base, and by its edit with the next message."""
    await follower.types("preset")
    async with WebPerson(follower.server) as person:
        await person.say("/preset my-desk")
        await person.messages(1)
        await person.say(question)
        before = (await person.messages(2))[-1]
        said = len(follower.server.lines)
        follower.writes("edit", "presets/my-desk.yaml")
        await follower.types("validate")
        await follower.server.said("presets_reloaded", after=said)
        await person.say(question)
        after = (await person.messages(3))[-1]
    assert grounded(before["text"])
    assert grounded(after["text"])
    assert pictures(before) > 0
    assert pictures(after) == 0
    assert renamed not in workers(before)
    assert renamed in workers(after)


def grounded(text: str) -> bool:
    """Whether it has figures, and says that the demo planner wrote it."""
    return bool(DEMO.search(text)) and len(re.findall(r"\d+\.\d+", text)) > 5


def pictures(message: dict[str, Any]) -> int:
    return sum(file["media_type"] == "image/png" for file in message["files"])


def workers(message: dict[str, Any]) -> str:
    """Who was at work, and with what."""
    return " ".join(step["label"] for step in message["steps"])
