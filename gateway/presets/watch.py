"""Presets that are edited while the gateway runs: read again, checked as a whole, and taken at once.

Watched is the folder of the settings with its prompts; one that does not exist yet is taken up when it is made. A
wrong edit changes nothing: it is logged with file, line and column and told to `on_problems`. Where the system offers
no watching, presets stay as they were read at the start, and that is logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gateway.presets.folder_watch import FolderWatch, stamp
from gateway.presets.team_house import Swap, TeamHouse
from swarm_presets.loader import PresetSet
from swarm_presets.problems import Problem

log = logging.getLogger(__name__)

OnProblems = Callable[[Sequence[Problem]], Awaitable[None]]


async def _nobody(problems: Sequence[Problem]) -> None:
    del problems


async def _nothing() -> None:
    return None


class PresetWatch:
    """Keeps a TeamHouse at what its files say.

    `read` loads the whole set and may block: it runs in a thread. `on_problems` is awaited with the errors that an edit
    brought, first file and first line first, and `on_change` after
    teams have changed; what they raise is logged. `swapped` is set after each reading, `watching`
    once changes are seen.
    """

    def __init__(
        self,
        house: TeamHouse,
        folder: Path,
        read: Callable[[], PresetSet],
        on_problems: OnProblems = _nobody,
    ) -> None:
        self._house = house
        self._folder = folder
        self._read = read
        self.on_problems = on_problems
        self.on_change: Callable[[], Awaitable[None]] = _nothing
        self.swapped = asyncio.Event()
        self._one = asyncio.Lock()
        self._watch = FolderWatch("presets", folder, self.reload)
        self.watching = self._watch.watching

    async def start(self) -> None:
        """Begin to watch; returns at once."""
        await self._watch.start()

    async def stop(self) -> None:
        """Stop watching; a reading that goes on is finished first. Safe to call without a start."""
        await self._watch.stop()

    async def reload(self) -> Swap:
        """Read the presets now and take what is right in them."""
        async with self._one:  # skills and foreign tools bring readings of their own
            self._watch.stamp, new = await asyncio.to_thread(
                lambda: (stamp(self._folder), self._read())
            )
            swap = self._house.swap(new)
            if swap:
                await self._tell(swap)
            self.swapped.set()
            return swap

    async def _tell(self, swap: Swap) -> None:
        for p in swap.problems:
            place = {"file": p.file, "line": p.line, "column": p.column}
            log.error("preset_problem", extra={**place, "problem": p.message, "cure": p.cure})
        if swap.changed or swap.gone:
            names = {"changed": list(swap.changed), "gone": list(swap.gone)}
            log.info("presets_reloaded", extra={**names, "kept": list(swap.kept)})
        if swap.changed or swap.gone:
            try:
                await self.on_change()
            except Exception:  # what follows from presets must not end the watch
                log.exception("presets_not_followed")
        if swap.problems:
            try:
                await self.on_problems(swap.problems)
            except Exception:  # a message that cannot be sent must not end the watch
                log.exception("preset_problem_not_told")
