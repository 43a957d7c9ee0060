"""RESUMEs that fail: three in a row, with pauses, and then a new session (openclaw#20668).

The library tries a RESUME again at once and for ever where each one ends the connection, and waits for ever where none
is answered while heart-beats are. A new session has a gap, which `gaps.py` fills from the history.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Self

from discord import client, shard
from discord.gateway import DiscordWebSocket

from channels.pulse import Pulse

if TYPE_CHECKING:
    from channels.discord.client import Bot

MOST = 3


class Resumes:
    """How many RESUMEs were sent in a row without success, by shard (None where there is one only).

    Args:
        pause: seconds before the second try; doubled before the third.
        patience: seconds until a RESUME that was not answered has failed.
    """

    def __init__(self, pause: float, patience: float) -> None:
        self._pause = pause
        self._patience = patience
        self._tries: dict[int | None, int] = {}
        self._open: dict[int | None, asyncio.Event] = {}

    async def watch(self, number: int | None, socket: "Socket") -> None:
        """A RESUME is on its way; returns when something has come of it, or when its connection was ended."""
        self._tries[number] = self._tries.get(number, 0) + 1
        self._let_go(number)
        over = self._open[number] = asyncio.Event()
        try:
            async with asyncio.timeout(self._patience):
                await over.wait()
        except TimeoutError:
            await socket.close(4000)  # the next try is another RESUME, or a new session

    def ended(self, number: int | None) -> None:
        """The session goes on, or a new one begins."""
        self._tries.pop(number, None)
        self._let_go(number)

    def _let_go(self, number: int | None) -> None:
        if (over := self._open.pop(number, None)) is not None:
            over.set()

    async def allows(self, number: int | None) -> bool:
        """Whether another RESUME is worth it; returns when it may go."""
        tries = self._tries.get(number, 0)
        if tries >= MOST:
            return False
        if tries:
            await asyncio.sleep(self._pause * 2 ** (tries - 1))
        return True


class Socket(DiscordWebSocket):
    """A gateway connection that identifies anew where resuming does not lead anywhere.

    Whatever comes is a beat of `pulse`: Discord answers heart-beats even where nobody writes.
    """

    pulse: Pulse | None = None

    @classmethod
    async def from_client(cls, client: Any, **wanted: Any) -> Self:
        """Open it; see the library."""
        bot: Bot = client
        number = wanted.get("shard_id")
        if wanted.get("resume") and not await bot.resumes.allows(number):
            wanted |= {"resume": False, "session": None, "sequence": None, "gateway": None}
        if not wanted.get("resume"):
            bot.resumes.ended(number)
        made = await super().from_client(client, **wanted)
        made.pulse = bot.pulse
        return made

    async def received_message(self, msg: Any, /) -> None:
        """Something came; see the library."""
        if self.pulse is not None:
            self.pulse.beat()
        await super().received_message(msg)

    async def resume(self) -> None:
        """Ask for what was missed."""
        self._dispatch("resume_sent", self.shard_id, self)
        await super().resume()


for module in (client, shard):
    vars(module)["DiscordWebSocket"] = Socket
