"""Every REST call into a place goes through here: the flood gate and the mapping of errors."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import aiohttp
from discord import DiscordException

from channels.discord.errors import translate
from channels.discord.http import Http
from channels.errors import FloodLimited
from channels.flood import FloodGate

T = TypeVar("T")
# Gives the client that is logged in. Raises ChannelError.
Api = Callable[[], Awaitable[Http]]


class Calls:
    """Calls into channels, for sends, previews and marks alike."""

    def __init__(self, api: Api, gate: FloodGate) -> None:
        self._api = api
        self.gate = gate

    async def into(self, channel: int, call: Callable[[Http], Awaitable[T]]) -> T:
        """Do `call`. Raises FloodLimited at once while the channel is limited, else any ChannelError."""
        if left := self.gate.left(str(channel)):
            raise FloodLimited(left)
        try:
            return await call(await self._api())
        except (DiscordException, aiohttp.ClientError, OSError) as e:
            error = translate(e)
            if isinstance(error, FloodLimited):
                self.gate.limit(str(channel), error.retry_after)
            raise error from e
