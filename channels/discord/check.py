"""What an operator can mend about a bot before it runs."""

import asyncio

import aiohttp
import discord

from channels.discord.config import DiscordConfig
from channels.discord.errors import NO_INTENT, NO_LOGIN, translate
from channels.discord.http import Http

# discord.com/developers/docs/resources/application, application flags
CONTENT = 1 << 18 | 1 << 19  # verified bots; bots in fewer than 100 servers


async def findings(config: DiscordConfig) -> list[str]:
    """What is wrong, each with its cure in one line; empty when all is well.

    Raises ChannelError when Discord cannot be asked.
    """
    http = Http(asyncio.get_running_loop(), config)
    try:
        await http.static_login(config.token.strip())
        about = await http.application_info()
    except discord.LoginFailure:
        return [NO_LOGIN]
    except (discord.DiscordException, aiohttp.ClientError, OSError) as e:
        raise translate(e) from e
    finally:
        await http.close()
    found = []
    if config.message_content and not int(about.get("flags", 0)) & CONTENT:
        found.append(NO_INTENT)
    if address := about.get("interactions_endpoint_url"):
        cure = "empty Interactions Endpoint URL under General Information in the developer portal"
        found.append(f"commands and buttons go to {address} instead of this bot: {cure}")
    return found
