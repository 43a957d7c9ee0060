"""What the platforms themselves say of our bots: a refused token, a missing scope or intent. For `swarmgate check`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

from channels.errors import ChannelError
from gateway.platforms import discord_config, slack_config
from gateway.problems import Problem
from gateway.settings.settings import Settings

SECONDS = 10.0


async def platform_problems(settings: Settings) -> list[Problem]:
    """Each finding with the key of its bot; one that cannot be asked in 10 s is a finding too."""
    return [problem async for problem in _all(settings)]


async def _all(settings: Settings) -> AsyncIterator[Problem]:
    for number, bot in enumerate(settings.channels.slack.bots()):
        from channels.slack import check as slack

        for line in await _lines(slack.findings(slack_config(settings, bot, number))):
            yield _problem("channels.slack", line)
    for discord_bot in settings.channels.discord.bots():
        from channels.discord import check as discord

        for line in await _lines(discord.findings(discord_config(settings, discord_bot))):
            yield _problem("channels.discord", line)


async def _lines(asking: Awaitable[list[str]]) -> list[str]:
    try:
        async with asyncio.timeout(SECONDS):
            return await asking
    except TimeoutError:
        return [f"no answer within {SECONDS:g} s: check the network, then try again"]
    except ChannelError as e:
        return [f"cannot be asked ({e}): check the network, then try again"]


def _problem(key: str, line: str) -> Problem:
    message, _, cure = line.partition(": ")
    return Problem(message, cure or "see the platform's settings", key=key)
