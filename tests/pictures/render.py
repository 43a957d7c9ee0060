"""Conversations on Telegram, Slack and Discord as pictures: `python -m tests.pictures.render [FOLDER]`.

A real gateway with the demo planner talks to the twins; what is visible there is written as HTML that looks like each
platform, and as PNG where chromium is installed.
"""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from channels.types import Attachment, Outbound
from tests.pictures import discord, slack, telegram
from tests.pictures.bubbles import Bubble, Scene
from tests.pictures.gallery import CHOICES, SAMPLE
from tests.pictures.page import LOOKS, page
from tests.scenario.platforms import Platforms, platforms
from tests.twins.receipt import MemoryReceipt

GROUP = -100
QUESTIONS = (
    "How did GOOG do in 2012, and what does its trend look like?",
    "Compare AAPL and MSFT in 2012",
    "分析一下 AAPL 的走势",
)
CSV = b"day,close\nMon,10.5\nTue,11.25\n"


class Camera:
    """Takes pictures of three places."""

    def __init__(self, stage: Platforms) -> None:
        self.stage = stage
        self.scenes: list[Scene] = []
        self.thread = ""

    def place(self, name: str, *, shared: bool = False) -> list[Bubble]:
        """The private chat, or the shared place."""
        if name == "telegram":
            return telegram.bubbles(self.stage.telegram.twin, GROUP if shared else 5)
        if name == "slack":
            room = "C1" if shared else "D1"
            return slack.bubbles(self.stage.slack.twin, room)
        twin = self.stage.discord.twin
        if not shared:
            return discord.bubbles(twin, self.stage.discord.address.chat)
        threads = twin.threads(twin.general)
        return discord.bubbles(twin, threads[-1].id if threads else twin.general)

    def shoot(self, what: str, *, shared: bool = False, since: int = 0) -> None:
        """All three as they are now."""
        for name in LOOKS:
            found = self.place(name, shared=shared)[since:]
            self.scenes.append(Scene(name, what, f"{name} · {what}", found))


async def talk(stage: Platforms, camera: Camera, number: int, words: str) -> None:
    """One question in each private chat, in the making and answered."""
    since = {name: len(camera.place(name)) for name in LOOKS}
    for rig in stage.rigs.values():
        await rig.say(words)
    await _grown(stage, lambda name: len(camera.place(name)) > since[name] + 1)
    await asyncio.sleep(2.0)
    for name in LOOKS:
        found = camera.place(name)[since[name] :]
        camera.scenes.append(Scene(name, f"{number}-making", f"{name} · {number} making", found))
    await stage.until(lambda: not stage.open_rows(), 60)
    for name in LOOKS:
        found = camera.place(name)[since[name] :]
        camera.scenes.append(Scene(name, f"{number}-done", f"{name} · {number} done", found))


async def _grown(stage: Platforms, look: Callable[[str], bool]) -> None:
    with contextlib.suppress(TimeoutError):
        await stage.until(lambda: all(map(look, LOOKS)), 10)


async def in_groups(stage: Platforms, camera: Camera) -> None:
    """A question in a group, a channel and a server."""
    words = QUESTIONS[0]
    stage.telegram.twin.group(GROUP, "Desk")
    stage.slack.twin.channel("C1")
    stage.telegram.twin.say(GROUP, f"@swarm_bot {words}", user=5)
    stage.slack.twin.mention("C1", words)
    twin = stage.discord.twin
    twin.mention(twin.general, words, user="5")
    await _grown(stage, lambda name: any(b.by_bot for b in camera.place(name, shared=True)))
    await asyncio.sleep(2.5)
    camera.shoot("group-making", shared=True)
    await stage.until(lambda: not stage.open_rows(), 60)
    camera.shoot("group-done", shared=True)


async def gallery(stage: Platforms, camera: Camera) -> None:
    """All that Markdown has, a file and the buttons of an approval, through the channels themselves."""
    since = {name: len(camera.place(name)) for name in LOOKS}
    table = Attachment("trades.csv", "text/csv", CSV, caption="All **trades** of the year")
    for rig in stage.rigs.values():
        await rig.channel.send(
            Outbound(rig.address, SAMPLE, (table,), CHOICES, id="gallery"), MemoryReceipt()
        )
    for name in LOOKS:
        found = camera.place(name)[since[name] :]
        camera.scenes.append(Scene(name, "gallery", f"{name} · gallery", found))


async def converse(folder: Path) -> list[Scene]:
    """Run the conversations; returns every scene."""
    async with platforms(folder, demo=True) as stage:
        try:
            return await scenes_of(stage)
        except TimeoutError:
            print(stage.gateway.log())
            raise


async def scenes_of(stage: Platforms) -> list[Scene]:
    """Every scene, in order."""
    camera = Camera(stage)
    await stage.start()
    for rig in stage.rigs.values():
        await rig.say("/help")
    await stage.until(lambda: all(rig.visible() for rig in stage.rigs.values()))
    await stage.settled()
    camera.shoot("help")
    for number, words in enumerate(QUESTIONS, start=1):
        await talk(stage, camera, number, words)
    since = min(len(camera.place(name)) for name in LOOKS)
    for rig in stage.rigs.values():
        await rig.attach("prices.csv", CSV, "What is in this file?")
    await _grown(stage, lambda name: len(camera.place(name)) >= since + 2)
    await stage.until(lambda: not stage.open_rows(), 60)
    camera.shoot("file", since=-4)
    await in_groups(stage, camera)
    await gallery(stage, camera)
    for name, rig in stage.rigs.items():
        for violation in rig.violations:
            print(f"{name}: {violation}")
    return camera.scenes


async def photograph(files: list[Path]) -> None:
    """A PNG beside each page. Does nothing without chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("chromium is missing: the pages are there, the pictures are not")
        return
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=path, args=flags)
        for file in files:
            width = LOOKS[file.name.partition("-")[0]][0]
            view = await browser.new_page(viewport={"width": width, "height": 400})
            await view.goto(file.as_uri())
            await view.screenshot(path=file.with_suffix(".png"), full_page=True)
            await view.close()
        await browser.close()


def main() -> None:
    """Write the pages and the pictures into a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("LANG", "C.UTF-8")
    with tempfile.TemporaryDirectory() as room:
        scenes = asyncio.run(converse(Path(room)))
    files = []
    for scene in scenes:
        file = folder / f"{scene.platform}-{scene.name}.html"
        file.write_text(page(scene), "utf-8")
        files.append(file)
    asyncio.run(photograph(files))
    print(f"{len(files)} scenes in {folder}")


if __name__ == "__main__":
    main()
