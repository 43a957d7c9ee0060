"""Sixty questions in English and Chinese, through the real engine on the demo planner and the bundled prices.

Each answer must hold the values that `question_figures` computes from the raw files, name its source, and state no
number that no tool returned.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_core.models.demo import DemoModel
from agent_core.ports import Chunk, FinishedChunk, ModelRequest, TextChunk
from agent_core.types import assistant
from channels.terminal.channel import TerminalChannel
from gateway.app import build
from gateway.presets.eval_seen import seen
from gateway.presets.evals import _Understudies
from gateway.settings.settings import Settings
from swarm_presets.evals import Seen
from tests.unit.gateway.question_figures import KINDS, Expected

FILE = Path(__file__).parents[2] / "fixtures" / "questions" / "questions.yaml"
QUESTIONS: list[dict[str, Any]] = yaml.safe_load(FILE.read_text("utf-8"))
QUICK = tuple(range(0, 60, 8))  # one of most kinds, four in each language
PRESET = """\
version: 1
name: figures
supervisor:
  role: Analyst
  prompt: Answer from the tools.
  tools: [get_market_history, analyze_stock, get_market_overview, search_stock_by_name, indicators, risk_metrics,
          correlation, position_size, screen_stocks]
"""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
HAN = re.compile(r"[\u3400-\u9fff]")
BACKGROUND = re.compile("runs in the background|已在后台运行")
Asker = Callable[[str], Awaitable[Seen]]


class Flipping(DemoModel):
    """The demo planner with one digit of its answers wrong: the leading one of the first number in bold."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        async for chunk in super().stream(request):
            if isinstance(chunk, FinishedChunk) and chunk.message.text:
                text = flipped(chunk.message.text)
                yield TextChunk(text)
                yield replace(chunk, message=assistant(text))
            elif isinstance(chunk, FinishedChunk):
                yield chunk


def flipped(text: str) -> str:
    """The text with the leading digit of its first number with decimals one higher."""
    found = re.search(r"\d+\.\d+", text)
    assert found
    digit = str(int(found[0][0]) % 9 + 1)
    return text[: found.start()] + digit + text[found.start() + 1 :]


@asynccontextmanager
async def house(folder: Path, model: DemoModel | None = None) -> AsyncIterator[Asker]:
    """Asks one question after the other, each in a conversation of its own; one core for all of them."""
    presets = folder / "presets"
    presets.mkdir()
    (presets / "figures.yaml").write_text(PRESET)
    own = {"presets_dir": presets, "data_dir": folder / "data", "preset": "figures"}
    settings = Settings.model_validate(
        {**own, "models": {"default": "demo"}, "memory": {"enabled": False}}
    )
    core = await build(settings)
    turns, terminal = core.turns, TerminalChannel()
    models = _Understudies(core, model or DemoModel(chunk_delay=0), None)
    turns.models, turns.services = models, replace(turns.services, model=models.get)
    ended: asyncio.Queue[int] = asyncio.Queue()
    turns.spoke = lambda begun: ended.put_nowait(begun.turn_id)
    team = turns.teams.find(settings.preset)
    assert team is not None
    asked = 0

    async def look() -> Seen:
        turn = await asyncio.wait_for(ended.get(), 20)
        return await core.db.read(lambda conn: seen(conn, team, turn, 0.0))

    async def ask(words: str) -> Seen:
        nonlocal asked
        asked += 1
        client = terminal.connect("alice", f"question {asked}", None)
        try:
            await client.say(words)
            found = await look()
            # what runs in the background brings its figures in a turn of its own
            return await look() if BACKGROUND.search(found.text) else found
        finally:
            client.close()

    async with AsyncExitStack() as stack:
        stack.push_async_callback(core.db.close)
        await core.channels.start([terminal], core.intake.accept)
        stack.push_async_callback(core.channels.stop)
        await core.senders.start()
        stack.push_async_callback(core.senders.stop, 0.0)
        await core.tasks.start()
        stack.push_async_callback(core.tasks.stop)
        await core.engine.start()
        stack.push_async_callback(core.engine.stop, 5.0)
        yield ask


def holds(text: str, value: float, decimals: int) -> bool:
    """Whether the text has the value, right to the decimals that it is told with; words carry the sign."""
    told = (float(found.replace(",", "")) for found in NUMBER.findall(text))
    return any(abs(number - abs(value)) <= 0.5 * 10**-decimals + 1e-9 for number in told)


def missing(text: str, expected: Expected) -> list[str]:
    """What the answer lacks."""
    numbers = [f"{v:.{d}f}" for v, d in expected.numbers if not holds(text, v, d)]
    return numbers + [word for word in expected.words if word not in text]


def expected(question: dict[str, Any]) -> Expected:
    return KINDS[question["kind"]](question)


def wrong(question: dict[str, Any], found: Seen) -> list[str]:
    """What is wrong with an answer, in lines that name the question."""
    faults = [f"lacks {what}" for what in missing(found.text, expected(question))]
    source = "来源 bundled" if HAN.search(question["ask"]) else "source bundled"
    if source not in found.text:
        faults.append("names no source")
    if found.status != "completed" or found.ungrounded:
        faults.append(f"{found.status}, ungrounded: {found.ungrounded}")
    return [f"{question['ask']} {fault}: {found.text}" for fault in faults]


async def answered(folder: Path, questions: list[dict[str, Any]]) -> None:
    faults: list[str] = []
    async with house(folder) as ask:
        for question in questions:
            faults += wrong(question, await ask(question["ask"]))
    assert not faults, "\n\n".join(faults)


def test_the_questions_are_sixty_and_half_of_them_chinese() -> None:
    assert len({q["ask"] for q in QUESTIONS}) == 60
    assert sum(bool(HAN.search(q["ask"])) for q in QUESTIONS) == 30
    assert {q["kind"] for q in QUESTIONS} == set(KINDS)


async def test_some_questions_are_answered_right(tmp_path: Path) -> None:
    await answered(tmp_path, [QUESTIONS[n] for n in QUICK])


@pytest.mark.slow
async def test_all_questions_are_answered_right(tmp_path: Path) -> None:
    await answered(tmp_path, QUESTIONS)


@pytest.mark.parametrize("kind", ["change", "volatility", "beta"])
async def test_one_wrong_digit_is_caught(tmp_path: Path, kind: str) -> None:
    """The check of grounding finds a figure of which one digit was changed, and nothing else."""
    question = next(q for q in QUESTIONS if q["kind"] == kind)
    async with house(tmp_path, Flipping(chunk_delay=0)) as ask:
        found = await ask(question["ask"])
    wrong_one = re.search(r"\d+\.\d+", found.text)
    assert wrong_one
    assert [wrong_one[0] in claim for claim in found.ungrounded] == [True], found


async def test_a_share_that_nobody_knows_is_told_without_the_names_of_tools(tmp_path: Path) -> None:
    """Which tool was asked is nothing to a person, and neither is how a model should go on."""
    said = {
        "What is the RSI of ZZQQ?": "> No symbol is named 'ZZQQ'; there are prices of AAPL, GOOG",
        "ZZQQ 的走势": "> 没有名为 'ZZQQ' 的证券；有数据的是：AAPL, GOOG",
        "What is the RSI of BABA?": "> No prices of BABA (Alibaba (US)) in bundled; there are prices",
    }
    async with house(tmp_path) as ask:
        for question, words in said.items():
            answer = (await ask(question)).text
            assert words in answer
            assert "`" not in answer
            assert "ask_user" not in answer
