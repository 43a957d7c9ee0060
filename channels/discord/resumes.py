"""RESUMEs that fail: three in a row, with pauses, and then a new session (openclaw#20668).

The library tries a RESUME again at once and for ever where each one ends the connection. A new session has a gap, which
`gaps.py` fills from the history.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Self

from discord import client, shard
from discord.gateway import DiscordWebSocket

if TYPE_CHECKING:
    from channels.discord.client import Bot

MOST = 3


class Resumes:
    """How many RESUMEs were sent in a row without success, by shard (None where there is one only).

    Args:
        pause: seconds before the second try; doubled before the third.
    """

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._tries: dict[int | None, int] = {}

    def sent(self, number: int | None) -> None:
        """A RESUME is on its way."""
        self._tries[number] = self._tries.get(number, 0) + 1

    def ended(self, number: int | None) -> None:
        """The session goes on, or a new one has begun."""
        self._tries.pop(number, None)

    async def allows(self, number: int | None) -> bool:
        """Whether another RESUME is worth it; returns when it may go."""
        tries = self._tries.get(number, 0)
        if tries >= MOST:
            return False
        if tries:
            await asyncio.sleep(self._pause * 2 ** (tries - 1))
        return True


class Socket(DiscordWebSocket):
    """A gateway connection that identifies anew where resuming does not lead anywhere."""

    @classmethod
    async def from_client(cls, client: Any, **wanted: Any) -> Self:
        """Open it; see the library."""
        bot: Bot = client
        number = wanted.get("shard_id")
        if wanted.get("resume") and not await bot.resumes.allows(number):
            wanted |= {"resume": False, "session": None, "sequence": None, "gateway": None}
        if not wanted.get("resume"):
            bot.resumes.ended(number)
        return await super().from_client(client, **wanted)

    async def resume(self) -> None:
        """Ask for what was missed."""
        self._dispatch("resume_sent", self.shard_id)
        await super().resume()


for module in (client, shard):
    vars(module)["DiscordWebSocket"] = Socket
