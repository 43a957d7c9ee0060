"""When a channel last heard from its platform: a poll that was answered, a heart-beat, a post."""

import time
from collections.abc import Callable


class Pulse:
    """The time of the last sign of life. `clock` gives seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: float | None = None

    def beat(self) -> None:
        """The platform was heard just now."""
        self._at = self._clock()

    def age(self) -> float | None:
        """Seconds since the last sign of life; None before the first."""
        return None if self._at is None else self._clock() - self._at
