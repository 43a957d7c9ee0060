"""How many messages of one person, and of one group, are taken up within a minute. In memory: a restart forgives."""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

MINUTE = 60.0
GROUP_FACTOR = 4  # a whole group may write as much as four people
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


@dataclass(frozen=True, slots=True)
class Judged:
    """What to do with a message. `whole`: it is the group, not the person, that wrote too much; `limit` a minute."""

    allowance: Allowance
    limit: int
    whole: bool = False


class Rates:
    """The limits of people and, in groups, of the group as a whole (CHN-3)."""

    def __init__(self, per_minute: int) -> None:
        self._limit = per_minute
        self._people = RateLimit(per_minute)
        self._groups = RateLimit(per_minute * GROUP_FACTOR)

    def check(self, person: str, group: str | None, now: float) -> Judged:
        """Count one message of a person, in a group or (None) in private, at a monotonic time."""
        allowance = self._people.check(person, now)
        if group is None or allowance is not Allowance.TAKE:
            return Judged(allowance, self._limit)
        return Judged(self._groups.check(group, now), self._limit * GROUP_FACTOR, whole=True)

    def forgive(self, person: str, group: str | None, judged: Judged) -> None:
        """Take back what the last `check` counted: the message had come before."""
        if judged.whole and group is not None:
            self._groups.forgive(group, judged.allowance)
            self._people.forgive(person, Allowance.TAKE)
        else:
            self._people.forgive(person, judged.allowance)
