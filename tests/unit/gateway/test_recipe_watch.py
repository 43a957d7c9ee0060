"""Skills and templates edited while the gateway runs (SKL-3, SKL-4; DESIGN.md 9)."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.recipes.recipes import Recipes
from gateway.recipes.watch import RecipeWatch
from tests.unit.gateway.recipe_house import recipes, write

PATIENCE_S = 30.0  # a loaded machine; the wait itself is for an event


class Watched:
    """A watch over both folders, and what it caused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recipes: Recipes = recipes(folder)
        self.presets_read = 0
        self.menus: list[list[str]] = []
        self.watch = RecipeWatch(self.recipes, self._presets)
        self.watch.shown = self._menu

    async def _presets(self) -> None:
        self.presets_read += 1

    async def _menu(self) -> None:
        self.menus.append([name for name, _ in self.recipes.menu("en")])

    async def until_read(self) -> None:
        await asyncio.wait_for(self.watch.swapped.wait(), PATIENCE_S)
        self.watch.swapped.clear()


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    write(tmp_path, "skills", "mine", "Do it.")
    (tmp_path / "templates").mkdir()
    made = Watched(tmp_path)
    await made.watch.start()
    for watch in made.watch.watches.values():
        await asyncio.wait_for(watch.watching.wait(), PATIENCE_S)
    yield made
    await made.watch.stop()


async def test_an_edit_is_live_at_once(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    """Presets are read again, since they name skills; the menu is shown anew when it looks otherwise."""
    caplog.set_level(logging.INFO)
    write(watched.folder, "skills", "mine", "Do it well.")
    await watched.until_read()
    mine = watched.recipes.skills.find("", "mine")
    assert mine is not None
    assert mine.body("en") == "Do it well."
    assert watched.presets_read == 1
    assert watched.menus == []
    write(watched.folder, "templates", "brief", "Brief.")
    await watched.until_read()
    assert [menu[-1] for menu in watched.menus] == ["brief"]
    assert watched.presets_read == 1
    told = {r.getMessage(): r.__dict__["changed"] for r in caplog.records if "read" in r.message}
    assert told == {"skills_read": ["mine"], "templates_read": ["brief"]}


async def test_a_wrong_edit_is_reported_and_the_last_good_version_goes_on(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    write(watched.folder, "skills", "mine", "---\na: [\n---\nDo.")
    await watched.until_read()
    mine = watched.recipes.skills.find("", "mine")
    assert mine is not None
    assert mine.body("en") == "Do it."
    (record,) = [r for r in caplog.records if r.message == "recipe_problem"]
    assert record.__dict__["file"] == str(watched.folder / "skills" / "mine.md")
    assert record.__dict__["line"] == 2
    assert record.__dict__["cure"]


async def test_a_folder_that_goes_takes_its_skills_along(watched: Watched) -> None:
    shutil.rmtree(watched.folder / "skills")
    while watched.recipes.skills.find("", "mine") is not None:
        await watched.until_read()
    assert watched.recipes.skills.find("", "report") is not None
