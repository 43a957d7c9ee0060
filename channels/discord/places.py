"""Channels and threads: which address a channel has, and which channel an address."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal

import discord

from channels.discord.calls import Calls
from channels.discord.errors import (
    NO_ACCESS,
    NO_PERMISSION,
    THREAD_EXISTS,
    UNKNOWN_MESSAGE,
    WRONG_CHANNEL_TYPE,
    code,
)
from channels.discord.inbound import Spot
from channels.discord.newest import Newest
from channels.discord.render import title_of
from channels.errors import ChannelError, Gone, Refused
from channels.types import Address

log = logging.getLogger(__name__)

DM, THREADS = 1, {10, 11, 12}
Minutes = Literal[60, 1440, 4320, 10080]


class Places:
    """What is known of channels.

    Args:
        calls: REST.
        cached: the library's own knowledge of a channel, if it has any.
        me: the bot's id, 0 while it is unknown.
        archive_minutes: see DiscordConfig.
    """

    def __init__(
        self,
        calls: Calls,
        cached: Callable[[int], object],
        me: Callable[[], int],
        archive_minutes: Minutes,
    ) -> None:
        self._calls = calls
        self._cached = cached
        self._me = me
        self._archive_minutes: Minutes = archive_minutes
        self._spots: Newest[int, Spot] = Newest()
        self._channels: Newest[Address, int] = Newest()
        self._titles: Newest[str, str] = Newest()
        self._opening: dict[Address, asyncio.Lock] = {}

    async def spot(self, place: discord.abc.Snowflake) -> Spot:
        """Where messages of this channel stand. Raises ChannelError when that has to be asked for and cannot be."""
        channel = place.id
        found = self.spot_of(place) or self.spot_of(self._cached(channel))
        if found is not None:
            self._spots[channel] = found
        elif (found := self._spots.get(channel)) is None:
            data = await self._calls.into(channel, lambda http: http.get_channel(channel))
            found = self._spots[channel] = self._from_data(channel, dict(data))
        return found

    def spot_of(self, channel: object) -> Spot | None:
        """Where messages of a channel object stand, as far as the library knows it."""
        if isinstance(channel, discord.Thread):
            own = channel.owner_id == self._me()
            return Spot(str(channel.parent_id), str(channel.id), own=own)
        if isinstance(channel, discord.abc.GuildChannel):
            return Spot(str(channel.id))
        if isinstance(channel, discord.DMChannel):
            return Spot(str(channel.id), private=True)
        return None

    def entitle(self, thread: str | None, text: str) -> None:
        """Keep what was asked, for the name of its thread."""
        if thread is not None:
            self._titles[thread] = title_of(text)

    async def channel(self, address: Address) -> int:
        """Where messages to this address go; its thread is opened when it is not there yet. Raises ChannelError.

        Where the bot may open no thread (or there are none, as beside a voice channel), the channel itself.
        """
        if address.thread is None:
            return int(address.chat)
        if (known := self._channels.get(address)) is not None:
            return known
        if isinstance(self._cached(int(address.thread)), discord.Thread):
            return int(address.thread)
        lock = self._opening.setdefault(address, asyncio.Lock())
        try:
            async with lock:
                if address not in self._channels:
                    self._channels[address] = await self._open(address)
                return self._channels[address]
        finally:
            self._opening.pop(address, None)

    def is_own(self, thread: int) -> bool:
        """Whether the bot opened this thread, as far as is known without asking."""
        spot = self.spot_of(self._cached(thread)) or self._spots.get(thread)
        return spot is not None and spot.own

    async def archive(self, channel: int) -> None:
        """Put a thread away, or leave it open where the bot may not. Raises ChannelError."""
        try:
            await self._calls.into(channel, lambda http: http.edit_channel(channel, archived=True))
        except (Gone, Refused) as e:
            cure = ": give the bot's role Manage Threads there" if code(e) == NO_PERMISSION else ""
            log.warning("the thread %s stays open, since Discord refuses: %s%s", channel, e, cure)

    async def unarchive(self, channel: int) -> None:
        """Take up a thread that was put away. Raises ChannelError."""
        await self._calls.into(channel, lambda http: http.edit_channel(channel, archived=False))

    async def _open(self, address: Address) -> int:
        """Make the thread of a message; one that is there already is as good."""
        chat, thread = int(address.chat), int(address.thread or 0)
        try:
            name = self._titles.get(str(thread)) or await self._asked(chat, thread)
            await self._calls.into(
                chat,
                lambda http: http.start_thread_with_message(
                    chat, thread, name=name, auto_archive_duration=self._archive_minutes
                ),
            )
        except ChannelError as e:
            if code(e) == THREAD_EXISTS:
                return thread
            if code(e) == UNKNOWN_MESSAGE:  # a thread without a first message, or nothing at all
                await self._calls.into(chat, lambda http: http.get_channel(thread))
                return thread
            if code(e) not in {NO_PERMISSION, NO_ACCESS, WRONG_CHANNEL_TYPE}:
                raise
            log.warning("no thread can be opened in channel %s, the answer goes there: %s", chat, e)
            return chat
        return thread

    async def _asked(self, chat: int, message: int) -> str:
        """A title after a restart: what the message says."""
        data = await self._calls.into(chat, lambda http: http.get_message(chat, message))
        return title_of(str(data["content"]).replace(f"<@{self._me()}>", ""))

    def _from_data(self, channel: int, data: dict[str, Any]) -> Spot:
        if data["type"] in THREADS:
            own = int(data.get("owner_id") or 0) == self._me()
            return Spot(str(data["parent_id"]), str(channel), own=own)
        return Spot(str(channel), private=data["type"] == DM)
