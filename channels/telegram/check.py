"""What an operator can mend about a bot before it runs."""

from collections.abc import Iterator

from telegram import Bot, User, WebhookInfo
from telegram.error import InvalidToken, TelegramError

from channels.checkup import Finding, fail
from channels.telegram.config import TelegramConfig
from channels.telegram.errors import translate
from channels.telegram.transport import Transport

NO_LOGIN = (
    "Telegram refuses the token: ask @BotFather for it (/token, or /revoke for a new one), "
    "then set channels.telegram.token"
)
PRIVACY = (
    "privacy mode is on, so in groups the bot hears only commands, mentions and replies: @BotFather, /setprivacy, "
    "Disable, then remove the bot from its groups and add it again"
)
WAITING = 1_000  # updates; a day of a busy bot that nobody fetched


async def findings(config: TelegramConfig) -> list[Finding]:
    """Asks getMe and getWebhookInfo, which change nothing. Raises ChannelError when Telegram cannot be asked."""
    transport = Transport(1, config.read_timeout, config.base_url)
    try:
        bot = Bot(
            config.token,
            base_url=config.base_url,
            base_file_url=config.base_file_url,
            request=transport,
            get_updates_request=transport,
        )
        me, hook = await bot.get_me(), await bot.get_webhook_info()
    except InvalidToken:
        return [fail(NO_LOGIN)]
    except TelegramError as e:
        raise translate(e) from e
    finally:
        await transport.shutdown()
    return [
        Finding("ok", f"@{me.username}, {config.mode}"),
        *_hearing(config, me),
        *_hooked(config, hook),
    ]


def _hearing(config: TelegramConfig, me: User) -> Iterator[Finding]:
    everything = "always" in {config.mention, *config.overrides.values()}
    if everything and not me.can_read_all_group_messages:
        what, _, cure = PRIVACY.partition(": ")
        yield Finding("warn", what, cure)


def _hooked(config: TelegramConfig, hook: WebhookInfo) -> Iterator[Finding]:
    """What Telegram says of the webhook. One that is to be set or deleted is set or deleted at the start."""
    if config.mode == "polling" and hook.url:
        cure = "the next start deletes it; stop whatever else serves this bot first, or give it a bot of its own"
        yield Finding("warn", f"the bot posts its messages to {hook.url}", cure)
    if config.mode == "webhook" and hook.url == config.webhook_url and hook.last_error_message:
        cure = "open that address to Telegram: TLS, proxy, firewall"
        yield Finding(
            "warn", f"Telegram could not post to {hook.url}: {hook.last_error_message}", cure
        )
    if hook.pending_update_count >= WAITING:
        what = f"{hook.pending_update_count} updates wait at Telegram"
        yield Finding("warn", what, "start the gateway: they are kept for a day")
