"""A path that is watched: the system tells what happens, and nothing is looked at while nothing does.

On Linux the kernel wakes the event loop itself (inotify.py). Elsewhere a library asks the system (elsewhere.py).
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.watching.inotify import Told

Changed = Callable[[], Awaitable[None]]


@asynccontextmanager
async def watched(
    path: Path, *, ignored: tuple[str, ...] = (), quiet_ms: int = 0, most_ms: int = 0
) -> AsyncIterator[Changed]:
    """Watch the path, and all that is in it if it is a folder, from here on; one that is not there yet, too.

    What it gives is awaited once: it returns when a series of changes is over, that is after `quiet_ms` without one and
    `most_ms` at most. What happened before it is awaited counts. The path as it was at the beginning is watched, so
    begin anew for the next series, and look at the path only then: nothing is missed, whatever was made or removed.
    `ignored`: how names end whose changes do not count. Raises OSError where the system has no watches left.
    """
    if sys.platform == "linux":
        told = await asyncio.to_thread(_told_by_kernel, path, ignored)
        try:
            yield lambda: told.series(quiet_ms / 1_000, most_ms / 1_000)
        finally:
            told.close()
        return
    from gateway.watching.elsewhere import asked

    async with asked(path, ignored=ignored, quiet_ms=quiet_ms, most_ms=most_ms) as changed:
        yield changed


def _told_by_kernel(path: Path, ignored: tuple[str, ...]) -> "Told":
    from gateway.watching.inotify import Told  # there is none elsewhere

    return Told(path, ignored)
