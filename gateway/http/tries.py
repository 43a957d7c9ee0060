"""How often somebody may guess: wrong codes and tokens are counted by address, and of all addresses together."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_core.errors import SwarmgateError

TRIES = 10  # wrong ones of one address within TRY_SECONDS; of all together ten times as many
TRY_SECONDS = 60.0


class TooManyTries(SwarmgateError):
    """Too many wrong codes."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too many wrong codes: try again in {retry_after:.0f} s")
        self.retry_after = retry_after


@dataclass(slots=True)
class _Tries:
    """Times of wrong ones, oldest first."""

    limit: int
    at: deque[float] = field(default_factory=deque)

    def wait(self, now: float) -> float:
        """Seconds until another try is allowed; 0 means now."""
        while self.at and self.at[0] <= now - TRY_SECONDS:
            self.at.popleft()
        return self.at[0] + TRY_SECONDS - now if len(self.at) >= self.limit else 0.0


class Throttle:
    """Counts wrong tries. `check` before a try, also before a right one, and `wrong` after a wrong one."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self._all = _Tries(TRIES * 10)
        self._of: dict[str, _Tries] = {}

    def check(self, remote: str) -> None:
        """Raises TooManyTries where this address, or all of them, have to wait."""
        now = self._now()
        tries = self._of.get(remote)
        if wait := max(tries.wait(now) if tries else 0.0, self._all.wait(now)):
            raise TooManyTries(wait)

    def wrong(self, remote: str) -> None:
        """Count a wrong try."""
        now = self._now()
        self._of = {r: t for r, t in self._of.items() if t.at and t.at[-1] > now - TRY_SECONDS}
        self._of.setdefault(remote, _Tries(TRIES)).at.append(now)
        self._all.at.append(now)
