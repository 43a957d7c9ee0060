"""Imports without what only a command line, or a part that is not used here, needs.

httpx and httpx2 import their own command line when `rich` is installed (it is, for ours), with rich and
pygments: 4.5 MB and 0.1 s of a start, for a `main` that nobody calls here. python-telegram-bot imports
cryptography where some extra has brought it (7 MB), for Telegram Passport, which the gateway does not read.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND_LINES = ("httpx._main", "httpx2._main")


@contextmanager
def lean(*unused: str) -> Iterator[None]:
    """Within the block these modules, and the `unused`, cannot be imported: packages take that for "not installed"."""
    blocked = [name for name in (*COMMAND_LINES, *unused) if name not in sys.modules]
    modules: dict[str, object] = sys.modules  # type: ignore[assignment]
    modules.update(dict.fromkeys(blocked))  # None: the import system's own way to say no
    try:
        yield
    finally:
        for name in blocked:
            if modules.get(name) is None:
                modules.pop(name, None)
