"""The mark on a person's message in a group: seen, once the answer takes a while, and at the end what came of it.

A quick answer needs no mark. In private chats typing and drafts say the same. Marks are never waited for by an answer,
and what fails about them is of no consequence.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from agent_core.types import TurnStatus
from channels.base import CanReact, Channel, Mark
from gateway.engine.begun import Begun

log = logging.getLogger(__name__)
AFTER_S = 1.0
PATIENCE_S = 5.0  # for one call to the platform
_ENDS: dict[TurnStatus, Mark | None] = {
    TurnStatus.DONE: "done",
    TurnStatus.FAILED: "failed",
    TurnStatus.WAITING: "waiting",
    TurnStatus.STOPPED: None,
}


class MessageMark:
    """The mark on the message that began a turn. Made when the turn starts; `end` it always."""

    def __init__(
        self, channel: Channel | None, begun: Begun, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._address = begun.lane.address
        self._message = begun.item.message_id
        self._sleep = sleep
        self._set = begun.resumed  # then an earlier run may have set it
        self._channel = channel if isinstance(channel, CanReact) else None
        self._task: asyncio.Task[None] | None = None
        if self._channel is not None and self._message and not begun.lane.private:
            self._task = asyncio.create_task(self._seen(), name=f"mark {self._address}")

    async def end(self, status: TurnStatus | None) -> None:
        """Say what came of it; None: the turn is left to another run, and the mark stays as it is."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        if self._set and status is not None:
            await self._react(_ENDS.get(status))

    async def _seen(self) -> None:
        await self._sleep(AFTER_S)
        self._set = True
        await self._react("received")

    async def _react(self, mark: Mark | None) -> None:
        if self._channel is None or self._message is None:
            return
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._channel.react(self._address, self._message, mark)
        except Exception as e:  # noqa: BLE001 - a mark is never vital
            log.debug("mark_failed", extra={"reason": str(e)})
