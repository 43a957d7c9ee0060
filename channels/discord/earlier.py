"""What people said in a thread before the bot was called into it (hermes#15201)."""

import logging
from collections.abc import Sequence

import aiohttp
import discord

from channels.discord.client import Bot
from channels.discord.errors import translate
from channels.discord.inbound import Me, Spot, to_inbound
from channels.types import Address, Inbound

log = logging.getLogger(__name__)


async def earlier(bot: Bot, me: Me, address: Address, before: str, limit: int) -> Sequence[Inbound]:
    """See channels.base.CanHistory."""
    if address.thread is None or before == address.thread or not before.isdigit():
        return ()
    place = bot.get_partial_messageable(int(address.thread))
    spot = Spot(address.chat, address.thread)
    found: list[Inbound] = []
    try:
        history = place.history(limit=limit, before=discord.Object(int(before)))
        found = [one async for m in history if (one := to_inbound(m, spot, me, "never"))]
    except (discord.DiscordException, aiohttp.ClientError, OSError) as e:
        log.warning("the thread %s cannot be read: %s", address, translate(e))
    return found[::-1]
