"""How many messages of one person are taken up within a minute. In memory: a restart forgives."""

from collections import deque
from enum import StrEnum

MINUTE = 60.0


class Allowance(StrEnum):
    """What to do with a message."""

    TAKE = "take"
    TELL = "tell"  # over the limit: answer once a minute
    QUIET = "quiet"  # over the limit and told already


class RateLimit:
    """A sliding minute for each person."""

    def __init__(self, per_minute: int) -> None:
        self._limit = per_minute
        self._taken: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}

    def check(self, person: str, now: float) -> Allowance:
        """Count one message of a person at a monotonic time."""
        taken = self._taken.setdefault(person, deque())
        while taken and taken[0] <= now - MINUTE:
            taken.popleft()
        if len(taken) < self._limit:
            taken.append(now)
            return Allowance.TAKE
        if self._told.get(person, -MINUTE) > now - MINUTE:
            return Allowance.QUIET
        self._told[person] = now
        return Allowance.TELL
