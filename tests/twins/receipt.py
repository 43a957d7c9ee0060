"""A receipt that lives in memory, for tests of channels."""

from collections.abc import Sequence


class MemoryReceipt:
    """Implements channels.base.Receipt.

    Attributes:
        log: what was told, in order: ("shown", id, final) and ("settled", index).
        fail_next: the next telling raises this once, after it was stored (a kill between a send and what follows it).
    """

    def __init__(self, ids: Sequence[str] = (), final: int = 0) -> None:
        self._ids = list(ids)
        self._final = final
        self.log: list[tuple[object, ...]] = []
        self.fail_next: BaseException | None = None

    @property
    def ids(self) -> Sequence[str]:
        """Message ids, in order."""
        return tuple(self._ids)

    @property
    def final(self) -> int:
        """How many have their final content."""
        return self._final

    async def shown(self, message_id: str, *, final: bool, last: bool = False) -> None:
        """A new message is visible. A final one needs everything before it to be final."""
        assert not final or self._final == len(self._ids), (
            "a final message behind an unfinished one"
        )
        self._ids.append(message_id)
        self._final += final
        self._note("shown", message_id, final)

    async def settled(self, index: int, *, last: bool = False) -> None:
        """Message `index` is final. They settle in order."""
        assert index < len(self._ids), f"message {index} was never shown"
        assert index <= self._final, f"message {index} settled before message {self._final}"
        self._final = max(self._final, index + 1)
        self._note("settled", index)

    def _note(self, *entry: object) -> None:
        self.log.append(entry)
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            raise error
