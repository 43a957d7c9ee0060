"""What the platforms themselves say of our bots: a refused token, a missing scope or intent, a foreign webhook."""

import asyncio
from collections.abc import Awaitable

from channels import checkup, registry
from channels.errors import ChannelError
from gateway.doctor.findings import Finding, Level
from gateway.doctor.ground import Ground
from gateway.platforms import BotConfig, bot_configs
from gateway.problems import Problem

SECONDS = 10.0


async def bots(ground: Ground) -> list[Finding]:
    """All bots that are switched on, each asked by its channel's own check."""
    every = list(bot_configs(ground.settings))
    asking = [_asking(bot) for bot in every]  # imports the SDKs, before any time is counted
    told = await asyncio.gather(*asking)
    return [_finding(bot, found) for bot, lines in zip(every, told, strict=True) for found in lines]


def _asking(bot: BotConfig) -> Awaitable[list[checkup.Finding]]:
    try:
        ask = registry.kind(bot.name).checker()
        return _asked(ask(bot.make())) if ask else _said([])
    except (registry.BrokenKindError, TypeError, ValueError) as error:
        reason, cure = str(error).splitlines()[0], "see the package's own notes"
        return _said([checkup.Finding("fail", f"cannot be used: {reason}", cure)])


async def _said(found: list[checkup.Finding]) -> list[checkup.Finding]:
    return found


async def _asked(asking: Awaitable[list[checkup.Finding]]) -> list[checkup.Finding]:
    """One that cannot be asked in 10 s is a finding too."""
    cure = "check the network and the platform's status page, then try again"
    try:
        async with asyncio.timeout(SECONDS):
            return await asking
    except TimeoutError:
        return [checkup.Finding("fail", f"no answer within {SECONDS:g} s", cure)]
    except ChannelError as error:
        return [checkup.Finding("fail", f"cannot be asked ({error})", cure)]


def _finding(bot: BotConfig, found: checkup.Finding) -> Finding:
    problem = Problem(found.what, found.cure, key=bot.key)
    return Finding(bot.key, Level(found.level), problem)
