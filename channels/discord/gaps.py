"""What was written while nobody listened: looked up in the history of the places that are known.

A RESUME replays by itself. After a new IDENTIFY, and at a cold start, Discord tells nothing of what was missed.
Discord does not say which direct chats there are, so one that nobody knew is looked through when somebody writes there.
Not to be found: a first message ever of a direct chat until the next one there, and at a cold start mentions in
channels where the bot was never spoken to.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import aiohttp
import discord

from channels.base import Seen
from channels.discord.client import Bot
from channels.discord.config import DiscordConfig
from channels.discord.errors import translate
from channels.discord.lanes import Lanes
from channels.discord.newest import Newest
from channels.errors import Ambiguous, ChannelError, FloodLimited, Unreachable
from channels.types import Address

log = logging.getLogger(__name__)

_EPOCH_MS = 1420070400000  # of snowflakes
# Mentions of one channel are stored side by side, so the newest stored one is no proof that those before it are.
# A connection that died silently is noticed after two heart-beats.
OVERLAP = 120.0
AT_ONCE = 4
SEEN_TIMEOUT = 10.0
FIRST_SIGHT_TIMEOUT = 3.0
WAITS = (1.0, 5.0, 15.0)

# Takes a message of the channel with this id; returns when it is durable.
Take = Callable[[discord.Message], Awaitable[None]]


def snowflake(seconds: float) -> int:
    """The lowest id of a moment in Unix time."""
    return max(0, int(seconds * 1000) - _EPOCH_MS) << 22


class Gaps:
    """Fills gaps. Live messages of a place wait until its history has been taken up.

    Args:
        config: how far back, how much.
        seen: what the gateway has stored; None: only this process's own memory.
        lanes: the order of each channel.
        take: where messages go.
        wall: Unix time, seconds.
    """

    def __init__(
        self,
        config: DiscordConfig,
        seen: Seen | None,
        lanes: Lanes,
        take: Take,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._seen = seen
        self._lanes = lanes
        self._take = take
        self._wall = wall
        self._last: Newest[int, int] = Newest()  # newest message id that was taken, by channel
        self._lost_at: float | None = None
        self._done: set[int] = set()
        self.open = asyncio.Event()  # live messages may go to their lanes

    def taken(self, channel: int, message: int) -> None:
        """A message was handed on."""
        self._last[channel] = max(message, self._last.get(channel, 0))

    def lost(self) -> None:
        """The connection is gone; it may be resumed yet."""
        if self._lost_at is None:
            self._lost_at = self._wall()

    def resumed(self) -> None:
        """Nothing was missed."""
        self._lost_at = None

    async def known(self, bot: Bot, account: str) -> None:
        """Fill the gaps of the places that are known. `open`, which the caller cleared, is set soon."""
        try:
            wanted = self._after(await self._places(account))
            self._done = set(wanted)
            limit = asyncio.Semaphore(AT_ONCE)
            tasks = [
                asyncio.create_task(self._fill(bot, channel, after, limit))
                for channel, after in wanted.items()
            ]
            await asyncio.sleep(0)  # each stands in its lane now, before any live message
        finally:
            self.open.set()
        await finished(tasks)

    async def others(self, bot: Bot) -> None:
        """After a new IDENTIFY: fill the gaps of channels in which somebody wrote since the connection was lost."""
        if self._lost_at is None:
            return
        since, self._lost_at = snowflake(self._lost_at - OVERLAP), None
        limit = asyncio.Semaphore(AT_ONCE)
        await finished(
            [
                asyncio.create_task(self._fill(bot, channel, since, limit))
                for channel in written_since(bot, since)
                if channel not in self._done
            ][: self._config.backfill_places]
        )

    async def first_sight(self, bot: Bot, message: discord.Message) -> None:
        """Take up what stands before the first message that is heard of a direct chat, after the bot's own last word.

        The caller holds the chat's lane. Nothing is tried twice, since the message itself waits.
        """
        channel = message.channel.id
        if message.guild is not None or channel in self._last or channel in self._done:
            return
        floor = snowflake(self._wall() - self._config.backfill_hours * 3600)
        missed: list[discord.Message] = []
        try:
            async with asyncio.timeout(FIRST_SIGHT_TIMEOUT):
                async for one in history(bot, channel, floor, self._config):
                    if bot.user is not None and one.author.id == bot.user.id:
                        missed.clear()  # another process of ours has answered these
                    elif one.id < message.id:
                        missed.append(one)
        except (ChannelError, TimeoutError) as e:
            log.info("what stood in the direct chat %s before is not known: %r", channel, e)
        for one in missed:
            await self._take(one)

    async def _places(self, account: str) -> Iterable[tuple[Address, str]]:
        if self._seen is None:
            return ()
        try:
            async with asyncio.timeout(SEEN_TIMEOUT):
                found = await self._seen.places("discord", account)
        except (
            Exception
        ):  # the database is away: what was missed while it was is lost, what comes is not
            log.exception("missed messages are not looked up")
            return ()
        return found[: self._config.backfill_places]

    def _after(self, places: Iterable[tuple[Address, str]]) -> dict[int, int]:
        """From which id on the history of each channel is wanted."""
        floor = snowflake(self._wall() - self._config.backfill_hours * 3600)
        wanted = dict(self._last)
        for address, key in places:
            if not key.isdigit():
                continue
            here = int(address.thread or address.chat)
            wanted[here] = max(int(key), wanted.get(here, 0))
            if address.thread is not None:
                # Its first message is one of the channel's; others there may have opened threads since.
                parent = int(address.chat)
                since = int(address.thread) - (int(OVERLAP * 1000) << 22)
                wanted[parent] = max(since, wanted.get(parent, 0))
        return {channel: max(after, floor) for channel, after in wanted.items()}

    async def _fill(self, bot: Bot, channel: int, after: int, limit: asyncio.Semaphore) -> None:
        async with self._lanes.one(channel), limit:
            for wait in (*WAITS, None):
                try:
                    async for message in history(bot, channel, after, self._config):
                        await self._take(message)
                        after = message.id
                except (FloodLimited, Unreachable, Ambiguous) as e:
                    if wait is None:
                        log.warning("missed messages in channel %s are given up: %s", channel, e)
                        return
                    await asyncio.sleep(max(wait, getattr(e, "retry_after", 0.0)))
                except ChannelError as e:
                    log.info("channel %s has no history for us: %s", channel, e)
                    return
                else:
                    return


async def history(
    bot: Bot, channel: int, after: int, config: DiscordConfig
) -> AsyncIterator[discord.Message]:
    """Messages after an id, oldest first. Raises ChannelError."""
    place = bot.get_partial_messageable(channel)
    found = place.history(
        limit=config.backfill_messages, after=discord.Object(after), oldest_first=True
    )
    try:
        async for message in found:
            yield message
    except (discord.DiscordException, aiohttp.ClientError, OSError) as e:
        raise translate(e) from e


def written_since(bot: Bot, since: int) -> list[int]:
    """Channels and threads of all servers whose newest message is younger than an id."""
    places = [
        *bot.get_all_channels(),
        *(thread for guild in bot.guilds for thread in guild.threads),
    ]
    return [place.id for place in places if (getattr(place, "last_message_id", None) or 0) > since]


async def finished(tasks: list[asyncio.Task[None]]) -> None:
    """Wait for all; cancelled with the caller."""
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
