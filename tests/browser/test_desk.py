"""The whole way in the web chat, with the demo planner: research, backtest, plan, approval, paper fill, portfolio."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.conftest import WINDOWS
from tests.browser.running import RunningGateway
from tests.browser.walk import Target, Walk

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.asyncio(loop_scope="session"),
]


@dataclass(frozen=True, slots=True)
class Words:
    """What a person says and reads, in one language."""

    research: str
    backtest: str
    begun: str
    result: str
    plan: str
    approve: str
    buttons: tuple[str, ...]
    preview: str
    steps: str
    approved: str
    signal: str
    filled: str
    note: str
    portfolio: str
    held: str


WORDS = {
    "en-US": Words(
        research="How did GOOG do in 2012, and what does its trend look like?",
        backtest="Backtest a 50/200 sma cross on GOOG from 2005 to 2012",
        begun="runs in the background",
        result="Backtest sma_cross(50,200) on GOOG: 46.0 %",
        plan="Plan a trade in GOOG",
        approve="Approve",
        buttons=("Approve", "Edit", "Deny"),
        preview="Buy 12 GOOG, limit 806.19",
        steps="7 steps",
        approved="Approved by",
        signal="trend up",
        filled="buy 12 GOOG, filled",
        note="filled at the last close: bundled has no bar after 2013-03-01",
        portfolio="My portfolio",
        held="Paper account (play money): 99995.16 USD",
    ),
    "zh-CN": Words(
        research="谷歌2012年表现怎么样，走势如何？",
        backtest="回测谷歌 2005 到 2012 年的 50/200 均线策略",
        begun="已在后台运行",
        result="回测 sma_cross(50,200)，GOOG：46.0 %",
        plan="给谷歌做一个交易计划",
        approve="批准",
        buttons=("批准", "修改", "拒绝"),
        preview="买入 GOOG 12，限价 806.19",
        steps="7 个步骤",
        approved="已由",
        signal="趋势向上",
        filled="买入 GOOG 12，已成交",
        note="按最后收盘价成交：bundled 在 2013-03-01 之后没有K线",
        portfolio="我的组合",
        held="模拟账户（模拟资金）：99995.16 USD",
    ),
}


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    """One with an empty book."""
    gateway = RunningGateway(tmp_path)
    await gateway.start()
    yield gateway
    await gateway.stop()
    assert gateway.errors() == []


@pytest.fixture
def target(gateway: RunningGateway) -> Target:
    assert gateway.target
    return gateway.target


async def research_and_backtest(walk: Walk, words: Words) -> None:
    await walk.ask(words.research)
    await walk.chart(await walk.answered(1))
    await walk.ask(words.backtest)
    await expect(walk.answers.nth(1)).to_contain_text(words.begun, timeout=30_000)
    report = await walk.answered(3)
    await expect(report).to_contain_text(words.result)
    await walk.chart(report)
    await expect(report.get_by_role("link", name=re.compile(r"-trades\.csv"))).to_be_visible()
    await expect(walk.live).to_have_count(0)
    await walk.picture("desk-1-backtest")


async def plan_and_order(walk: Walk, words: Words, gateway: RunningGateway) -> None:
    """TGV-9: nothing is placed before the press; the order stands once in the book."""
    await walk.ask("/preset trading-plan")
    await walk.answered(4)
    await walk.ask(words.plan)
    question = await walk.answered(5)
    await expect(question).to_contain_text(words.preview)
    await expect(question.locator(".buttons button")).to_have_text(list(words.buttons))
    steps = walk.page.locator(".message.answer .steps summary").last
    await expect(steps).to_have_text(words.steps)  # nothing goes on until they decide
    await walk.no_sideways_scroll()
    await walk.picture("desk-2-approval")
    assert gateway.rows("select count(*) from trade_order") == [(0,)]
    await question.get_by_role("button", name=words.approve).click()
    answer = await walk.answered(6)
    await expect(answer).to_contain_text(words.filled)
    await expect(answer).to_contain_text(words.signal)
    await expect(answer).to_contain_text(words.note)
    await expect(walk.answers.nth(4)).to_contain_text(words.approved)
    await expect(walk.page.locator(".buttons")).to_have_count(0)
    await walk.no_sideways_scroll()
    await walk.picture("desk-3-filled")
    bought = "select count(*), sum(quantity) from trade_order where status = 'filled'"
    assert gateway.rows(bought) == [(1, 12.0)]


@pytest.mark.parametrize(
    ("window", "language"),
    [(WINDOWS[0], "en-US"), (WINDOWS[1], "zh-CN")],
    ids=["wide-english", "phone-chinese"],
    indirect=["window"],
)
async def test_from_a_question_to_a_position(
    page: Page, target: Target, gateway: RunningGateway, pictures: Path | None, language: str
) -> None:
    walk, words = Walk(page, target, pictures), WORDS[language]
    await walk.log_in()
    await research_and_backtest(walk, words)
    await plan_and_order(walk, words, gateway)
    await walk.ask("/preset solo")
    await walk.answered(7)
    await walk.ask(words.portfolio)
    book = await walk.answered(8)
    await expect(book).to_contain_text(words.held)
    await walk.chart(book)
    await walk.no_sideways_scroll()
    await walk.picture("desk-4-portfolio")
    await page.reload()
    await walk.answered(8)
    await walk.chart(walk.answers.last)
