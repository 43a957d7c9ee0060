"""Skills and templates that are edited while the gateway runs: read again as a whole and taken at once, like presets.

Sessions that go on keep the list of skills that they began with; what a skill says counts from its next use.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from gateway.presets.folder_watch import FolderWatch, stamp
from gateway.recipes.recipes import Recipes
from gateway.recipes.shelf import Change
from gateway.recipes.skill_house import SkillHouse
from gateway.recipes.template_house import TemplateHouse

log = logging.getLogger(__name__)


async def _nobody() -> None:
    return None


class RecipeWatch:
    """Watches both folders. `presets` is awaited after skills came or went, since presets name them.

    `shown` is awaited when a menu would look otherwise; what it raises is logged. `swapped` is set after each reading.
    """

    def __init__(
        self, recipes: Recipes, presets: Callable[[], Awaitable[object]] = _nobody
    ) -> None:
        self._recipes = recipes
        self._presets = presets
        self.shown: Callable[[], Awaitable[None]] = _nobody
        self.swapped = asyncio.Event()
        self._one_by_one = asyncio.Lock()
        both: list[tuple[str, SkillHouse | TemplateHouse]] = [
            ("skills", recipes.skills),
            ("templates", recipes.templates),
        ]
        self.watches = {
            name: FolderWatch(name, house.folder, self._again(name, house.folder, house.reload))
            for name, house in both
            if house.folder is not None
        }

    async def start(self) -> None:
        """Begin to watch; returns at once."""
        for watch in self.watches.values():
            await watch.start()

    async def stop(self) -> None:
        """Stop watching; a reading that goes on is finished first. Safe to call without a start."""
        for watch in self.watches.values():
            await watch.stop()

    def _again(
        self, name: str, folder: Path, read: Callable[[], Change]
    ) -> Callable[[], Awaitable[None]]:
        async def reload() -> None:
            async with self._one_by_one:
                await self._reload(name, folder, read)

        return reload

    async def _reload(self, name: str, folder: Path, read: Callable[[], Change]) -> None:
        before = self._menus()
        self.watches[name].stamp, change = await asyncio.to_thread(lambda: (stamp(folder), read()))
        if name == "skills" and (change.changed or change.gone):
            await self._presets()
        if self._menus() != before:
            try:
                await self.shown()
            except Exception:  # a menu that cannot be shown must not end the watch
                log.exception("menu_not_shown")
        self.swapped.set()

    def _menus(self) -> list[list[tuple[str, str]]]:
        return [self._recipes.menu("en"), self._recipes.menu("zh")]
