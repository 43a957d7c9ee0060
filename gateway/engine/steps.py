"""Steps that run now, each a task of its own: a cancel ends the step, not the service of its conversation."""

import asyncio
from dataclasses import dataclass, field

from gateway.engine.base import Progress, Runner


@dataclass(slots=True)
class _Step:
    """A running step; `ended` is set when its turn is closed as well."""

    task: asyncio.Task[Progress]
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Steps:
    """The running steps of one process, at most one for each conversation."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._running: dict[str, _Step] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, conversation_id: object) -> bool:
        return conversation_id in self._running

    async def run(self, conversation_id: str) -> Progress:
        """Run one step. After `cancel` its turn is closed and AGAIN is returned, since later rows go on.

        Cancelled itself (a drain), it cuts the step off where it is and raises once that has ended.
        """
        step = _Step(asyncio.create_task(self._runner.step(conversation_id)))
        self._running[conversation_id] = step
        try:
            return await asyncio.shield(step.task)
        except asyncio.CancelledError:
            if not step.task.cancelled():
                step.task.cancel()  # we are cancelled ourselves
                await asyncio.wait([step.task])
                raise
            await self._runner.close_stopped(conversation_id)
            return Progress.AGAIN
        finally:
            self._running.pop(conversation_id, None)
            step.ended.set()

    async def cancel(self, conversation_id: str) -> bool:
        """Stop a running step; false when none runs. Returns when its turn is closed."""
        step = self._running.get(conversation_id)
        if step is None:
            return False
        step.task.cancel()
        await step.ended.wait()
        return True
