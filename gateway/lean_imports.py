"""Imports without what only a command line needs.

httpx and httpx2 import their own command line when `rich` is installed (it is, for ours), with rich and
pygments: 4.5 MB and 0.1 s of a start, for a `main` that nobody calls here.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND_LINES = ("httpx._main", "httpx2._main")


@contextmanager
def lean() -> Iterator[None]:
    """Within the block these modules cannot be imported; both packages take that for "not installed"."""
    blocked = [name for name in COMMAND_LINES if name not in sys.modules]
    modules: dict[str, object] = sys.modules  # type: ignore[assignment]
    modules.update(dict.fromkeys(blocked))  # None: the import system's own way to say no
    try:
        yield
    finally:
        for name in blocked:
            if modules.get(name) is None:
                modules.pop(name, None)
