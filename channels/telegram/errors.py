"""What the library raises, in the words of channels.errors."""

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    TelegramError,
)

from channels.errors import (
    Ambiguous,
    BadCredentials,
    ChannelError,
    FloodLimited,
    Gone,
    Refused,
    Unreachable,
)
from channels.telegram.transport import FloodError, NotSentError, ServerError

# Descriptions of the Bot API; the library capitalizes them and takes "Bad Request: " away.
GONE = (
    "chat not found",
    "user is deactivated",
    "group chat was deactivated",
    "chat_write_forbidden",
    "not enough rights to send",
    "have no rights to send",
    "peer_id_invalid",
)
UNPARSED = ("parse entities", "text is empty", "entity_text_invalid")
NOT_MODIFIED = "message is not modified"
EDIT_GONE = ("message to edit not found", "message_id_invalid")
DELETE_GONE = ("message to delete not found", "message can't be deleted", "message_id_invalid")


def says(error: BaseException, *words: str) -> bool:
    """Whether the platform's description has one of these."""
    text = str(error).lower()
    return any(word in text for word in words)


def translate(error: TelegramError) -> ChannelError:
    """The channel error for what the library raised."""
    if isinstance(error, FloodError):
        return FloodLimited(error.retry_after)
    if isinstance(error, InvalidToken):
        return BadCredentials("the token is refused by Telegram")
    if isinstance(error, Forbidden) or (isinstance(error, BadRequest) and says(error, *GONE)):
        return Gone(str(error))
    if isinstance(error, BadRequest | ChatMigrated):
        return Refused(str(error))
    if isinstance(error, NotSentError | ServerError):
        return Unreachable(str(error))
    # A time-out or a reset after the request left, and whatever else left us without an answer.
    return Ambiguous(str(error))
