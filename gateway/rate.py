"""How many messages of one person are taken up within a minute. In memory: a restart forgives."""

from collections import deque
from enum import StrEnum

MINUTE = 60.0
PEOPLE = 10_000  # who are remembered before those who have been silent for a minute are forgotten


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

    def forgive(self, person: str, allowance: Allowance) -> None:
        """Take back what the last `check` counted: the message had come before."""
        if allowance is Allowance.TAKE and self._taken.get(person):
            self._taken[person].pop()
        elif allowance is Allowance.TELL:
            self._told.pop(person, None)

    def check(self, person: str, now: float) -> Allowance:
        """Count one message of a person at a monotonic time."""
        if len(self._taken) > PEOPLE:
            self._forget(now)
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

    def _forget(self, now: float) -> None:
        recent = {p: t for p, t in self._taken.items() if t and t[-1] > now - MINUTE}
        self._taken = recent
        self._told = {p: at for p, at in self._told.items() if at > now - MINUTE}
