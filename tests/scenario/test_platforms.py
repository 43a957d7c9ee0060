"""One gateway, three platforms at once: the same conversation on each, as each does it best."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.contract.rigs.base import Shown
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


async def asked(stage: Platforms, name: str, before: int, label: str) -> Shown:
    """The question with such a button, once the turn waits for it."""

    def look() -> Shown | None:
        found = [m for m in stage.rigs[name].visible()[before:] if label_of(m, label)]
        return found[-1] if found else None

    found: Shown = await stage.until(look)
    await stage.until(lambda: stage.gateway.count("turn", "status = 'waiting'"))
    return found


def label_of(message: Shown, words: str) -> str:
    """The label of the button that has these words; empty for none."""
    return next((b for b in message.buttons if words in b), "")


@pytest.mark.parametrize("name", NAMES)
async def test_a_choice_by_button_goes_on_with_the_turn(three: Platforms, name: str) -> None:
    """The question then says what was chosen, and has no buttons any more."""
    assert three.model is not None
    rig = three.rigs[name]
    before = len(rig.visible())
    options = {"question": "Which share?", "options": ["AAPL", "MSFT"]}
    answer = f"You chose, {name}."
    three.model.reply_to(f"Choose for {name}", [Turn([call("ask_user", options)]), answer])
    await rig.say(f"Choose for {name}")
    question = await asked(three, name, before, "MSFT")
    assert "Which share?" in question.text
    await rig.press(label_of(question, "MSFT"))
    await three.until(lambda: rig.visible()[-1].text == answer)
    first, last = (await three.said(name, before + 2))[before:]
    assert first.id == question.id
    assert "MSFT" in first.text
    assert first.buttons == last.buttons == ()
    await rig.answered()
    calls = three.model.matching(r"POST /v1/messages$")
    assert "MSFT" in json.dumps(calls[-1].params["messages"][-1])


@pytest.mark.parametrize("name", NAMES)
async def test_a_payment_runs_once_after_a_yes(three: Platforms, name: str) -> None:
    assert three.model is not None
    rig = three.rigs[name]
    before = len(rig.visible())
    bill = {"label": f"rent-{name}"}
    three.model.reply_to(f"Pay for {name}", [Turn([call("pay", bill)]), f"Paid, {name}."])
    await rig.say(f"Pay for {name}")
    question = await asked(three, name, before, "Approve")
    assert three.plugin.traces("payments").count(bill["label"]) == 0
    await rig.press(label_of(question, "Approve"))
    await three.until(lambda: rig.visible()[-1].text == f"Paid, {name}.")
    first, last = (await three.said(name, before + 2))[before:]
    assert first.id == question.id
    assert first.buttons == last.buttons == ()
    assert three.plugin.traces("payments").count(bill["label"]) == 1


@pytest.mark.parametrize("name", ["slack", "discord"])
async def test_a_payment_is_edited_in_a_dialog_before_the_yes(three: Platforms, name: str) -> None:
    assert three.model is not None
    rig = three.rigs[name]
    before = len(rig.visible())
    bill = {"label": f"water-{name}"}
    three.model.reply_to(f"Settle for {name}", [Turn([call("pay", bill)]), f"Settled, {name}."])
    await rig.say(f"Settle for {name}")
    question = await asked(three, name, before, "Edit")
    await rig.press(label_of(question, "Edit"))
    if name == "slack":
        view = await three.until(lambda: three.slack.twin.view)
        (label,) = (b["label"]["text"] for b in view["blocks"] if b["type"] == "input")
        three.slack.twin.submit({label: f"gas-{name}"})
    else:
        pressed = three.discord.pressed
        assert pressed is not None
        modal = await three.until(lambda: pressed.modal)
        (part,) = modal["components"][0]["components"]
        three.discord.twin.submit(pressed, **{part["custom_id"]: f"gas-{name}"})
    await three.until(lambda: rig.visible()[-1].text == f"Settled, {name}.")
    await three.settled()
    paid = three.plugin.traces("payments")
    assert (paid.count(f"gas-{name}"), paid.count(bill["label"])) == (1, 0)


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
