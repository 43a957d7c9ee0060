"""The web chat: asking again, editing, copying. Clicks, tabs, reloads and kills make no message twice."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.conftest import WINDOWS
from tests.browser.memory_host import Gateway
from tests.browser.running import RunningGateway
from tests.browser.scripted import ANSWER, QUESTION, Turns
from tests.browser.walk import Target, Walk, Window

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]
in_one_window = pytest.mark.parametrize("window", WINDOWS[:1], ids=lambda w: w.name, indirect=True)


async def test_a_question_is_asked_again_once_and_edited_and_its_earlier_versions_stay_folded(
    walk: Walk,
    gateway: Gateway,
    turns: Turns,
    context: BrowserContext,
    target: Target,
    window: Window,
) -> None:
    page = walk.page
    await walk.ask(QUESTION)
    answer = await walk.answered(1)
    first = gateway.taken[0].key
    other = Walk(await context.new_page(), target)
    await other.page.goto(page.url)
    theirs = await (await other.answered(1)).get_by_label("Ask again").element_handle()
    mine = await answer.get_by_label("Ask again").element_handle()
    turns.go.clear()
    click = "button => { button.click(); button.click(); }"
    await asyncio.gather(mine.evaluate(click), theirs.evaluate(click))
    await expect(walk.live).to_have_count(1)
    await expect(page.locator(".log .anew:visible")).to_have_count(0)  # while an answer is made
    turns.go.set()
    await expect(walk.in_sight).to_have_count(2)
    await expect(walk.live).to_have_count(0)
    await expect(other.in_sight).to_have_count(2)
    assert [(i.key, i.text, i.again) for i in gateway.taken] == [
        (first, QUESTION, None),
        (f"{first}-r1", QUESTION, first),
    ]
    await expect(page.locator(".earlier summary").first).to_have_text(
        "Earlier version · 2 messages"
    )
    await other.page.close()

    if not window.phone:
        await walk.field.press("ArrowUp")
    else:
        await walk.in_sight.first.get_by_role("button", name="Edit and send again").click()
    await expect(walk.field).to_have_value(QUESTION)
    await walk.field.fill("How did AAPL do?")
    await page.reload()
    await expect(page.locator("#editing")).to_be_visible()
    await expect(walk.field).to_have_value("How did AAPL do?")
    await walk.is_accessible()
    await walk.picture("10-editing")
    await walk.field.press("Enter")
    await expect(walk.in_sight).to_have_count(2)
    await expect(walk.in_sight.first).to_contain_text("How did AAPL do?")
    await expect(walk.live).to_have_count(0)
    assert (gateway.taken[2].key, gateway.taken[2].again) == (f"{first}-r2", f"{first}-r1")
    fold = page.locator(".log > .earlier")
    await expect(fold).to_have_count(1)
    await expect(fold.locator(".message").first).to_be_hidden()
    await page.reload()
    await expect(walk.in_sight).to_have_count(2)
    await fold.locator("summary").first.click()
    await expect(fold.locator(".message")).to_have_count(4)
    await expect(fold.locator(".message.user").first).to_contain_text(QUESTION)
    await expect(fold.locator(".anew:visible")).to_have_count(0)
    await walk.no_sideways_scroll()
    await page.locator("#scroll").evaluate("node => { node.scrollTop = 0 }")
    await walk.is_accessible()
    await walk.picture("11-versions")


@in_one_window
async def test_editing_can_be_left_and_what_was_written_before_comes_back(
    walk: Walk, gateway: Gateway
) -> None:
    await walk.ask(QUESTION)
    await walk.answered(1)
    await walk.field.fill("half a thought")
    await walk.questions.first.get_by_role("button", name="Edit and send again").click()
    await expect(walk.field).to_have_value(QUESTION)
    await walk.field.press("Escape")
    await expect(walk.page.locator("#editing")).to_be_hidden()
    await expect(walk.field).to_have_value("half a thought")
    await walk.questions.first.get_by_role("button", name="Edit and send again").click()
    await walk.field.fill("/status")
    await walk.field.press("Enter")
    await walk.answered(2)
    await expect(walk.field).to_have_value("half a thought")
    await expect(walk.questions.last.locator(".anew")).to_have_count(0)  # a command did something
    assert [i.again for i in gateway.taken] == [None, None]


@in_one_window
async def test_messages_and_code_are_copied_and_code_is_coloured(
    walk: Walk, context: BrowserContext
) -> None:
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    await walk.ask(QUESTION)
    answer = await walk.answered(1)
    copied = "() => navigator.clipboard.readText()"
    await answer.get_by_role("button", name="Copy message").click()
    await expect(walk.page.locator("#announce")).to_have_text("Copied")
    assert await walk.page.evaluate(copied) == ANSWER
    await answer.get_by_role("button", name="Copy code").click()
    code = ANSWER.partition("```python\n")[2].partition("```")[0]
    await expect(answer.locator(".code-bar .small")).to_have_class("small done")
    assert await walk.page.evaluate(copied) == code
    await expect(answer.locator("pre .hljs-string")).to_have_text('"2012"')
    await expect(answer.locator("pre .hljs-comment")).to_contain_text("# a line")
    await walk.questions.first.get_by_role("button", name="Copy message").click()
    assert await walk.page.evaluate(copied) == QUESTION


@pytest_asyncio.fixture(loop_scope="session")
async def running(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    gateway = RunningGateway(tmp_path, more="preset: solo\n")
    yield gateway
    await gateway.kill()


@in_one_window
@pytest.mark.timeout(180)
async def test_asking_again_and_a_file_outlive_a_kill_of_the_gateway(
    page: Page, running: RunningGateway
) -> None:
    """The real gateway: the new turn no longer sees the old one, and is answered once."""
    walk = Walk(page, await running.start())
    await walk.log_in()
    await walk.page.locator("#picker").set_input_files(
        [{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"42 apples"}]
    )
    await expect(page.locator("#tray .kept")).to_have_count(1)
    await walk.ask("How did GOOG do in 2012?")
    answer = await walk.answered(1)
    await answer.get_by_role("button", name="Ask again").click()
    await expect(walk.in_sight).to_have_count(1)
    await running.kill()
    await running.start()
    await expect(walk.in_sight).to_have_count(2, timeout=40_000)
    await expect(walk.live).to_have_count(0, timeout=15_000)
    await page.reload()
    await expect(walk.in_sight).to_have_count(2)
    await expect(walk.in_sight.first.locator(".file")).to_contain_text("notes.txt")
    await expect(page.locator(".earlier .message")).to_have_count(2)
    assert running.rows("select count(*) from inbox") == [(2,)]
    assert running.rows("select count(*) from outbox where key = 'reply'") == [(2,)]
    (undone,) = running.rows("select after, until from checkpoint where kind = 'undo'")
    first = "select max(seq) from transcript where turn_id = (select min(turn_id) from transcript)"
    assert running.rows(first) == [(undone[1] - 1,)]  # type: ignore[operator]
    assert running.errors() == []
