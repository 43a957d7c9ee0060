"""The settings of chat platforms."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from channels import registry
from gateway.settings.fields import PositiveInt, Secret, Section, Text, fault, url

_TELEGRAM_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")


class TelegramBot(Section):
    """A Telegram bot. The base addresses are Telegram's own or those of a local Bot API server.

    `mode` webhook: Telegram posts to `http.public_url`, with `webhook_secret` as its proof. `reactions`: messages in
    groups are marked when an answer takes a while, and when it is there.
    """

    enabled: bool = False
    token: Secret = None
    mode: Literal["polling", "webhook"] = "polling"
    base_url: Annotated[str, AfterValidator(url)] = "https://api.telegram.org/bot"
    base_file_url: Annotated[str, AfterValidator(url)] = "https://api.telegram.org/file/bot"
    webhook_secret: Secret = None
    reactions: bool = True

    @model_validator(mode="after")
    def _secret(self) -> "TelegramBot":
        secret = self.webhook_secret.get_secret_value() if self.webhook_secret else ""
        if self.enabled and self.mode == "webhook" and not secret:
            cure = "set `webhook_secret` or TELEGRAM_WEBHOOK_SECRET to a long random word"
            raise fault("webhook mode needs a webhook_secret", cure, "webhook_secret")
        if secret and not _WEBHOOK_SECRET.fullmatch(secret):
            cure = "use 1 to 256 of A-Z, a-z, 0-9, _ and -"
            raise fault("Telegram does not take this secret", cure, "webhook_secret")
        return self

    @model_validator(mode="after")
    def _token(self) -> "TelegramBot":
        token = self.token.get_secret_value() if self.token else ""
        if self.enabled and not token:
            raise fault(
                "telegram is enabled but has no token",
                "set `token` or TELEGRAM_BOT_TOKEN to what @BotFather gave you",
                "token",
            )
        if token and not _TELEGRAM_TOKEN.fullmatch(token):
            cure = "copy it whole from @BotFather; it looks like 123456:ABC-DEF"
            raise fault("this is not a Telegram bot token", cure, "token")
        return self


class TelegramAccount(TelegramBot):
    """One of several Telegram bots."""

    enabled: bool = True


class Telegram(TelegramBot):
    """Telegram: one bot, or several by name under `accounts`."""

    accounts: dict[str, TelegramAccount] = Field(default_factory=dict)

    def bots(self) -> list[TelegramBot]:
        """The bots that are switched on."""
        return [bot for bot in (self, *self.accounts.values()) if bot.enabled]

    def hooked(self) -> str:
        """The key of the first bot in webhook mode, dotted; empty for none."""
        if self.enabled and self.mode == "webhook":
            return "mode"
        names = (n for n, bot in self.accounts.items() if bot.enabled and bot.mode == "webhook")
        return next((f"accounts.{name}.mode" for name in names), "")


class SlackBot(Section):
    """A Slack app in one workspace: by Socket Mode, or by signed requests to /webhooks/slack/…."""

    enabled: bool = False
    bot_token: Secret = None
    app_token: Secret = None
    signing_secret: Secret = None
    mode: Literal["socket", "webhook"] = "socket"
    base_url: Annotated[str, AfterValidator(url)] = "https://slack.com/api/"

    @model_validator(mode="after")
    def _tokens(self) -> "SlackBot":
        second = (
            ("app_token", "xapp-…") if self.mode == "socket" else ("signing_secret", "a secret")
        )
        for key, form in (("bot_token", "xoxb-…"), second):
            if self.enabled and getattr(self, key) is None:
                cure = (
                    f"set `{key}` ({form}); `swarmgate slack-manifest` prints how to make the app"
                )
                raise fault(f"slack is enabled but has no {key}", cure, key)
        return self


class SlackAccount(SlackBot):
    """One of several Slack apps."""

    enabled: bool = True


class Slack(SlackBot):
    """Slack: one app, or several by name under `accounts`."""

    accounts: dict[str, SlackAccount] = Field(default_factory=dict)

    def bots(self) -> list[SlackBot]:
        """The apps that are switched on."""
        return [bot for bot in (self, *self.accounts.values()) if bot.enabled]


class DiscordBot(Section):
    """A Discord bot."""

    enabled: bool = False
    token: Secret = None
    api_url: Annotated[str, AfterValidator(url)] = "https://discord.com/api/v10"
    gateway_url: Text = None
    cdn_url: Annotated[str, AfterValidator(url)] = "https://cdn.discordapp.com"
    shards: Literal["auto"] | PositiveInt = "auto"

    @model_validator(mode="after")
    def _has_token(self) -> "DiscordBot":
        if self.enabled and self.token is None:
            cure = "set `token` or DISCORD_BOT_TOKEN to what the developer portal gave you"
            raise fault("discord is enabled but has no token", cure, "token")
        return self


class DiscordAccount(DiscordBot):
    """One of several Discord bots."""

    enabled: bool = True


class Discord(DiscordBot):
    """Discord: one bot, or several by name under `accounts`."""

    accounts: dict[str, DiscordAccount] = Field(default_factory=dict)

    def bots(self) -> list[DiscordBot]:
        """The bots that are switched on."""
        return [bot for bot in (self, *self.accounts.values()) if bot.enabled]


class Web(Section):
    """The built-in web chat."""

    enabled: bool = True


class Channels(Section):
    """The chat platforms."""

    telegram: Telegram = Telegram()
    slack: Slack = Slack()
    discord: Discord = Discord()
    web: Web = Web()
    foreign: dict[str, dict[str, object]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _others(cls, data: object) -> object:
        """Channels of other packages (entry points `swarmgate.channels`) keep their values as they stand."""
        if not isinstance(data, dict):
            return data
        others = set(registry.names()) & data.keys() - cls.model_fields.keys()
        foreign = {name: data[name] or {} for name in others}
        return {k: v for k, v in data.items() if k not in others} | {"foreign": foreign}
