"""The whole way on Telegram, Slack and Discord: research, backtest, plan, approval by button, paper fill, portfolio."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.contract.rigs.base import Rig, Shown
from tests.scenario.desk import PRESET, WALKS, WARM, Language, Step, Walk, script
from tests.scenario.platforms import Platforms, platforms
from tests.scenario.work_held import hold, release, worker_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.asyncio(loop_scope="module"),
]
SPOKEN: list[tuple[str, Language]] = [("telegram", "zh"), ("slack", "en"), ("discord", "zh")]
OTHER_CHAT = 99
PICTURE = b"\x89PNG"
HEADER = b"symbol,"


def who(name: str) -> str:
    """The end of each sentence, so that no two people send a model the same."""
    return f" · {name}"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Platforms]:
    """Three platforms; the worker process runs already, since somebody else has made a backtest."""
    async with platforms(tmp_path_factory.mktemp("desk"), preset=PRESET) as made:
        assert made.model is not None
        for scripted in (WARM, *(script(WALKS[language], who(name)) for name, language in SPOKEN)):
            for pattern, turns in scripted.items():
                made.model.reply_to(pattern, turns)
        await made.start()
        made.telegram.twin.say(OTHER_CHAT, "warm up")
        await made.until(lambda: made.gateway.count("task", "told_at is not null"))
        await made.settled()
        yield made
        await made.settled()
        made.sound()


@dataclass
class Person:
    """Somebody at one platform, who speaks one language."""

    stage: Platforms
    rig: Rig
    walk: Walk
    seen: int = 0

    async def say(self, words: str) -> None:
        """Write, and count what comes from now on."""
        self.seen = len(self.rig.visible())
        await self.rig.say(words)

    async def asks(self, step: Step) -> None:
        """Begin a step."""
        await self.say(step.asks + who(self.rig.name))

    @property
    def shown(self) -> list[Shown]:
        """What the bot has shown since, as plain words."""
        return [
            Shown(m.id, m.text.replace("*", ""), m.buttons, m.files)
            for m in self.rig.visible()[self.seen :]
        ]

    async def until(self, look: Callable[[Shown], bool]) -> Shown:
        """The first message since that is so."""
        found: Shown = await self.stage.until(lambda: next(filter(look, self.shown), None))
        return found

    async def reads(self, words: str) -> list[Shown]:
        """All messages since, once these words are among them and nothing is open any more."""
        plain = words.replace("*", "")
        await self.until(lambda m: plain in m.text)
        await self.stage.settled()
        return self.shown

    def rows(self, table: str, where: str = "1=1") -> int:
        """How many rows of this person."""
        owner = f"{self.rig.name}:{self.rig.author}"
        return self.stage.gateway.count(table, f"owner = '{owner}' and {where}")


def texts(shown: list[Shown]) -> list[str]:
    """The words of all messages that are no caption of a file."""
    return [m.text for m in shown if not m.files]


def files(shown: list[Shown], beginning: bytes) -> list[Shown]:
    """The messages with such a file."""
    return [m for m in shown if any(f.startswith(beginning) for f in m.files)]


async def research(person: Person) -> None:
    await person.asks(person.walk.research)
    shown = await person.reads(person.walk.research.answer)
    assert texts(shown) == [person.walk.research.answer]
    (chart,) = files(shown, PICTURE)
    assert "GOOG 2012-01-03 … 2012-12-31" in chart.text
    assert [b for m in shown for b in m.buttons] == []


async def backtest(person: Person, language: Language) -> None:
    """BGT-1 … BGT-3: a word at once, progress with a button to cancel meanwhile, and once it has ended the rest."""
    stage, step = person.stage, person.walk.backtest
    worker = worker_of(stage.gateway.pid)
    assert worker is not None
    hold(worker)
    try:
        await person.asks(step)
        await person.until(lambda m: step.answer in m.text)
        await person.rig.say("/status")
        panel = await person.until(lambda m: bool(m.buttons))
    finally:
        release(worker)
    title, doing, cancel = {
        "en": ("Backtest", "40% · computing", "Cancel"),
        "zh": ("策略回测", "40% · 计算中", "取消"),
    }[language]
    assert title in panel.text
    assert doing in panel.text
    assert [b.partition(" ")[0] for b in panel.buttons] == [cancel]
    shown = await person.reads(step.later)
    said = [m.text for m in shown]
    assert said.count(step.answer) == said.count(step.later) == 1
    assert said.index(step.answer) < said.index(step.later)
    (chart,), (trades,) = files(shown, PICTURE), files(shown, HEADER)
    assert "+46.00 %" in chart.text
    assert said.index(step.later) < shown.index(chart) < shown.index(trades)
    assert not any('{"' in text or "task-notification" in text for text in said)
    assert person.rows("task", "state = 'done' and told_at is not null") == 1


async def order(person: Person, language: Language) -> None:
    """TGV-6, TGV-9: shown whole, placed after the button and not before, once."""
    walk = person.walk
    await person.asks(walk.order)
    question = await person.until(lambda m: walk.approve in m.buttons)
    buttons = {"en": ("Approve", "Edit", "Deny"), "zh": ("批准", "修改", "拒绝")}
    assert question.buttons == buttons[language]
    assert walk.preview in question.text
    assert "1,612.38 USD" in question.text
    assert "100,000.00 → " in question.text
    assert person.rows("trade_order") == 0
    await person.rig.press(walk.approve)
    shown = await person.reads(walk.order.answer)
    at = next(i for i, m in enumerate(shown) if m.id == question.id)
    assert walk.decided in shown[at].text
    assert [m.text for m in shown[at + 1 :]] == [walk.order.answer.replace("*", "")]
    assert [b for m in shown for b in m.buttons] == []
    if person.rig.name == "telegram":  # progress was a draft, which leaves nothing behind
        assert at == 0
    else:
        done = {"en": ("Done so far:", "Position size"), "zh": ("已完成：", "仓位计算")}
        (aside,) = shown[:at]
        assert all(words in aside.text for words in done[language])
    assert person.rows("trade_order", "status = 'filled' and quantity = 2") == 1
    assert person.rows("trade", "kind = 'buy'") == 1


async def portfolio(person: Person, language: Language) -> None:
    await person.asks(person.walk.portfolio)
    shown = await person.reads(person.walk.portfolio.answer)
    assert texts(shown) == [person.walk.portfolio.answer]
    (chart,) = files(shown, PICTURE)
    below = {
        "en": "paper account, prices to 2013-03-01, source: bundled",
        "zh": "模拟账户，价格截至 2013-03-01，来源：bundled",
    }
    assert chart.text == f"99,999.19 USD · {below[language]}"


@pytest.mark.parametrize(("name", "language"), SPOKEN)
async def test_from_a_question_to_a_position(
    stage: Platforms, name: str, language: Language
) -> None:
    person = Person(stage, stage.rigs[name], WALKS[language])
    await person.say(f"/language {language}")
    await person.until(lambda m: bool(m.text))
    await research(person)
    await backtest(person, language)
    await order(person, language)
    await portfolio(person, language)
