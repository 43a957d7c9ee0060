"""The web chat on the real gateway, as a person sees it: a process, the demo planner, real tools on real prices."""

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from agent_core.types import ToolResult, decode
from gateway.clock import SystemClock
from gateway.http.auth import CookieSessions, load_secret
from tests.browser.conftest import WINDOWS
from tests.browser.running import RunningGateway
from tests.browser.walk import Target, Walk
from tests.twins.passes import MemoryPasses

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

GOOG = "How did GOOG do in 2012, and what does its trend look like?"
AAPL = "分析一下 AAPL 的走势"
on_phone = pytest.mark.parametrize("window", WINDOWS[1:], ids=lambda w: w.name, indirect=True)
in_one_window = pytest.mark.parametrize("window", WINDOWS[:1], ids=lambda w: w.name, indirect=True)
NUMBER = re.compile(r"\d{4}-\d{2}-\d{2}|\d+(?:\.\d+)?")
# Notes each length of the growing answer, and marks its first block: the mark stays only if nothing is drawn anew.
WATCH = """() => {
  window.lengths = [];
  new MutationObserver(() => {
    const text = document.querySelector('.message.answer.live .text');
    if (!text) return;
    window.lengths.push(text.textContent.length);
    if (text.childElementCount > 1) text.firstElementChild.dataset.kept = 'yes';
  }).observe(document.querySelector('#log'), { childList: true, subtree: true, characterData: true });
}"""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """One gateway for all walks that do not end it."""
    gateway = RunningGateway(tmp_path_factory.mktemp("gateway"))
    await gateway.start()
    yield gateway
    await gateway.stop()
    assert gateway.errors() == []


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    """One that the walk starts and ends itself; each message is a turn of its own, whenever it comes."""
    gateway = RunningGateway(tmp_path, more="sessions: {while_busy: queue}\n")
    yield gateway
    await gateway.kill()


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def cookies(running: RunningGateway, browser: Browser) -> list[dict[str, object]]:
    """What the printed link buys in a browser."""
    context = await browser.new_context()
    assert running.target
    await Walk(await context.new_page(), running.target).log_in()
    bought = await context.cookies()
    await context.close()
    return [dict(cookie) for cookie in bought]


@pytest.fixture
def target(running: RunningGateway) -> Target:
    assert running.target
    return running.target


@pytest_asyncio.fixture(loop_scope="session")
async def walk(
    context: BrowserContext,
    page: Page,
    target: Target,
    pictures: Path | None,
    cookies: list[dict[str, object]],
) -> Walk:
    """A person who is logged in, at a new chat."""
    await context.add_cookies(cookies)  # type: ignore[arg-type]
    walk = Walk(page, target, pictures)
    await page.goto(target.url)
    await expect(walk.field).to_be_visible()
    return walk


def results_of(gateway: RunningGateway, chat: str) -> str:
    """What the tools of a chat and of its sub-agents returned; words of sub-agents are not among it."""
    rows = gateway.rows(
        """select t.body from transcript t join conversation c
           on t.session_id = c.session_id or t.session_id like c.session_id || '/%' where c.id = ?""",
        f"web:local:{chat}",
    )
    blocks = [block for (body,) in rows for block in decode(str(body)).blocks]
    results = [b for b in blocks if isinstance(b, ToolResult)]
    return "\n".join(b.content for b in results if not b.name.startswith("delegate_to_"))


def session_of(gateway: RunningGateway, chat: str) -> object:
    return gateway.rows("select session_id from conversation where id = ?", f"web:local:{chat}")[0]


async def growth(page: Page) -> Sequence[int]:
    """The lengths that the answer had, each once."""
    lengths = await page.evaluate("() => window.lengths")
    return list(dict.fromkeys(n for n in lengths if n))


async def steps_are_whole(answer: Locator, agents: Sequence[str]) -> None:
    """Unfolded, the steps show each sub-agent with a tool inside, all ended."""
    await answer.locator("summary").first.click()
    for name in agents:
        agent = answer.locator(".step.agent", has=answer.page.get_by_text(name, exact=True))
        await expect(agent.locator(".step.ok").first).to_be_visible()
    await expect(answer.locator(".step:not(.ok)")).to_have_count(0)


@pytest.mark.parametrize(
    ("question", "language", "agents"),
    [
        (GOOG, "en-US", ("Market researcher", "Analyst")),
        (AAPL, "zh-CN", ("市场研究员", "分析师")),
    ],
    ids=["en", "zh"],
)
async def test_a_question_brings_a_grounded_answer_with_progress_and_a_chart(
    walk: Walk, running: RunningGateway, question: str, language: str, agents: tuple[str, ...]
) -> None:
    page = walk.page
    await walk.picture(f"gateway-{language}-1-empty")
    await page.evaluate(WATCH)
    await walk.ask(question)
    await expect(walk.live.locator(".step.agent .step").first).to_be_visible()
    await expect(page.locator("#stop")).to_be_visible()
    await walk.picture(f"gateway-{language}-2-running")
    answer = await walk.answered(1)
    await expect(walk.live).to_have_count(0)
    await expect(page.locator("#stop")).to_be_hidden()
    grown = await growth(page)
    assert len(grown) >= 10, grown
    assert grown == sorted(grown)
    await expect(answer.locator("[data-kept]")).to_have_count(1)
    await walk.chart(answer)
    await walk.no_sideways_scroll()
    await walk.picture(f"gateway-{language}-3-answer")
    text = await answer.locator(".text").inner_text()
    numbers = set(NUMBER.findall(text))
    assert len(numbers) > 15
    assert numbers <= set(NUMBER.findall(results_of(running, walk.chat))), text
    await steps_are_whole(answer, agents)
    await walk.picture(f"gateway-{language}-4-steps")
    await page.reload()
    again = await walk.answered(1)
    assert await again.locator(".text").inner_text() == text
    await walk.chart(again)
    await steps_are_whole(again, agents)


async def test_stop_ends_the_answer_keeps_what_was_said_and_the_chat_goes_on(walk: Walk) -> None:
    await walk.ask(GOOG)
    await expect(walk.live.locator(".text li").first).to_be_visible(timeout=15_000)
    await walk.page.get_by_role("button", name="Stop").click()
    answer = await walk.answered(1)
    await expect(answer).to_contain_text("Stopped.")
    await expect(answer.locator(".text li").first).to_be_visible()
    await expect(walk.live).to_have_count(0)
    await expect(walk.page.locator("#stop")).to_be_hidden()
    await walk.picture("gateway-5-stopped")
    await walk.page.reload()
    answer = await walk.answered(1)
    await steps_are_whole(answer, ["Market researcher", "Analyst"])
    await walk.ask("and its risk?")
    await walk.answered(2)


async def test_commands_answer_and_a_new_conversation_forgets(
    walk: Walk, running: RunningGateway
) -> None:
    await walk.ask("/help")
    answer = await walk.answered(1)
    await expect(answer.locator("li").first).to_contain_text("/new")
    await expect(walk.live).to_have_count(0)
    await walk.picture("gateway-6-help")
    await walk.ask("/preset solo")
    await expect(await walk.answered(2)).to_contain_text("solo")
    await walk.ask(GOOG)
    answer = await walk.answered(3)
    await walk.chart(answer)
    await expect(answer.locator(".step.ok")).not_to_have_count(0)
    await expect(answer.locator(".step.agent")).to_have_count(0)
    before = session_of(running, walk.chat)
    await walk.ask("/new")
    await walk.answered(4)
    assert session_of(running, walk.chat) != before
    await walk.ask("/preset nonsense")
    await expect(await walk.answered(5)).to_contain_text("trading-desk")
    await expect(walk.live).to_have_count(0)


async def test_a_second_tab_sees_the_same_while_it_happens(
    walk: Walk, context: BrowserContext, target: Target
) -> None:
    await walk.ask("/help")
    await walk.answered(1)
    other = Walk(await context.new_page(), target)
    await other.page.goto(walk.page.url)
    await other.answered(1)
    await walk.ask(AAPL)
    await expect(other.questions.last).to_contain_text(AAPL)
    await expect(other.live.locator(".step.agent .step").first).to_be_visible()
    mine, theirs = await walk.answered(2), await other.answered(2)
    assert await mine.inner_text() == await theirs.inner_text()
    await expect(other.live).to_have_count(0)


@on_phone
async def test_a_killed_gateway_is_reconnected_to_and_answers_once(
    page: Page, gateway: RunningGateway, pictures: Path | None
) -> None:
    walk = Walk(page, await gateway.start(), pictures)
    await walk.log_in()
    await walk.ask(GOOG)
    await expect(walk.live.locator(".text")).not_to_be_empty(timeout=15_000)
    await gateway.kill()
    await expect(page.locator("#connection")).to_contain_text("Reconnecting")
    await walk.ask("分析一下 IBM 的走势")
    await walk.picture("gateway-7-killed")
    await gateway.start()
    await walk.answered(2, timeout=40_000)
    await expect(walk.live).to_have_count(0, timeout=15_000)
    await expect(page.locator("#connection")).to_be_hidden()
    first = walk.answers.first
    await walk.chart(first)
    await steps_are_whole(first, ["Market researcher", "Analyst"])
    await walk.picture("gateway-8-resumed")
    await page.reload()
    await walk.answered(2)
    await expect(walk.questions).to_have_count(2)
    assert gateway.rows("select count(*) from outbox where key = 'reply'") == [(2,)]
    await gateway.stop()
    assert gateway.errors() == []


@in_one_window
async def test_who_is_not_logged_in_gets_the_login_page(
    walk: Walk, browser: Browser, target: Target
) -> None:
    stranger = await browser.new_context()
    page = await stranger.new_page()
    await page.goto(target.url)
    await expect(page.get_by_label("One-time code")).to_be_visible()
    for path in ("/chat/sessions", "/chat/events?session=x", "/chat/files/x"):
        assert (await stranger.request.get(target.url + path)).status == 401
    await page.goto(f"{target.url}/login?code={target.code}")
    await expect(page.get_by_role("alert")).to_contain_text("was used already")
    await stranger.close()


@in_one_window
async def test_logging_out_ends_the_other_tab_too(
    running: RunningGateway, context: BrowserContext, page: Page, target: Target
) -> None:
    await context.add_cookies([cookie_of(running, "alice", target)])  # type: ignore[list-item]
    await page.goto(target.url)
    walk = Walk(page, target)
    await walk.ask("/help")
    await walk.answered(1)
    await context.request.post(f"{target.url}/logout", headers={"Origin": target.url})
    await walk.field.fill("still there?")
    await walk.field.press("Enter")
    await expect(page.get_by_label("One-time code")).to_be_visible()


@in_one_window
async def test_a_chat_of_somebody_else_is_refused(
    walk: Walk, running: RunningGateway, browser: Browser, target: Target
) -> None:
    await walk.ask(GOOG)
    answer = await walk.answered(1)
    picture = await answer.locator("figure img").first.get_attribute("src")
    other = await browser.new_context()
    await other.add_cookies([cookie_of(running, "bob", target)])  # type: ignore[list-item]
    ask, chat = other.request, walk.chat
    assert (await ask.get(f"{target.url}/chat/events?session={chat}")).status == 404
    assert (await ask.get(f"{target.url}{picture}")).status == 404
    mine = {"session": chat, "key": "0" * 32, "text": "stop:1", "data": "stop:1", "message_id": "1"}
    for path in ("/chat/messages", "/chat/presses"):
        said = await ask.post(target.url + path, data=mine, headers={"Origin": target.url})
        assert said.status == 404
    listed = await (await ask.get(f"{target.url}/chat/sessions")).json()
    assert listed["sessions"] == []
    page = await other.new_page()
    await page.goto(f"{target.url}/#{chat}")
    await expect(page.locator("#connection")).to_contain_text("This chat is gone")
    await expect(page.locator(".message")).to_have_count(0)
    await other.close()


def cookie_of(gateway: RunningGateway, person: str, target: Target) -> dict[str, str]:
    """A cookie as a login of `person` would have brought it."""
    sessions = CookieSessions(
        load_secret(gateway.data / "web-secret"), MemoryPasses(), SystemClock()
    )
    response = web.Response()
    request = make_mocked_request("GET", "/", headers={"Host": f"127.0.0.1:{gateway.port}"})
    sessions.begin(request, response, person)
    (name, morsel), *_ = response.cookies.items()
    return {"name": name, "value": morsel.value, "url": target.url}
