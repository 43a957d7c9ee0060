"""The library's client with our addresses, and its events handed to one listener."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal, Protocol, cast

import discord
from discord import client, shard
from discord.backoff import ExponentialBackoff

from channels.discord.config import DiscordConfig
from channels.discord.http import Http
from channels.discord.resumes import Resumes, Socket
from channels.pulse import Pulse

log = logging.getLogger(__name__)

LONGEST_BACKOFF = 30.0
VITAL = ("READY", "RESUMED")  # a connection without them is none
# The library warns at each start that what it needs for voice is not installed.
discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False


class Listener(Protocol):
    """What the channel wants to hear. Each call is a task of its own; tasks begin in the order of the events.

    `pulse` beats at whatever comes.
    """

    pulse: Pulse

    async def connected(self) -> None:
        """A new session: what happened since the last one was not, and will not be, told."""
        ...

    async def disconnected(self) -> None:
        """The connection is gone."""
        ...

    async def resumed(self) -> None:
        """The session goes on; what was missed was told."""
        ...

    async def shard_ready(self) -> None:
        """All servers of a shard are known."""
        ...

    async def is_ready(self) -> None:
        """All servers are known."""
        ...

    async def message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        ...

    async def interaction(self, interaction: discord.Interaction) -> None:
        """Somebody used a command, a button, a menu or a dialog."""
        ...


def _skipping(event: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
    """The library's reading of an event, without its end: one that it cannot read would cost the whole connection."""

    def read(data: Any) -> None:
        try:
            parse(data)
        except Exception as e:  # noqa: BLE001 - whatever the library cannot make of it, the next event comes
            log.error("discord_event_skipped", extra={"event": event, "reason": repr(e)[:200]})  # noqa: TRY400

    return read


class Backoff(ExponentialBackoff[Literal[False]]):
    """The library's own grows to 17 minutes, in which nobody would be heard after an outage."""

    def delay(self) -> float:
        """Seconds until the next try."""
        return min(super().delay(), LONGEST_BACKOFF)


for module in (client, shard):
    vars(module)["ExponentialBackoff"] = Backoff


class Bot(discord.Client):
    """One bot with one connection. Keeps no messages and no members in memory."""

    def __init__(self, config: DiscordConfig, listener: Listener, **more: Any) -> None:
        self._swarm_config = config
        self._swarm_listener = listener
        self.pulse = listener.pulse
        self.resumes = Resumes(config.resume_pause, config.silence)
        intents = discord.Intents(
            guilds=True,
            guild_messages=True,
            dm_messages=True,
            message_content=config.message_content,
        )
        self.events: set[asyncio.Task[Any]] = set()  # handlers that run
        super().__init__(
            intents=intents,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=config.guild_ready_timeout,
            heartbeat_timeout=config.silence,
            **more,
        )

    def _get_state(self, **options: Any) -> Any:
        # The state holds the client it is given, so ours must be there before it is made.
        self.http = Http(self.http.loop, self._swarm_config)
        state = super()._get_state(**options)
        for event, parse in state.parsers.items():
            if event not in VITAL:
                state.parsers[event] = _skipping(event, parse)
        return state

    def _schedule_event(self, *args: Any, **kwargs: Any) -> asyncio.Task[Any]:
        # The library does not keep these tasks, so nothing would end them with the connection.
        task = super()._schedule_event(*args, **kwargs)
        self.events.add(task)
        task.add_done_callback(self.events.discard)
        return task

    async def close(self) -> None:
        """End the handlers and close all connections."""
        for task in (*self.events,):
            task.cancel()
        if self.events:
            await asyncio.wait(self.events)
        await super().close()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Keep the pace that Discord wants."""
        if not initial:
            await asyncio.sleep(self._swarm_config.identify_pause)

    @property
    def rest(self) -> Http:
        """The REST client, which is ours."""
        return cast("Http", self.http)

    async def on_connect(self) -> None:
        """A session began."""
        await self._swarm_listener.connected()

    async def on_disconnect(self) -> None:
        """The connection is gone."""
        await self._swarm_listener.disconnected()

    async def on_resume_sent(self, shard: int | None, socket: Socket) -> None:
        """The session is to go on."""
        await self.resumes.watch(shard, socket)

    async def on_shard_resumed(self, shard: int | None) -> None:
        """A shard's session goes on."""
        self.resumes.ended(shard)

    async def on_resumed(self) -> None:
        """The session goes on."""
        self.resumes.ended(None)
        await self._swarm_listener.resumed()

    async def on_shard_ready(self, _shard: int) -> None:
        """All servers of a shard are known."""
        await self._swarm_listener.shard_ready()

    async def on_ready(self) -> None:
        """All servers are known."""
        await self._swarm_listener.is_ready()
        await self._swarm_listener.shard_ready()

    async def on_message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        await self._swarm_listener.message(message)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Somebody used a command, a button, a menu or a dialog."""
        await self._swarm_listener.interaction(interaction)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """One strange event must not stop the others."""
        log.exception("%s failed", event_method)  # noqa: LOG004 - the library calls this in its handler


class ShardedBot(Bot, discord.AutoShardedClient):
    """One bot with several connections.

    The library forgets the session of a shard whose reconnecting fails once: then history is looked up.
    """

    def __init__(self, config: DiscordConfig, listener: Listener, shards: int) -> None:
        super().__init__(config, listener, shard_count=shards)
