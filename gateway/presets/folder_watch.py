"""A folder that is looked at: what is edited in it is read again at once.

One that does not exist yet is taken up when it is made. Where the system offers no watching, things stay as they were
read at the start, and that is logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from gateway.watching.watched import watched

log = logging.getLogger(__name__)
DEBOUNCE_MS = 300  # the most that a series of changes is waited for
QUIET_MS = 150  # without a further change a series is over; an editor's save is several changes
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
        happened = False
        try:
            while not self._ends.is_set():
                happened = await self._watch_once(happened)
        except Exception:  # without a watch the gateway still works, with what it has read
            log.exception("%s_not_watched", self._name)

    async def _watch_once(self, happened: bool) -> bool:
        """Watch, read what happened until then, and wait for what happens next; false where the watch ends before."""
        async with watched(
            self._folder, ignored=_EDITORS, quiet_ms=QUIET_MS, most_ms=DEBOUNCE_MS
        ) as changed:
            if happened or await asyncio.to_thread(stamp, self._folder) != self.stamp:
                await self._safely()
            self.watching.set()
            return await self._before_the_end(changed())

    async def _before_the_end(self, change: Awaitable[None]) -> bool:
        seen, ends = asyncio.ensure_future(change), asyncio.create_task(self._ends.wait())
        try:
            await asyncio.wait((seen, ends), return_when=asyncio.FIRST_COMPLETED)
            if seen.done():
                seen.result()  # raises what went wrong
            return seen.done()
        finally:
            seen.cancel()
            ends.cancel()
            await asyncio.gather(seen, ends, return_exceptions=True)

    async def _safely(self) -> None:
        try:
            await self._changed()
        except OSError as error:  # the folder went away while it was read
            log.warning("%s_not_read", self._name, extra={"reason": str(error)})


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
