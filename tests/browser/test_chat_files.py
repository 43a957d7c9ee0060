"""The web chat: files that go along, pictures in full size, the keyboard alone, and the page as an app."""

import json

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.conftest import WINDOWS
from tests.browser.memory_host import MAX_BYTES, Gateway
from tests.browser.scripted import QUESTION, chart
from tests.browser.walk import Walk

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]
in_one_window = pytest.mark.parametrize("window", WINDOWS[:1], ids=lambda w: w.name, indirect=True)

# Hands files to the page as a person's paste or drop does; a browser lets no script make a trusted one.
BRING = """([how, name, type, words]) => {
  const data = new DataTransfer();
  data.items.add(new File([words], name, { type }));
  const options = { bubbles: true, cancelable: true };
  if (how === 'paste') {
    document.querySelector('#input').dispatchEvent(new ClipboardEvent('paste', { ...options, clipboardData: data }));
  } else {
    for (const kind of how.split(' ')) {
      document.querySelector('#scroll').dispatchEvent(new DragEvent(kind, { ...options, dataTransfer: data }));
    }
  }
}"""


def picture(name: str) -> dict[str, object]:
    return {"name": name, "mimeType": "image/png", "buffer": chart()}


async def bring(
    page: Page, how: str, name: str, kind: str = "text/plain", words: str = "42"
) -> None:
    await page.evaluate(BRING, [how, name, kind, words])


async def test_files_are_chosen_pasted_and_dropped_and_sent_with_the_message(
    walk: Walk, gateway: Gateway
) -> None:
    page, kept = walk.page, walk.page.locator("#tray .kept")
    await page.locator("#picker").set_input_files([picture("chart.png")])  # type: ignore[list-item]
    await expect(kept).to_have_count(1)
    await expect(page.locator("#empty")).to_be_visible()  # its chat has been made, and nothing said
    await bring(page, "paste", "pasted.txt")
    await expect(kept).to_have_count(2)
    await bring(page, "dragenter dragover", "dropped.csv", "text/csv")
    await expect(page.locator("#drop")).to_be_visible()
    await bring(page, "drop", "dropped.csv", "text/csv", "a,b")
    await expect(page.locator("#drop")).to_be_hidden()
    await expect(kept).to_have_count(3)
    await walk.no_sideways_scroll()
    await walk.picture("12-tray")
    await bring(page, "paste", "fourth.txt", words="4")
    await expect(page.locator("#problem")).to_have_text("At most 3 files go with one message.")
    await page.get_by_role("button", name="Remove pasted.txt").click()
    await expect(kept).to_have_count(2)
    for name, words, said in (
        ("large.txt", "x" * (MAX_BYTES + 1), "large.txt is too large"),
        ("empty.txt", "", "empty.txt is empty"),
        ("tool.zip", "PK", "tool.zip cannot be read here"),
    ):
        await bring(page, "paste", name, words=words)
        await expect(page.locator("#problem")).to_contain_text(said)
        await expect(page.locator("#tray li")).to_have_count(2)
    await page.reload()
    await expect(kept).to_have_count(2)
    await walk.field.press("Enter")  # without words
    await walk.answered(1)
    assert [a.name for a in gateway.taken[0].attachments] == ["chart.png", "dropped.csv"]
    await expect(page.locator("#tray")).to_be_hidden()
    await page.reload()
    image = walk.questions.first.locator("figure img")
    await expect(image).to_have_js_property("complete", True)
    assert await image.evaluate("image => image.naturalWidth") > 100
    await expect(walk.questions.first.locator(".file")).to_contain_text("dropped.csv")
    await walk.no_sideways_scroll()
    await page.locator("#scroll").evaluate("node => { node.scrollTop = 0 }")
    await walk.picture("13-sent-files")


@in_one_window
async def test_a_file_waits_for_a_gateway_that_is_away(walk: Walk, gateway: Gateway) -> None:
    await walk.ask(QUESTION)
    await walk.answered(1)
    port = int(gateway.url.rsplit(":", 1)[1])
    await gateway.stop()
    await bring(walk.page, "paste", "late.txt")
    await expect(walk.page.locator("#tray .going")).to_have_count(1)
    await walk.field.fill("what is in it?")
    await walk.field.press("Enter")
    await expect(walk.page.locator("#problem")).to_contain_text("still on its way")
    await gateway.start(port)
    await expect(walk.page.locator("#tray .kept")).to_have_count(1, timeout=15_000)
    await walk.field.press("Enter")
    await walk.answered(2)
    assert [a.name for a in gateway.taken[1].attachments] == ["late.txt"]


async def test_pictures_are_gone_through_and_downloaded(walk: Walk, gateway: Gateway) -> None:
    page, viewer = walk.page, walk.page.locator("#viewer")
    await page.locator("#picker").set_input_files([picture("mine.png")])  # type: ignore[list-item]
    await expect(page.locator("#tray .kept")).to_have_count(1)
    await walk.ask(QUESTION)
    answer = await walk.answered(1)
    opener = answer.locator("figure button")
    await opener.focus()
    await page.keyboard.press("Enter")
    await expect(viewer.locator("#viewer-count")).to_have_text("2 of 2")
    await walk.follows_theme(viewer.locator("img"))
    await page.keyboard.press("ArrowRight")
    await expect(viewer.locator("figcaption")).to_have_text("mine.png")
    await walk.picture("14-viewer")
    async with page.expect_download() as download:
        await viewer.get_by_label("Download").click()
    assert (await download.value).suggested_filename == "mine.png"
    await page.keyboard.press("ArrowLeft")
    await expect(viewer.locator("figcaption")).to_contain_text("GOOG 2012")
    for _ in range(6):
        await page.keyboard.press("Tab")
        inside = "document.activeElement === document.body || !!document.activeElement.closest('#viewer')"
        assert await page.evaluate(inside)
    await walk.is_accessible()
    await page.keyboard.press("Escape")
    await expect(viewer).to_be_hidden()
    await expect(opener).to_be_focused()


async def test_the_keyboard_alone_is_enough_and_nothing_serious_is_found(walk: Walk) -> None:
    page, keys = walk.page, walk.page.keyboard
    await walk.is_accessible()
    first = page.locator("a, button, textarea, [tabindex='0']").first
    await expect(first).to_have_class("skip")
    await first.focus()
    await keys.press("Enter")
    await expect(walk.field).to_be_focused()
    await keys.type(QUESTION)
    await keys.press("Enter")
    await walk.answered(1)
    await expect(page.locator("#announce")).to_contain_text("GOOG rose 9.5 %")
    await walk.is_accessible()
    await keys.press("Alt+ArrowUp")
    await expect(walk.answers.first).to_be_focused()
    await walk.picture("15-focus")
    await keys.press("Alt+ArrowUp")
    await expect(walk.questions.first).to_be_focused()
    await keys.press("Shift+?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await walk.is_accessible()
    await walk.picture("16-help")
    await page.get_by_label("Single keys").uncheck()
    await keys.press("Escape")
    await expect(walk.questions.first).to_be_focused()
    await keys.press("Shift+?")
    await keys.press("/")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    await expect(walk.field).not_to_be_focused()
    await keys.press("Alt+n")
    await expect(page.locator("#empty")).to_be_visible()


@in_one_window
@pytest.mark.parametrize("language", ["zh-CN"])
async def test_the_page_can_be_installed_and_keeps_nothing_private(
    walk: Walk, context: BrowserContext, language: str
) -> None:
    browser = await context.new_cdp_session(walk.page)
    errors = (await browser.send("Page.getInstallabilityErrors"))["installabilityErrors"]
    assert [e["errorId"] for e in errors if e["errorId"] != "in-incognito"] == []  # as tests are
    manifest = json.loads((await browser.send("Page.getAppManifest"))["data"])
    for entry in manifest["icons"]:
        icon = await context.request.get(walk.target.url + entry["src"])
        assert (icon.status, icon.headers["content-type"]) == (200, entry["type"])
    await walk.ask(QUESTION)
    await walk.answered(1)
    assert await walk.page.evaluate("caches.keys()") == []
    assert await walk.page.evaluate("navigator.serviceWorker.getRegistrations()") == []
    await walk.page.get_by_role("button", name="键盘快捷键").click()
    await expect(walk.page.get_by_role("dialog", name="键盘快捷键")).to_be_visible()
    await walk.picture("17-help-chinese")
    await walk.is_accessible()
