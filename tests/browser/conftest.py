"""A real Chromium, one for all walks: so they run in the session's event loop (mark asyncio with loop_scope="session").

A walk is at the page with a scripted engine behind it, unless its module has a gateway, target and walk of its own.
Set SWARMGATE_REQUIRE_BROWSER=1 to fail without one, SWARMGATE_PICTURES=DIR to keep pictures."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.browser.memory_host import Gateway
from tests.browser.scripted import Turns
from tests.browser.walk import Target, Walk, Window

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 15_000  # what is expected takes its time on a loaded machine
expect.set_options(timeout=PATIENCE_MS)
WINDOWS = [
    Window("wide-light", 1280, 800, "light"),
    Window("phone-dark", 390, 844, "dark"),
]
OTHER_SCHEMES = [
    Window("wide-dark", 1280, 800, "dark"),
    Window("phone-light", 390, 844, "light"),
]


def _chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found:
        return found
    if os.environ.get("SWARMGATE_REQUIRE_BROWSER") == "1":
        pytest.fail("chromium is missing: apt-get install chromium")
    pytest.skip("chromium is missing: apt-get install chromium")


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = _chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture(params=WINDOWS, ids=lambda w: w.name)
def window(request: pytest.FixtureRequest) -> Window:
    return request.param


@pytest.fixture
def language() -> str:
    return "en-US"


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, window: Window, language: str) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(
        viewport={"width": window.width, "height": window.height},
        color_scheme=window.scheme,
        locale=language,
        has_touch=window.phone,
        is_mobile=window.phone,
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page on which any error of a script, and anything the content policy stopped, fails the test."""
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if "Content Security" in m.text else None)
    yield page
    await page.close()
    assert not errors, errors


@pytest.fixture
def pictures(window: Window) -> Path | None:
    folder = os.environ.get("SWARMGATE_PICTURES")
    return Path(folder) / window.name if folder else None


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(turns: Turns) -> AsyncIterator[Gateway]:
    gateway = Gateway(turns)
    await gateway.start()
    yield gateway
    await gateway.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def target(gateway: Gateway) -> Target:
    return Target(gateway.url, await gateway.code())


@pytest_asyncio.fixture(loop_scope="session")
async def walk(page: Page, target: Target, pictures: Path | None) -> Walk:
    walk = Walk(page, target, pictures)
    await walk.log_in()
    return walk
