"""The operators' console in a real browser on the real gateway: each page, each role, an edit that a chat then uses."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from gateway.settings.console import Role
from tests.browser.conftest import WINDOWS
from tests.browser.console_pages import WALKS, pages, title_of
from tests.browser.console_seed import seed
from tests.browser.running import RunningGateway
from tests.browser.walk import Walk, is_accessible

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.asyncio(loop_scope="session"),
]
TOKENS = {
    "admin": "admin-token-0123456789abcdef",
    "operator": "bob-token-0123456789abcdef",
    "viewer": "watch-token-0123456789abcdef",
}
SETTINGS = f"""\
presets_dir: ./presets
access: {{roles: {{trader: {{models: [demo]}}, pm: {{}}}}}}
console:
  tokens:
    bob: {{token: {TOKENS["operator"]}, role: operator}}
    watch: {{token: {TOKENS["viewer"]}, role: viewer}}
    alice: {{token: {TOKENS["admin"]}, role: admin}}
"""
RENAME = """([from, to]) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(from, to);
}"""
GOOG = "How did GOOG do in 2012, and what does its trend look like?"
in_one_window = pytest.mark.parametrize("window", WINDOWS[:1], ids=lambda w: w.name, indirect=True)
GREETER = """\
version: 1
name: greeter
extends: solo
evals:
  - {name: it answers, say: hello, expect: {status: completed}}
  - {name: it sings, say: hello, expect: {contains: [la la la]}}
"""
WATCH = "version: 1\nname: watch\ntitle: Watch\ndescription: Looks after a few symbols.\nextends: trading-desk\n"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> AsyncIterator[RunningGateway]:
    """A gateway that has answered once and has something waiting everywhere."""
    gateway = RunningGateway(tmp_path_factory.mktemp("console"), more=SETTINGS)
    (gateway.folder / "presets").mkdir()
    (gateway.folder / "presets" / "watch.yaml").write_text(WATCH, encoding="utf-8")
    (gateway.folder / "presets" / "greeter.yaml").write_text(GREETER, encoding="utf-8")
    target = await gateway.start()
    context = await browser.new_context(locale="en-US")
    walk = Walk(await context.new_page(), target)
    await walk.log_in()
    await walk.ask(GOOG)
    await walk.answered(1, timeout=60_000)
    await context.close()
    await seed(gateway.data)
    yield gateway
    await gateway.stop()
    assert gateway.errors() == []


def address(gateway: RunningGateway, path: str = "") -> str:
    assert gateway.target
    return f"{gateway.target.url}/console{path}"


async def log_in(page: Page, gateway: RunningGateway, role: str) -> None:
    await page.goto(address(gateway))
    await page.locator("#token").fill(TOKENS[role])
    await page.locator("button.main").click()
    await expect(page.locator("#content")).to_be_visible()


async def picture(
    page: Page, pictures: Path | None, name: str, gateway: RunningGateway | None = None
) -> None:
    """Keep a picture, if pictures are wanted. The folder of the test is none of what a reader looks for."""
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
        if gateway is not None:
            await page.evaluate(RENAME, [str(gateway.folder), "/srv/swarmgate"])
        await page.screenshot(path=str(pictures / f"{name}.png"))


async def fits(page: Page) -> None:
    over = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert over <= 1, page.url


@pytest.mark.parametrize("role", ["admin"])
@in_one_window
async def test_the_log_in_is_accessible(
    page: Page, running: RunningGateway, pictures: Path | None, role: Role
) -> None:
    await page.goto(address(running))
    await is_accessible(page)
    await picture(page, pictures, "login", running)
    await log_in(page, running, role)


@pytest.mark.parametrize(
    ("role", "window", "language"),
    WALKS,
    ids=[title_of(walk) for walk in WALKS],
    indirect=["window"],
)
async def test_every_page_is_whole_accessible_and_as_wide_as_the_window(
    page: Page, running: RunningGateway, pictures: Path | None, role: Role, language: str
) -> None:
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    await log_in(page, running, role)
    session = str(running.rows("select id from session where parent is null limit 1")[0][0])
    for one in pages(session):
        errors.clear()
        answer = await page.goto(address(running, one.path))
        assert answer
        assert answer.status == (200 if one.opens_to(role) else 403), one.path
        await expect(page.locator("h1")).to_have_text(re.compile(r"\S"))
        await fits(page)
        if not one.opens_to(role):
            continue
        await expect(page.locator('[data-badge="approvals"]')).to_have_text("1")
        await is_accessible(page)
        assert errors == [], one.path
        if role == "admin" and language == "en-US":
            await picture(page, pictures, one.name, running)


@in_one_window
@pytest.mark.parametrize("language", ["zh-CN"])
async def test_the_console_speaks_chinese_to_a_chinese_browser_and_english_on_request(
    page: Page, running: RunningGateway, pictures: Path | None
) -> None:
    await log_in(page, running, "viewer")
    await expect(page.locator("h1")).to_have_text("总览")
    await expect(page.get_by_role("link", name="审批")).to_be_visible()
    await picture(page, pictures, "console-overview-zh")
    await page.get_by_role("button", name="English").click()
    await expect(page.locator("h1")).to_have_text("Overview")


@in_one_window
@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_each_role_sees_the_controls_that_it_may_use(
    page: Page, running: RunningGateway, role: str
) -> None:
    operates, rules = role != "viewer", role == "admin"
    await log_in(page, running, role)
    for path, name, there in (
        ("", "Halt trading", operates),
        ("/approvals", "Deny", operates),
        ("/deliveries", "Send again", operates),
        ("/schedules", "Take off", operates),
        ("/people/telegram%3A42", "Shut out", operates),
        ("/people/telegram%3A42", "Forget everything", rules),
    ):
        await page.goto(address(running, path))
        await expect(page.get_by_role("button", name=name)).to_have_count(int(there))
    for path, status in (("/presets/watch/edit", operates), ("/access", rules)):
        answer = await page.goto(address(running, path))
        assert answer
        assert answer.status == (200 if status else 403), path
    await expect(page.get_by_role("link", name="Access and audit")).to_have_count(int(rules))


@in_one_window
async def test_the_kill_switch_asks_first_and_is_seen_on_every_open_page(
    page: Page, context: BrowserContext, running: RunningGateway
) -> None:
    await log_in(page, running, "operator")
    other = await context.new_page()
    await other.goto(address(running, "/people"))
    banner = other.get_by_text("Trading is halted.")
    await expect(banner).to_be_hidden()
    await page.get_by_label("Reason").fill("strange prices")
    await page.get_by_role("button", name="Halt trading").click()
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("button", name="Halt trading")).to_be_focused()
    await page.get_by_role("button", name="Halt trading").click()
    await page.get_by_role("button", name="Yes").click()
    await expect(page.get_by_role("status").first).to_contain_text("Trading is halted")
    await expect(page.locator("#switch")).to_contain_text("strange prices")
    await expect(banner).to_be_visible()
    await page.get_by_role("button", name="Let trading go on").click()
    await page.get_by_role("button", name="Yes").click()
    await expect(banner).to_be_hidden()
    await other.close()


@in_one_window
async def test_the_keyboard_alone_gets_everywhere(page: Page, running: RunningGateway) -> None:
    await log_in(page, running, "operator")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#main")).to_be_focused()
    await page.keyboard.press("g")
    await page.keyboard.press("s")
    await expect(page.locator("html.scripted h1")).to_have_text("Sessions")
    await page.keyboard.press("/")
    await expect(page.get_by_label("Title, owner or id")).to_be_focused()


@in_one_window
async def test_an_operator_runs_the_cases_of_a_preset_and_watches_them_pass_or_fail(
    page: Page, running: RunningGateway, pictures: Path | None
) -> None:
    await log_in(page, running, "operator")
    await page.goto(address(running, "/presets/greeter/evals"))
    cost = page.get_by_label("Model, and the most that all cases may cost")
    await expect(cost.locator("option").first).to_have_text(re.compile(r"at most \$0\.00"))
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_role("button", name="Yes").click()
    await expect(page.get_by_role("status").first).to_contain_text("The cases are being run: 2.")
    await expect(page.get_by_role("heading", name="Being run")).to_be_visible()
    await picture(page, pictures, "console-cases-running")
    content = page.locator("#content")  # nobody loads the page again
    looks: list[str | None] = []
    page.on(
        "request",
        lambda r: (
            looks.append(r.headers.get("x-console-live")) if r.resource_type == "fetch" else None
        ),
    )
    await expect(content).to_contain_text("1 of 2 passed", timeout=120_000)
    assert looks, "it looks for what has changed"
    assert set(looks) == {"1"}, "and takes no words that are meant for a page"
    await expect(content).to_contain_text("'la la la' is not in the answer")
    await expect(page.get_by_role("heading", name="Being run")).to_have_count(0)


@in_one_window
async def test_an_operator_mends_a_mistake_in_a_preset_and_the_next_message_uses_it(
    page: Page, browser: Browser, tmp_path: Path, pictures: Path | None
) -> None:
    gateway = RunningGateway(tmp_path, more=SETTINGS)
    target = await gateway.start()
    try:
        chat = await browser.new_context(locale="en-US")
        walk = Walk(await chat.new_page(), target)
        await walk.log_in()
        await walk.ask(GOOG)
        await walk.chart(await walk.answered(1, timeout=60_000))

        await log_in(page, gateway, "operator")
        await page.goto(address(gateway, "/presets/trading-desk"))
        await page.get_by_text("Change it in a preset of one's own").click()
        await page.get_by_role("button", name="Begin").click()
        await expect(page.locator("h1")).to_have_text("Edit trading-desk")
        field, save = page.locator("#text"), page.get_by_role("button", name="Save")
        text = await field.input_value()
        line = text.count("\n") + 2
        await field.fill(f"{text}supervisor:\n  tools: {{remove: [chrat]}}\n")
        problem = page.locator("#problems li.error").first
        await expect(problem).to_contain_text(f"line {line}, column 20")
        await expect(problem).to_contain_text("chart")
        await expect(save).to_be_disabled()
        await picture(page, pictures, "console-editor-mistake")
        await is_accessible(page)
        await problem.get_by_role("button").click()
        marked = "el => el.value.slice(el.selectionStart).split('\\n')[0]"
        assert (await field.evaluate(marked)).startswith("chrat")

        await field.fill(f"{text}supervisor:\n  tools: {{remove: [chart]}}\n")
        await expect(save).to_be_enabled()
        await page.keyboard.press("Control+s")
        await expect(page.locator("#verdict")).to_have_text("Saved. The next message uses it.")

        await walk.ask("How did AAPL do in 2012, and what does its trend look like?")
        answer = await walk.answered(2, timeout=60_000)
        await expect(answer.locator("figure img")).to_have_count(0)
        await chat.close()
    finally:
        await gateway.stop()


@in_one_window
async def test_what_is_approved_in_the_console_goes_on_in_the_chat(
    page: Page, browser: Browser, tmp_path: Path
) -> None:
    gateway = RunningGateway(tmp_path, more=SETTINGS)
    target = await gateway.start()
    try:
        chat = await browser.new_context(locale="en-US")
        walk = Walk(await chat.new_page(), target)
        await walk.log_in()
        await walk.ask("/preset trading-plan")
        await walk.answered(1)
        await log_in(page, gateway, "operator")
        await page.goto(address(gateway, "/approvals"))
        await expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()
        await walk.ask("Plan a trade in GOOG")
        await expect(page.locator("#content")).to_contain_text("place_order", timeout=60_000)
        await expect(page.locator("#content")).to_contain_text("GOOG")
        assert gateway.rows("select count(*) from trade_order") == [(0,)]
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_role("button", name="Yes").click()
        await expect(page.get_by_role("status").first).to_contain_text("approved")
        await expect(walk.answers.last).to_contain_text("buy 12 GOOG, filled", timeout=30_000)
        filled = "select count(*) from trade_order where status = 'filled'"
        assert gateway.rows(filled) == [(1,)]
        said = gateway.rows("select owner, action, target from console_audit")
        assert said == [("token:bob", "approved", "question 1")]
        await chat.close()
    finally:
        await gateway.stop()
