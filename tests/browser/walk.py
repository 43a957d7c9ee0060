"""What a person does in the web chat, step by step; runs against any gateway that gives an address and a code."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, expect

# The red of the uppermost left pixel of a picture.
CORNER = """async image => {
  await image.decode();
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0, 1, 1, 0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data[0];
}"""


@dataclass(frozen=True)
class Target:
    """A running web chat and a one-time code for it."""

    url: str
    code: str


@dataclass(frozen=True)
class Window:
    """A browser window."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]

    @property
    def phone(self) -> bool:
        return self.width < 600


async def is_accessible(page: Page) -> None:
    """axe-core finds nothing serious."""
    found = await Axe().run(page)
    serious = [
        f"{v['id']}: {v['nodes'][0]['html'][:200]} {v['nodes'][0].get('failureSummary', '')[:200]}"
        for v in found.response["violations"]
        if v["impact"] in {"serious", "critical"}
    ]
    assert not serious, "\n".join([page.url, *serious])


class Walk:
    """A person at a page."""

    def __init__(self, page: Page, target: Target, pictures: Path | None = None) -> None:
        self.page = page
        self.target = target
        self.pictures = pictures

    @property
    def field(self) -> Locator:
        return self.page.locator("#input")

    @property
    def answers(self) -> Locator:
        return self.page.locator(".message.answer:not(.live)")

    @property
    def in_sight(self) -> Locator:
        """Messages that are not folded above another version of theirs."""
        return self.page.locator(".log > .message:not(.live)")

    @property
    def live(self) -> Locator:
        return self.page.locator(".message.answer.live")

    @property
    def questions(self) -> Locator:
        return self.page.locator(".message.user")

    @property
    def chat(self) -> str:
        """The id of the chat that is open."""
        return self.page.url.rsplit("#", 1)[1]

    async def log_in(self) -> None:
        """Open the address as `run` prints it."""
        await self.page.goto(f"{self.target.url}/login?code={self.target.code}")
        await expect(self.field).to_be_visible()
        assert self.target.code not in self.page.url

    async def ask(self, text: str) -> None:
        """Type and press Enter."""
        await self.field.fill(text)
        await self.field.press("Enter")
        await expect(self.questions.last).to_contain_text(text)
        await expect(self.field).to_have_value("")

    async def answered(self, count: int, timeout: float = 30_000) -> Locator:
        """The latest of `count` finished answers."""
        await expect(self.answers).to_have_count(count, timeout=timeout)
        return self.answers.last

    async def chart(self, answer: Locator) -> None:
        """The answer holds a picture that has loaded, in the page's theme, with a text for who cannot see it."""
        image = answer.locator("figure img").first
        await expect(image).to_be_visible()
        await expect(image).to_have_attribute("alt", re.compile(r"\S"))
        await image.scroll_into_view_if_needed()
        await expect(image).to_have_js_property("complete", True)
        assert await image.evaluate("image => image.naturalWidth") > 100
        await self.follows_theme(image)

    async def follows_theme(self, image: Locator) -> None:
        """The paper of a chart is dark on a dark page, and white on a light one."""
        dark = await self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        corner = await image.evaluate(CORNER)
        assert (corner < 64) if dark else (corner > 240), f"dark page: {dark}, paper: {corner}"

    async def scroll_top(self) -> float:
        """How far the messages are scrolled."""
        top: float = await self.page.locator("#scroll").evaluate("node => node.scrollTop")
        return top

    async def scroll_up(self, pixels: int) -> None:
        """As a finger or a wheel does it: a little at a time."""
        for _ in range(pixels // 10):
            await self.page.locator("#scroll").evaluate("node => { node.scrollTop -= 10 }")
            await self.page.wait_for_timeout(20)

    async def at_end(self) -> None:
        """The end of the messages is in view."""
        await self.page.wait_for_function(
            """() => { const n = document.querySelector('#scroll');
                       return n.scrollHeight - n.scrollTop - n.clientHeight < 2; }"""
        )

    async def no_sideways_scroll(self) -> None:
        """Nothing is wider than the window, but for tables and code, which scroll inside themselves."""
        wide = await self.page.evaluate(
            """() => {
              const inside = (n) => n.parentElement.closest('.table, pre, .drawer, .unseen, dialog');
              const nodes = document.querySelectorAll('body *:not(.drawer, .skip)');
              const found = [...nodes].filter((n) => !inside(n) && n.getClientRects().length
                && (n.getBoundingClientRect().right > innerWidth + 1 || n.getBoundingClientRect().left < -1));
              const scroller = document.querySelector('#scroll');
              if (scroller.scrollWidth > scroller.clientWidth) found.push(scroller);
              return found.map((n) => n.outerHTML.slice(0, 80));
            }"""
        )
        assert wide == []

    async def is_accessible(self) -> None:
        """axe-core finds nothing serious."""
        await is_accessible(self.page)

    async def picture(self, name: str) -> None:
        """Keep a picture where wanted."""
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            await self.page.screenshot(path=str(self.pictures / f"{name}.png"))
