"""One reaction of the bot on a person's message: received, done, failed, waiting for somebody."""

import logging

from channels.base import Mark
from channels.discord.calls import Calls
from channels.discord.newest import Newest
from channels.errors import ChannelError
from channels.types import Address

log = logging.getLogger(__name__)

EMOJI: dict[Mark, str] = {"received": "👀", "done": "✅", "failed": "❌", "waiting": "⏳"}


class Marks:
    """Sets marks. What mark a message has is known for the newest ones of this process."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._now: Newest[str, Mark] = Newest()

    async def set(self, address: Address, message_id: str, mark: Mark | None) -> None:
        """See CanReact."""
        # The message at which a thread begins stands in the channel, not in the thread.
        outside = address.thread is None or message_id == address.thread
        channel, message = int(address.chat if outside else address.thread or 0), int(message_id)
        before = self._now.get(message_id)
        if before is not None and before == mark:
            return
        # An earlier process may have left one of these.
        left: list[Mark] = [] if mark == "received" else ["received", "waiting"]
        if before is not None:
            left = [before]
        try:
            if mark is not None:
                await self._add(channel, message, EMOJI[mark])
                self._now[message_id] = mark
            else:
                self._now.pop(message_id, None)
            for one in left:
                if one != mark:
                    await self._remove(channel, message, EMOJI[one])
        except ChannelError as e:
            log.debug("a mark was not set: %s", e)

    async def _add(self, channel: int, message: int, emoji: str) -> None:
        await self._calls.into(channel, lambda http: http.add_reaction(channel, message, emoji))

    async def _remove(self, channel: int, message: int, emoji: str) -> None:
        await self._calls.into(
            channel, lambda http: http.remove_own_reaction(channel, message, emoji)
        )
