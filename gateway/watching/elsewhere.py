"""Systems other than Linux: a library has a thread that asks the system what happened (FSEvents, kqueue, Windows)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from watchfiles import Change, awatch

STEP_MS = 50  # what is as good as at once


@asynccontextmanager
async def asked(
    path: Path, *, ignored: tuple[str, ...] = (), quiet_ms: int = 0, most_ms: int = 0
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """See `watched`. The path, or the nearest folder above it until it is made."""
    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of each change
    here = next(folder for folder in (path, *path.parents) if folder.is_dir())
    changes = awatch(
        here,
        watch_filter=_ours(path, ignored),
        debounce=max(most_ms, STEP_MS),
        step=max(quiet_ms, STEP_MS),
        recursive=here == path,
        ignore_permission_denied=True,
    )
    async with aclosing(changes):
        seen = asyncio.ensure_future(anext(changes))
        try:
            # Its first step registers with the system: from here on nothing is missed.
            await asyncio.sleep(0)

            async def changed() -> None:
                await seen

            yield changed
        finally:
            seen.cancel()
            await asyncio.gather(seen, return_exceptions=True)


def _ours(path: Path, ignored: tuple[str, ...]) -> Callable[[Change, str], bool]:
    """Whether a change is on the way to the path or in it; the system may tell of it by its name without links."""
    names = {str(path), str(path.resolve())}

    def ours(_: Change, seen: str) -> bool:
        known = any(seen.startswith(name) or name.startswith(seen) for name in names)
        return known and not seen.endswith(ignored)

    return ours
