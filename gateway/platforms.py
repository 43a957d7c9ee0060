"""The chat platforms that are switched on, built from their settings; only their SDKs are imported.

Ours have a builder here; those of other packages come through the entry-point group `swarmgate.channels` and bring a
settings model of their own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from agent_core.ports import Clock
from channels import registry
from channels.base import Channel, Seen
from gateway.commands.commands import Commands
from gateway.commands.completions import Completions
from gateway.inbound.seen import Known, SeenPlaces
from gateway.lean_imports import lean
from gateway.problems import OperatorError, Problem
from gateway.settings.channels import (
    Discord,
    DiscordBot,
    Slack,
    SlackBot,
    Telegram,
    TelegramBot,
)
from gateway.settings.settings import Settings
from gateway.storage.db import Database

TELEGRAM_PATH = "/webhooks/telegram"  # further bots (`accounts`) have their id behind it

if TYPE_CHECKING:
    from channels.discord.config import DiscordConfig
    from channels.slack.config import SlackConfig
    from channels.telegram.config import TelegramConfig


@dataclass(frozen=True, slots=True)
class Wiring:
    """What some channels ask of the gateway."""

    db: Database
    commands: Commands
    clock: Clock

    @property
    def seen(self) -> Seen:
        """Where a channel without redelivery was, and up to what it has seen."""
        return SeenPlaces(self.db)


def platform_channels(settings: Settings, wiring: Wiring) -> list[Channel]:
    """Every bot that is switched on, in the order of the settings. Raises OperatorError, BadCredentials."""
    channels = settings.channels
    made: list[Channel] = [_telegram(settings, bot) for bot in channels.telegram.bots()]
    made += [
        _slack(settings, bot, wiring, number) for number, bot in enumerate(channels.slack.bots())
    ]
    made += [_discord(settings, bot, wiring) for bot in channels.discord.bots()]
    made += [_foreign(name, values) for name, values in channels.foreign.items()]
    return made


def bot_keys(settings: Settings) -> list[str]:
    """Where each bot of `platform_channels` stands in the settings, in the same order, dotted."""
    platforms = settings.channels
    keys: list[str] = []
    for name in ("telegram", "slack", "discord"):
        platform: Telegram | Slack | Discord = getattr(platforms, name)
        keys += [f"channels.{name}"] if platform.enabled else []
        on = (account for account, bot in platform.accounts.items() if bot.enabled)
        keys += [f"channels.{name}.accounts.{account}" for account in on]
    return keys + [f"channels.{name}" for name in platforms.foreign]


@dataclass(frozen=True, slots=True)
class BotConfig:
    """A bot without its channel: where it stands in the settings, its platform, and how its configuration is made.

    `make` raises what the platform's class of settings says about wrong values (TypeError, ValueError), and
    registry.BrokenKindError.
    """

    key: str
    name: str
    make: Callable[[], object]


def bot_configs(settings: Settings) -> Iterator[BotConfig]:
    """Every bot that is switched on, in the order of `platform_channels`. Imports no SDK."""
    keys, channels = iter(bot_keys(settings)), settings.channels
    for bot in channels.telegram.bots():
        yield BotConfig(next(keys), "telegram", partial(telegram_config, settings, bot))
    for number, app in enumerate(channels.slack.bots()):
        yield BotConfig(next(keys), "slack", partial(slack_config, settings, app, number))
    for client in channels.discord.bots():
        yield BotConfig(next(keys), "discord", partial(discord_config, settings, client))
    for name, values in channels.foreign.items():
        yield BotConfig(next(keys), name, partial(_foreign_config, name, values))


def telegram_config(settings: Settings, bot: TelegramBot) -> "TelegramConfig":
    """A Telegram bot's configuration; each further one gets a webhook path of its own."""
    from channels.telegram.config import TelegramConfig

    token = bot.token.get_secret_value() if bot.token else ""
    main = bot is settings.channels.telegram
    return TelegramConfig(
        token,
        base_url=bot.base_url,
        base_file_url=bot.base_file_url,
        mention=settings.groups.mention,
        mode=bot.mode,
        public_url=settings.http.public_url or "",
        webhook_path=TELEGRAM_PATH if main else f"{TELEGRAM_PATH}/{token.partition(':')[0]}",
        webhook_secret=bot.webhook_secret.get_secret_value() if bot.webhook_secret else "",
        reactions=bot.reactions,
        overrides=settings.groups.mentions("telegram"),
    )


def _telegram(settings: Settings, bot: TelegramBot) -> Channel:
    with lean("cryptography"):
        from channels.telegram.channel import TelegramChannel

    return TelegramChannel(telegram_config(settings, bot))


def slack_config(settings: Settings, bot: SlackBot, number: int) -> "SlackConfig":
    """A Slack app's configuration; each further one gets webhook paths of its own."""
    from channels.slack.config import SlackConfig

    return SlackConfig(
        bot_token=bot.bot_token.get_secret_value() if bot.bot_token else "",
        app_token=bot.app_token.get_secret_value() if bot.app_token else "",
        signing_secret=bot.signing_secret.get_secret_value() if bot.signing_secret else "",
        mode="socket" if bot.mode == "socket" else "http",
        base_url=bot.base_url,
        mention=settings.groups.mention,
        overrides=settings.groups.mentions("slack"),
        path="/webhooks/slack" if number == 0 else f"/webhooks/slack/{number + 1}",
    )


def _slack(settings: Settings, bot: SlackBot, wiring: Wiring, number: int) -> Channel:
    from channels.slack.channel import SlackChannel

    return SlackChannel(slack_config(settings, bot, number), knows=Known(wiring.db))


def discord_config(settings: Settings, bot: DiscordBot) -> "DiscordConfig":
    """A Discord bot's configuration."""
    from channels.discord.config import DiscordConfig

    return DiscordConfig(
        bot.token.get_secret_value() if bot.token else "",
        api_url=bot.api_url,
        gateway_url=bot.gateway_url,
        cdn_url=bot.cdn_url,
        shards=bot.shards,
        mention=settings.groups.mention,
        overrides=settings.groups.mentions("discord"),
    )


def _discord(settings: Settings, bot: DiscordBot, wiring: Wiring) -> Channel:
    from channels.discord.channel import DiscordChannel

    complete = Completions(
        wiring.db, wiring.clock, wiring.commands, settings.groups, settings.locale.language
    )
    return DiscordChannel(discord_config(settings, bot), seen=wiring.seen, complete=complete)


def _foreign_config(name: str, values: dict[str, object]) -> object:
    config = registry.kind(name).config_type()
    return config(**values) if config is not None else None


def _foreign(name: str, values: dict[str, object]) -> Channel:
    try:
        return registry.kind(name).build(values)
    except (registry.BrokenKindError, TypeError, ValueError) as e:
        reason = str(e).splitlines()[0]
        problem = Problem(
            f"channels.{name} cannot be used: {reason}",
            "see the package's own notes",
            key=f"channels.{name}",
        )
        raise OperatorError([problem]) from e
