"""What the library and the network raise, in the words of channels.errors."""

import aiohttp
from discord import DiscordException, HTTPException, RateLimited

from channels.errors import (
    Ambiguous,
    BadCredentials,
    ChannelError,
    FloodLimited,
    Gone,
    Refused,
    Unreachable,
)

# JSON error codes of discord.com/developers/docs/topics/opcodes-and-status-codes
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, UNKNOWN_INTERACTION = 10003, 10008, 10062
ACKNOWLEDGED = 40060
NO_ACCESS, NO_PERMISSION, WRONG_CHANNEL_TYPE = 50001, 50013, 50024
ARCHIVED, THREAD_EXISTS = 50083, 160004
TOO_LARGE = 40005
_GONE = {
    UNKNOWN_CHANNEL,
    10004,  # unknown server
    10013,  # unknown user
    NO_ACCESS,
    50007,  # the person takes no messages from the bot
    50278,  # no server in common
    NO_PERMISSION,
    ARCHIVED,
    160005,  # the thread is locked
}
_TOO_MANY_EDITS = 30046  # of a message older than an hour
_BANNED_FOR = 60.0  # a 429 of the proxy before Discord says no time that can be relied upon

NO_LOGIN = (
    "Discord refuses the token: discord.com/developers/applications, your application, Bot, Reset Token, "
    "then set channels.discord.token"
)
NO_INTENT = (
    "the message content intent is off: discord.com/developers/applications, your application, Bot, "
    "Privileged Gateway Intents, switch on Message Content Intent"
)
_RIGHTS = (
    "give the bot's role View Channel, Send Messages, Create Public Threads, Send Messages in Threads, "
    "Embed Links, Attach Files, Add Reactions and Read Message History there"
)


def translate(error: Exception) -> ChannelError:
    """The channel error for what was raised; `code` finds Discord's own code in it when it is raised from `error`."""
    if isinstance(error, RateLimited):
        return FloodLimited(error.retry_after)
    if isinstance(error, HTTPException):
        return _answered(error)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Unreachable(f"cannot connect to Discord: {type(error).__name__}")
    # A time-out or a reset after the request left, and whatever else left us without an answer.
    return Ambiguous(type(error).__name__)


def code(error: BaseException) -> int:
    """Discord's code of an error, 0 when it has none."""
    cause = error if isinstance(error, DiscordException) else error.__cause__
    return cause.code if isinstance(cause, HTTPException) else 0


def _answered(error: HTTPException) -> ChannelError:
    said = " ".join(str(error.text or error).split())[:300]
    if error.status == 401:
        return BadCredentials(NO_LOGIN)
    if error.status == 429 or error.code == _TOO_MANY_EDITS:
        return FloodLimited(_wait(error))
    if error.code in _GONE:
        cure = f"; {_RIGHTS}" if error.code in {NO_ACCESS, NO_PERMISSION} else ""
        return Gone(f"{said} ({error.code}){cure}")
    if error.status in {504, 524}:
        return Ambiguous(f"status {error.status}")
    if error.status >= 500:
        return Unreachable(f"status {error.status}")
    return Refused(f"{said} ({error.code})")


def _wait(error: HTTPException) -> float:
    try:
        return float(error.response.headers["Retry-After"])
    except (KeyError, ValueError):
        return _BANNED_FOR
