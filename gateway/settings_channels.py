"""The settings of chat platforms."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from gateway.settings_fields import Disabled, PositiveInt, Secret, Section, Text, fault, only, url

_TELEGRAM_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")


class Telegram(Section):
    """A Telegram bot. The base addresses are Telegram's own or those of a local Bot API server."""

    enabled: bool = False
    token: Secret = None
    mode: Annotated[str, only("polling")] = "polling"
    base_url: Annotated[str, AfterValidator(url)] = "https://api.telegram.org/bot"
    base_file_url: Annotated[str, AfterValidator(url)] = "https://api.telegram.org/file/bot"
    webhook_secret: Secret = None

    @model_validator(mode="after")
    def _token(self) -> "Telegram":
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


class Slack(Section):
    """Slack; accepted while it is disabled."""

    enabled: Disabled = False
    bot_token: Secret = None
    app_token: Secret = None
    signing_secret: Secret = None
    mode: Literal["socket", "webhook"] = "socket"
    base_url: Annotated[str, AfterValidator(url)] = "https://slack.com/api/"


class Discord(Section):
    """Discord; accepted while it is disabled."""

    enabled: Disabled = False
    token: Secret = None
    api_url: Annotated[str, AfterValidator(url)] = "https://discord.com/api/v10"
    gateway_url: Text = None
    cdn_url: Annotated[str, AfterValidator(url)] = "https://cdn.discordapp.com"
    shards: Literal["auto"] | PositiveInt = "auto"


class Web(Section):
    """The built-in web chat."""

    enabled: bool = True


class Channels(Section):
    """The chat platforms."""

    telegram: Telegram = Telegram()
    slack: Slack = Slack()
    discord: Discord = Discord()
    web: Web = Web()
