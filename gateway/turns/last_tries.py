"""Turns that have broken two starts: each has its last try alone, so that only one that breaks it again is set aside.

A process that dies breaks every turn that it runs, and nothing tells which of them has killed it (hermes#7536). So of
those that two starts have broken one at a time is gone on with, until it is over or has lived for a while; the others
wait.
"""

import asyncio
import threading
from collections.abc import Callable

from gateway.inbound.inbox import Item

ATTEMPTS = 3  # starts that one turn may break before it is set aside
ALONE_S = 20.0  # a turn that has lived for so long is not what kills the process


def is_poison(item: Item, *, resumed: bool) -> bool:
    """Whether a turn has broken all its starts. `item` is its first row as it was before this start."""
    return resumed and item.attempts + 1 >= ATTEMPTS


class LastTries:
    """Who has the last try now. `wake` is called with a conversation and a person whose turn may have it next."""

    def __init__(self, alone_s: float = ALONE_S) -> None:
        self.wake: Callable[[str, str], None] = lambda _lane, _person: None
        self._alone_s = alone_s
        self._lock = threading.Lock()  # turns are begun in the database's thread
        self._holder: str | None = None
        self._waiting: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def admits(self, item: Item) -> bool:
        """Whether a turn may be gone on with now; on its last try, it alone may from now on. From any thread."""
        if item.attempts + 2 != ATTEMPTS:
            return True
        with self._lock:
            if self._holder is None:
                self._holder = item.conversation_id
            return self._holder == item.conversation_id

    def begun(self, item: Item) -> None:
        """A turn is gone on with; if it is the one on its last try, the next one may follow after a while."""
        lane = item.conversation_id
        if self._holder == lane and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._alone_s, self.leave, lane)

    def wait(self, item: Item) -> None:
        """A turn was not admitted: it is woken when it may be."""
        self._waiting[item.conversation_id] = item.author
        if self._holder is None:  # which has left just now
            self._wake_all()

    def leave(self, lane: str) -> None:
        """The conversation's turn is over for this time. Harmless for one that has no last try."""
        if self._holder != lane:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._holder = None
        self._wake_all()

    def _wake_all(self) -> None:
        """The first one is admitted, the others wait again: its turn may have been stopped meanwhile."""
        waiting, self._waiting = self._waiting, {}
        for lane, person in waiting.items():
            self.wake(lane, person)
