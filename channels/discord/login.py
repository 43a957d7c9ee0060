"""Logging in, once for all who need it, and listening; what Discord refuses is said in words that help."""

import asyncio

import aiohttp
import discord

from channels.discord.client import Bot, Listener, ShardedBot
from channels.discord.config import DiscordConfig
from channels.discord.errors import NO_INTENT, NO_LOGIN, translate
from channels.errors import BadCredentials, ChannelError, Unreachable

# Close codes of discord.com/developers/docs/topics/opcodes-and-status-codes that no reconnecting cures
BAD_TOKEN_CODE = 4004
SHARDING = {4010, 4011}
INTENTS = {4013, 4014}


class Login:
    """The one client of a bot, logged in when somebody needs it."""

    def __init__(self, config: DiscordConfig, listener: Listener) -> None:
        self._config = config
        self._listener = listener
        self._lock = asyncio.Lock()
        self.bot: Bot | None = None

    async def get(self) -> Bot:
        """The client. Raises BadCredentials, or another ChannelError when Discord cannot be asked."""
        async with self._lock:
            if self.bot is None:
                self.bot = await self._new()
            return self.bot

    async def close(self) -> None:
        """Close all connections; the next `get` logs in anew."""
        async with self._lock:
            bot, self.bot = self.bot, None
            if bot is not None:
                await bot.close()

    async def _new(self) -> Bot:
        shards = self._config.shards
        if shards not in {"auto", 1}:
            return await self._logged_in(ShardedBot(self._config, self._listener, int(shards)))
        bot = await self._logged_in(Bot(self._config, self._listener))
        if shards == 1:
            return bot
        try:
            count = (await bot.rest.get_bot_gateway())[0]
        except BaseException as e:
            await bot.close()
            if (said := _said(e)) is None:
                raise
            raise said from e
        if count == 1:
            return bot
        await bot.close()
        return await self._logged_in(ShardedBot(self._config, self._listener, count))

    async def _logged_in(self, bot: Bot) -> Bot:
        try:
            await bot.login(self._config.token)
        except BaseException as e:
            await bot.close()
            if (said := _said(e)) is None:
                raise
            raise said from e
        return bot


def _said(error: BaseException) -> ChannelError | None:
    """The error for the channel; None for what is none of Discord's."""
    if isinstance(error, discord.LoginFailure):
        return BadCredentials(NO_LOGIN)
    if isinstance(error, discord.GatewayNotFound):
        return Unreachable("Discord does not say where its gateway is")
    if isinstance(error, discord.DiscordException | aiohttp.ClientError | OSError):
        return translate(error)
    return None


async def connect(bot: Bot) -> None:
    """Listen until the connection ends for good. Raises ChannelError."""
    try:
        await bot.connect()
    except discord.PrivilegedIntentsRequired as e:
        raise BadCredentials(NO_INTENT) from e
    except discord.ConnectionClosed as e:
        if e.code == BAD_TOKEN_CODE:
            raise BadCredentials(NO_LOGIN) from e
        if e.code in SHARDING:
            cure = "set channels.discord.shards to auto"
            raise BadCredentials(f"Discord refuses the number of shards ({e.code}): {cure}") from e
        if e.code in INTENTS:
            raise BadCredentials(NO_INTENT) from e
        raise Unreachable(f"the gateway closed with {e.code}") from e
    except (discord.DiscordException, aiohttp.ClientError, OSError) as e:
        raise translate(e) from e
