"""The real clock behind agent_core.ports.Clock."""

import datetime as dt
import time


class SystemClock:
    """Wall time in UTC, and the process's monotonic clock."""

    def now(self) -> dt.datetime:
        """See Clock."""
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        """See Clock."""
        return time.monotonic()
