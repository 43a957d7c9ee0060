"""Presets that are edited while the gateway runs: read again, checked as a whole, and taken at once.

Watched is the folder of the settings with its prompts; one that does not exist yet is taken up when it is made. A
wrong edit changes nothing: it is logged with file, line and column and told to `on_problems`. Where the system offers
no watching, presets stay as they were read at the start, and that is logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.team_house import Swap, TeamHouse
from swarm_presets.loader import PresetSet
from swarm_presets.problems import Problem

if TYPE_CHECKING:
    from watchfiles import Change

log = logging.getLogger(__name__)
DEBOUNCE_MS = 300  # the most that a series of changes is waited for
QUIET_MS = 100  # without a further change a series is over; an editor's save is several changes
_EDITORS = (".swp", ".swx", ".tmp", "~")

OnProblems = Callable[[Sequence[Problem]], Awaitable[None]]


async def _nobody(problems: Sequence[Problem]) -> None:
    del problems


class PresetWatch:
    """Keeps a TeamHouse at what its files say.

    `read` loads the whole set and may block: it runs in a thread. `on_problems` is awaited with the errors that an edit
    brought, first file and first line first; what it raises is logged. `swapped` is set after each reading, `watching`
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
        self.swapped = asyncio.Event()
        self.watching = asyncio.Event()
        self._ends = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._read_at = _stamp(folder)

    async def start(self) -> None:
        """Begin to watch; returns at once."""
        self._task = asyncio.create_task(self._watch(), name="preset-watch")

    async def stop(self) -> None:
        """Stop watching; a reading that goes on is finished first. Safe to call without a start."""
        self._ends.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def reload(self) -> Swap:
        """Read the presets now and take what is right in them."""
        self._read_at, new = await asyncio.to_thread(lambda: (_stamp(self._folder), self._read()))
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
        if swap.problems:
            try:
                await self.on_problems(swap.problems)
            except Exception:  # a message that cannot be sent must not end the watch
                log.exception("preset_problem_not_told")

    async def _watch(self) -> None:
        try:
            while not self._ends.is_set():
                await self._watch_once()
        except Exception:  # without a watch the gateway still works, with the presets it has
            log.exception("presets_not_watched")

    async def _watch_once(self) -> None:
        """Watch the folder, or the nearest one above it until it is made."""
        from watchfiles import awatch

        logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of each change
        here = _nearest(self._folder)
        whole = here == self._folder
        changes = awatch(
            here,
            watch_filter=self._counts,
            debounce=DEBOUNCE_MS,
            step=QUIET_MS,
            stop_event=self._ends,
            recursive=whole,
            ignore_permission_denied=True,
        )
        async with aclosing(changes):
            seen = asyncio.ensure_future(anext(changes, None))
            await asyncio.sleep(
                0
            )  # its first step registers with the system: from here on nothing is missed
            if await asyncio.to_thread(_stamp, self._folder) != self._read_at:
                await self._safely()
            self.watching.set()
            while await seen is not None:
                if whole or self._folder.is_dir():
                    await self._safely()
                if whole != self._folder.is_dir():
                    return  # made or removed: another folder is to be watched
                seen = asyncio.ensure_future(anext(changes, None))

    def _counts(self, change: "Change", path: str) -> bool:
        """Whether a change is one of ours: not an editor's, and on the way to the folder or in it."""
        del change
        folder = str(self._folder)
        return not path.endswith(_EDITORS) and (path.startswith(folder) or folder.startswith(path))

    async def _safely(self) -> None:
        try:
            await self.reload()
        except OSError as error:  # the folder went away while it was read
            log.warning("presets_not_read", extra={"reason": str(error)})


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _stamp(folder: Path) -> frozenset[tuple[str, int, int]]:
    """What tells whether files of a folder were changed: names, times and sizes."""
    found = set[tuple[str, int, int]]()
    for path in folder.rglob("*"):
        try:
            stat = path.stat()
        except OSError:
            continue  # gone meanwhile, or a link to nothing
        found.add((str(path), stat.st_mtime_ns, stat.st_size))
    return frozenset(found)
