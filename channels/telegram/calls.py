"""Every call into a chat goes through here: the flood gate, groups that moved, and the mapping of errors."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from telegram.error import ChatMigrated, TelegramError

from channels.errors import FloodLimited
from channels.flood import FloodGate
from channels.telegram.errors import translate

T = TypeVar("T")


class Calls:
    """Calls into chats, for sends and previews alike."""

    def __init__(self, gate: FloodGate) -> None:
        self.gate = gate
        self._moved: dict[str, int] = {}

    async def into(self, chat: str, call: Callable[[int], Awaitable[T]]) -> T:
        """Do `call(chat id)`. Raises FloodLimited at once while the chat is limited, else any ChannelError.

        A group that was upgraded has a new id: the call is made once more there, later ones go there directly.
        """
        if left := self.gate.left(chat):
            raise FloodLimited(left)
        try:
            try:
                return await call(self._moved.get(chat, int(chat)))
            except ChatMigrated as e:
                self._moved[chat] = e.new_chat_id
                return await call(e.new_chat_id)
        except TelegramError as e:
            error = translate(e)
            if isinstance(error, FloodLimited):
                self.gate.limit(chat, error.retry_after)
            raise error from e
