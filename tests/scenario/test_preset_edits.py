"""A preset is edited while people talk to the bot: what runs ends as it began, what comes next uses the edit, and a
wrong edit changes nothing and says what is wrong (issue "5 of 8", item 9; guide "presets", 8)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.scenario.plugin import PRESET
from tests.scenario.stage import Stage
from tests.scenario.web_person import WebPerson
from tests.twins.llm_script import Turn, call

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPERATOR = 900
EDITED = (
    PRESET.replace("You lead.", "You lead anew.")
    .replace("[order_goods, slow_look, pay,", "[slow_look, pay,")
    .replace("tool_rounds: 10", "tool_rounds: 1", 1)
)
WRONG = EDITED.replace("supervisor:", "supervisr:")
PLACE = "scenario.yaml:6:1"  # where that is written


@dataclass
class Chat:
    """A person in a chat of some channel, and how many messages of the bot there were."""

    say: Callable[[str], Awaitable[None]]
    texts: Callable[[int], Awaitable[list[str]]]
    count: int = 0

    async def ask(self, words: str) -> str:
        await self.say(words)
        return await self.answer()

    async def answer(self) -> str:
        """The next message of the bot."""
        self.count += 1
        return (await self.texts(self.count))[-1]


@dataclass
class Edits:
    """The preset file, and what the gateway's log says of it."""

    stage: Stage

    async def write(self, text: str, event: str) -> dict[str, Any]:
        """As editors do it: a new file takes the place of the old one. Returns the event that follows."""
        lines = self.stage.gateway.lines
        before = len(lines)
        file = self.stage.gateway.folder / "presets" / "scenario.yaml"
        new = file.with_suffix(".tmp")
        new.write_text(text, "utf-8")
        new.replace(file)
        await self.stage.gateway.said(event, after=before)
        return next(line for line in lines[before:] if line["event"] == event)

    def seen(self, words: str) -> tuple[str, set[str]]:
        """The system text and the tools of the newest request with these words."""
        request = self.stage.requests(words)[-1]
        system = " ".join(block["text"] for block in request["system"])
        return system, {tool["name"] for tool in request["tools"]}


async def went(stage: Stage, chat: Chat, name: str) -> None:
    """The whole of it, in one chat."""
    edits = Edits(stage)
    lead = [Turn([call("order_goods", {"label": f"a{name}"})])]
    lead += [Turn([call("slow_look", {"label": f"b{name}"})])]
    stage.model.reply_to(f"^order {name}", lead)
    stage.plugin.hold()
    try:
        await chat.say(f"order {name}")
        await stage.until(lambda: f"a{name}" in stage.plugin.traces("orders"))
        assert (await edits.write(EDITED, "presets_reloaded"))["changed"] == ["scenario"]
    finally:
        stage.plugin.release()

    # It ends as it began: its prompt, its tools, and more rounds than the edit allows.
    assert await chat.answer() == f"order {name}"
    system, tools = edits.seen(f"order {name}")
    assert "You lead." in system
    assert "order_goods" in tools
    assert stage.results(f"order {name}") == [f"ordered a{name}", f"seen b{name}"]

    # The next one uses the edit, of which one round is all.
    both = [call("order_goods", {"label": f"c{name}"}), call("slow_look", {"label": f"d{name}"})]
    more = [call("slow_look", {"label": f"e{name}"})]
    stage.model.reply_to(f"^next {name}", [Turn(both), Turn(more)])
    assert (await chat.ask(f"next {name}")).startswith(f"next {name}")
    system, tools = edits.seen(f"next {name}")
    assert "You lead anew." in system
    assert "order_goods" not in tools
    assert f"c{name}" not in stage.plugin.traces("orders")
    assert f"d{name}" in stage.plugin.traces("looks")
    assert f"e{name}" not in stage.plugin.traces("looks")

    # A wrong edit is told with its place, and the last good one goes on.
    problem = await edits.write(WRONG, "preset_problem")
    assert problem["file"] == "scenario.yaml"
    assert (problem["line"], problem["column"]) == (6, 1)
    assert "did you mean `supervisor`?" in problem["cure"]
    assert PLACE in await chat.ask("/preset")
    assert await chat.ask(f"still {name}") == f"still {name}"
    assert "You lead anew." in edits.seen(f"still {name}")[0]

    # Repaired, nothing is wrong any more.
    await edits.write(PRESET, "presets_reloaded")
    assert PLACE not in await chat.ask("/preset")
    await chat.ask(f"mended {name}")
    assert "You lead." in edits.seen(f"mended {name}")[0]


async def test_in_telegram(shared: Stage) -> None:
    async def say(words: str) -> None:
        shared.telegram.say(201, words)

    async def texts(count: int) -> list[str]:
        await shared.answered([201], count)
        return shared.texts(201)

    shared.telegram.say(OPERATOR, "hello")
    await shared.answered([OPERATOR])
    await went(shared, Chat(say, texts), "201")
    (told,) = [text for text in shared.texts(OPERATOR) if "scenario.yaml" in text]
    assert PLACE in told
    assert "supervisor" in told


async def test_in_the_web_chat(shared: Stage) -> None:
    async with WebPerson(shared.gateway) as person:
        await went(shared, Chat(person.say, person.texts), "web")


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="function")
async def test_an_edit_while_no_process_runs_is_for_the_next_turn_too(scene: Stage) -> None:
    """SIGKILL in the middle of a tool, an edit, a new process: what it goes on with is what the preset said before."""
    edits = Edits(scene)
    scene.model.reply_to("^look$", [Turn([call("slow_look", {"label": "a"})])] * 2)
    await scene.gateway.start()
    scene.plugin.hold()
    scene.telegram.say(301, "look")
    await scene.until(lambda: scene.plugin.traces("looks"))
    await scene.gateway.kill()
    (scene.gateway.folder / "presets" / "scenario.yaml").write_text(EDITED, "utf-8")
    scene.plugin.release()
    await scene.gateway.start()
    await scene.answered([301])
    assert scene.texts(301) == ["look"]
    system, tools = edits.seen("look")
    assert "You lead." in system
    assert "order_goods" in tools
    assert len(scene.requests("look")) == 3  # two rounds of tools, of which the edit allows one
    scene.telegram.say(301, "and now?")
    await scene.answered([301], 2)
    assert "You lead anew." in edits.seen("and now")[0]
    scene.sound()
