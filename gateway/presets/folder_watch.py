"""A folder that is looked at: what is edited in it is read again at once.

One that does not exist yet is taken up when it is made. Where the system offers no watching, things stay as they were
read at the start, and that is logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles import Change

log = logging.getLogger(__name__)
DEBOUNCE_MS = 300  # the most that a series of changes is waited for
# Without a further change a series is over; an editor's save is several changes. A watch looks as often into what the
# system has told it, also while nothing happens, so half of DEBOUNCE_MS: two looks are the wait of a single change.
QUIET_MS = 150
_EDITORS = (".swp", ".swx", ".tmp", "~")


class FolderWatch:
    """Calls `changed` after each series of changes in a folder, one call at a time.

    `stamp` is what the folder was when it was last read, and `changed` keeps it so: what happened between a reading and
    the begin of the watch is then read as well. `watching` is set once changes are seen.
    """

    def __init__(self, name: str, folder: Path, changed: Callable[[], Awaitable[object]]) -> None:
        self._name = name
        self._folder = folder
        self._changed = changed
        self.stamp = stamp(folder)
        self.watching = asyncio.Event()
        self._ends = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to watch; returns at once."""
        self._task = asyncio.create_task(self._watch(), name=f"{self._name}-watch")

    async def stop(self) -> None:
        """Stop watching; a reading that goes on is finished first. Safe to call without a start."""
        self._ends.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def _watch(self) -> None:
        try:
            while not self._ends.is_set():
                await self._watch_once()
        except Exception:  # without a watch the gateway still works, with what it has read
            log.exception("%s_not_watched", self._name)

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
            if await asyncio.to_thread(stamp, self._folder) != self.stamp:
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
            await self._changed()
        except OSError as error:  # the folder went away while it was read
            log.warning("%s_not_read", self._name, extra={"reason": str(error)})


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def stamp(folder: Path) -> frozenset[tuple[str, int, int]]:
    """What tells whether files of a folder were changed: names, times and sizes."""
    found = set[tuple[str, int, int]]()
    for path in folder.rglob("*"):
        try:
            stat = path.stat()
        except OSError:
            continue  # gone meanwhile, or a link to nothing
        found.add((str(path), stat.st_mtime_ns, stat.st_size))
    return frozenset(found)
