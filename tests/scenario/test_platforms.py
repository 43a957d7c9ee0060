"""One gateway, three platforms at once: the same conversation on each, as each does it best."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.scenario.platforms import Platforms, platforms
from tests.twins.llm_script import Turn, call, say

NAMES = ["telegram", "slack", "discord"]
DATES = {"symbol": "GOOG", "start": "2012", "end": "2012"}
GROUP = -100


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def three(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Platforms]:
    """Started, for all tests of this module but those that kill it."""
    async with platforms(tmp_path_factory.mktemp("three")) as made:
        await made.start()
        yield made
        await made.settled()
        made.sound()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def states(stage: Platforms, name: str) -> list[str]:
    """Every state of a reply that people saw at a platform, drafts and edits, oldest first."""
    if name == "telegram":
        return stage.telegram.twin.state.chat(5).draft_log
    if name == "slack":
        return [text for post in stage.slack.twin.replies("D1") for text in post.texts]
    sent = stage.discord.twin.matching(r"(POST|PATCH) .*/messages")  # steps stand in an embed
    return [json.dumps(c.params, ensure_ascii=False) for c in sent]


@pytest.mark.parametrize("name", NAMES)
async def test_help_lists_the_commands(three: Platforms, name: str) -> None:
    before = len(three.rigs[name].visible())
    await three.rigs[name].say("/help")
    shown = await three.said(name, before + 1)
    assert "/new" in shown[-1].text
    assert "/preset" in shown[-1].text
    assert len(shown) == before + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
async def test_a_question_shows_its_steps_and_becomes_one_answer_with_a_chart(
    three: Platforms, name: str
) -> None:
    """Streaming, a sub-agent and a chart; the preview leaves nothing behind."""
    assert three.model is not None
    words = f"How did GOOG do in 2012? Ask of {name}."
    answer = f"GOOG rose in 2012, says {name}. " + "It went on in many words. " * 12
    three.model.reply_to(
        f"Ask of {name}",
        [
            Turn([say("One moment."), call("delegate_to_analysis", {"task": f"Task of {name}"})]),
            Turn([say(answer)], gap=0.2),
        ],
    )
    three.model.reply_to(
        f"^Task of {name}",
        [
            Turn([call("analyze_stock", DATES)], delay=1.2),
            Turn([call("chart", DATES)], delay=1.5),
            Turn([say("It rose.")], delay=1.5),
        ],
    )
    rig = three.rigs[name]
    before = rig.visible()
    await rig.say(words)
    await three.until(lambda: any(f.startswith(b"\x89PNG") for m in rig.visible() for f in m.files))
    shown = (await three.said(name, len(before) + 1))[len(before) :]
    told = "\n".join(m.text for m in shown)
    assert told.count(answer.strip()) == 1
    assert "One moment." not in told
    assert [b for m in shown for b in m.buttons] == []
    assert sum(f.startswith(b"\x89PNG") for m in shown for f in m.files) == 1
    assert len(shown) <= 2  # the text, and where the platform has files apart, the chart
    assert rig.preview() == ""
    seen = states(three, name)
    assert any("Analyst" in text for text in seen), "progress names the sub-agent"
    assert any("GOOG rose" in text and answer.strip() not in text for text in seen), "it streams"


@pytest.mark.parametrize("name", NAMES)
async def test_a_file_is_read(three: Platforms, name: str) -> None:
    assert three.model is not None
    rig = three.rigs[name]
    before = len(rig.visible())
    question = f"What is the sum? Ask the file of {name}."
    three.model.reply_to(f"file of {name}", [f"The sum for {name} is 42."])
    await rig.attach("numbers.csv", f"what,n\nplum-{name},40\npear,2\n".encode(), question)
    shown = await three.said(name, before + 1)
    assert [m.text for m in shown[before:]] == [f"The sum for {name} is 42."]
    calls = three.model.matching(r"POST /v1/messages$")
    assert any(f"plum-{name}" in str(c.params) for c in calls)


@pytest.mark.parametrize("name", ["slack", "discord"])
async def test_stop_by_button(three: Platforms, name: str) -> None:
    assert three.model is not None
    rig = three.rigs[name]
    before = len(rig.visible())
    three.model.reply_to(f"Long story of {name}", [Turn([say("word " * 2000)], gap=0.05)])
    await rig.say(f"Long story of {name}")
    await three.until(lambda: any("Stop" in m.buttons for m in rig.visible()[before:]))
    await three.until(lambda: "word" in rig.visible()[-1].text)
    await rig.press("Stop")
    await three.until(lambda: "Stopped" in rig.visible()[-1].text)
    shown = await three.said(name, before + 1)
    assert len(shown) == before + 1
    assert shown[-1].buttons == ()
    await rig.answered()


async def test_stop_by_button_in_a_group_of_telegram(three: Platforms) -> None:
    """A draft in a private chat has no buttons (Bot API, sendMessageDraft); a message in a group has."""
    assert three.model is not None
    twin = three.telegram.twin
    twin.group(GROUP)
    three.model.reply_to("Long story of a group", [Turn([say("word " * 2000)], gap=0.05)])
    twin.say(GROUP, "@swarm_bot Long story of a group", user=5)
    message = await three.until(lambda: next((m for m in twin.replies(GROUP) if m.buttons), None))
    await three.until(lambda: "word" in message.text)
    twin.press(GROUP, message.id, "Stop", user=5)
    await three.until(lambda: "Stopped" in message.text)
    await three.settled()
    assert [(m.id, m.buttons) for m in twin.replies(GROUP)] == [(message.id, [])]


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_killed_while_it_answers_everywhere_each_chat_gets_one_answer(tmp_path: Path) -> None:
    async with platforms(tmp_path) as stage:
        assert stage.model is not None
        answers = {name: f"This is the answer for {name}." for name in NAMES}
        for name in NAMES:
            slow = Turn([say("half of an answer " * 1000)], gap=0.05)
            stage.model.reply_to(f"^question of {name}$", [[slow, answers[name]]])
        await stage.start()
        for name in NAMES:
            await stage.rigs[name].say(f"question of {name}")
        await stage.until(lambda: all("half" in seen(stage, name) for name in NAMES))
        await asyncio.sleep(0.3)  # the ids of what is visible are written down
        await stage.gateway.kill()
        await stage.start()
        await stage.until(lambda: all(answers[n] in seen(stage, n) for n in NAMES))
        await stage.settled()
        for name in NAMES:
            assert [m.text for m in stage.rigs[name].visible()] == [answers[name]]
            assert stage.rigs[name].preview() == ""
        stage.sound()


def seen(stage: Platforms, name: str) -> str:
    """All that a person sees at a platform now."""
    rig = stage.rigs[name]
    return "\n".join([rig.preview(), *(m.text for m in rig.visible())])
