"""The flood gate: while a platform asks us to wait, nothing at all goes to that chat; other chats go on."""

from collections.abc import Callable


class FloodGate:
    """Remembers until when each chat is closed. All traffic of a channel asks it: sends, edits, drafts, typing.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def limit(self, chat: str, seconds: float) -> None:
        """Close a chat for so long from now; never shortens an earlier limit."""
        self._until[chat] = max(self._until.get(chat, 0.0), self._clock() + seconds)

    def left(self, chat: str) -> float:
        """Seconds until the chat opens; 0 when it is open."""
        until = self._until.get(chat)
        if until is None:
            return 0.0
        left = until - self._clock()
        if left <= 0:
            del self._until[chat]
            return 0.0
        return left
