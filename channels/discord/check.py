"""What an operator can mend about a bot before it runs."""

import asyncio

import aiohttp
import discord

from channels.checkup import Finding, fail
from channels.discord.config import DiscordConfig
from channels.discord.errors import NO_INTENT, NO_LOGIN, translate
from channels.discord.http import Http

# discord.com/developers/docs/resources/application, application flags
CONTENT = 1 << 18 | 1 << 19  # verified bots; bots in fewer than 100 servers


async def findings(config: DiscordConfig) -> list[Finding]:
    """Asks for the bot's user and application. Raises ChannelError when Discord cannot be asked."""
    http = Http(asyncio.get_running_loop(), config)
    try:
        me = await http.static_login(config.token.strip())
        about = await http.application_info()
    except discord.LoginFailure:
        return [fail(NO_LOGIN)]
    except (discord.DiscordException, aiohttp.ClientError, OSError) as e:
        raise translate(e) from e
    finally:
        await http.close()
    found = [Finding("ok", f"{me['username']}, socket")]
    if config.message_content and not int(about.get("flags", 0)) & CONTENT:
        found.append(fail(NO_INTENT))
    if address := about.get("interactions_endpoint_url"):
        cure = "empty Interactions Endpoint URL under General Information in the developer portal"
        found.append(
            Finding("fail", f"commands and buttons go to {address} instead of this bot", cure)
        )
    return found
