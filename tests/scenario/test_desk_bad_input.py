"""What goes wrong at a desk, through the chat: names that fit two shares or none, and addresses and paths of ours."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.scenario.desk import PRESET
from tests.scenario.stage import Stage, stage
from tests.twins.llm_script import Turn, call
from tests.twins.telegram_state import Stored

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A desk in Telegram."""
    folder = tmp_path_factory.mktemp("desk")
    async with stage(folder, preset="desk") as made:
        (folder / "presets" / "desk.yaml").write_text(PRESET, "utf-8")
        await made.gateway.start()
        yield made
        await made.settled()
        made.sound()


async def asked(scene: Stage, chat: int) -> Stored:
    """The message with buttons."""

    def look() -> Stored | None:
        return next((m for m in scene.telegram.replies(chat) if m.buttons), None)

    found: Stored = await scene.until(look)
    await scene.until(lambda: scene.gateway.count("turn", "status = 'waiting'"))
    return found


@pytest.mark.parametrize(
    ("chat", "words", "near", "asks", "answer"),
    [
        (
            1,
            "China Merchants",
            ("600036.SH", "001979.SZ"),
            "Which one do you mean?",
            "There are no prices of it here.",
        ),
        (2, "平安", ("601318.SH", "000001.SZ"), "您指哪一只？", "这里没有它的行情。"),
    ],
)
async def test_a_name_of_two_shares_is_asked_about_by_buttons(
    scene: Stage, chat: int, words: str, near: tuple[str, str], asks: str, answer: str
) -> None:
    """Nothing is guessed: the tool names both, the person chooses, and what has no prices is said to have none."""
    choice = {"question": asks, "options": near}
    scene.model.reply_to(
        f"^{words}",
        [
            Turn([call("analyze_stock", {"symbol": words})]),
            Turn([call("ask_user", choice)]),
            Turn([call("analyze_stock", {"symbol": near[0]})]),
            answer,
        ],
    )
    scene.telegram.say(chat, words)
    question = await asked(scene, chat)
    assert asks in question.text
    assert [b["text"] for b in question.buttons] == [
        f"{n}. {code}" for n, code in enumerate(near, 1)
    ]
    (told,) = scene.results(words)
    assert "ask_user" in told
    assert all(code in told for code in near)
    scene.telegram.press(chat, question.id, f"1. {near[0]}")
    await scene.until(lambda: answer in scene.texts(chat))
    await scene.settled()
    first, last = scene.texts(chat)
    assert near[0] in first
    assert last == answer
    assert "AAPL, GOOG, IBM, MSFT" in scene.results(words)[-1], "it says what there is"


@pytest.mark.parametrize(
    ("tool", "args", "why"),
    [
        ("web_fetch", {"url": "http://169.254.169.254/latest/meta-data/"}, "link-local"),
        ("web_fetch", {"url": "http://[::ffff:169.254.169.254]/"}, "169.254.169.254"),
        ("web_fetch", {"url": "http://localhost:8080/console"}, "8080"),
        ("read_file", {"path": "../../swarmgate.yaml"}, ".."),
        ("read_file", {"path": "/etc/passwd"}, "Only paths within the workspace"),
        ("write_file", {"path": "../out.md", "content": "x"}, ".."),
    ],
)
async def test_what_is_ours_is_refused_in_one_line_and_nobody_is_asked(
    scene: Stage, tool: str, args: dict[str, Any], why: str
) -> None:
    """Metadata addresses, this machine, paths out of the workspace: before anything is sent, opened or approved."""
    words = f"{tool} {' '.join(args.values())}"
    chat = 100 + len(words)  # of its own: all are of different lengths
    scene.model.reply_to(f"^{re.escape(words)}$", [Turn([call(tool, args)]), "That was refused."])
    before = scene.gateway.count("question")
    scene.telegram.say(chat, words)
    await scene.answered([chat])
    assert scene.texts(chat) == ["That was refused."]
    (told,) = scene.results(words)
    assert why in told
    assert "\n" not in told.strip()
    assert "Traceback" not in told
    assert str(scene.gateway.folder) not in told
    assert scene.gateway.count("question") == before
    assert "meta-data" not in json.dumps(scene.gateway.lines)
