"""The watchdog: a run in which nothing is finished for too long is ended (EVT-8).

A sign of life is a completed model call or a stored tool result. What streams, pings or reports progress is none.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.errors import SwarmgateError
from agent_core.runtime.run import Run

MARGIN = 60.0  # seconds beyond the longest time that a tool may take


class Stalled(SwarmgateError):
    """Nothing was finished for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no model answer and no tool result for {seconds:g} s")
        self.seconds = seconds


@asynccontextmanager
async def watched(run: Run) -> AsyncIterator[None]:
    """Raise Stalled inside the block when the run, and every delegation of it, has finished nothing for its limit.

    While the block runs, `run.alive()` starts the time anew; that of an enclosing block with it. No task is made.
    """
    limits = run.agent.limits
    seconds = max(limits.stall_timeout, limits.tool_timeout + MARGIN)
    outer = run.alive
    now = asyncio.get_running_loop().time
    clock = asyncio.timeout(seconds)

    def alive() -> None:
        outer()
        if not clock.expired():
            clock.reschedule(now() + seconds)

    try:
        async with clock:
            run.alive = alive
            try:
                yield
            finally:
                run.alive = outer
    except TimeoutError:
        if not clock.expired():
            raise
        raise Stalled(seconds) from None
