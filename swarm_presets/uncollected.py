"""Work that makes many objects and throws few away, without the collector of cycles walking through them all along.

Nearly half of the time in which a hundred presets are read went into such walks. Whatever is left for the collector is
collected afterwards, by the first walk that is due.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOCK = Lock()
_inside = 0
_was_on = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no collector run until all such blocks have ended, in whatever threads; one that was off stays off."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _was_on  # noqa: PLW0603 - the collector is one for the process
    with _LOCK:
        if _inside == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1


def _leave() -> None:
    global _inside  # noqa: PLW0603 - the collector is one for the process
    with _LOCK:
        _inside -= 1
        if _inside == 0 and _was_on:
            gc.enable()
