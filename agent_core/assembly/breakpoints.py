"""Where a provider with cache marks gets them: the end of what is stable before this turn, and the end (PCH-5)."""

from collections.abc import Sequence


def marks(turns: Sequence[int], turn_id: int) -> tuple[int, ...]:
    """Indexes of messages whose last block is marked, given each message's turn.

    At most two; ascending.
    """
    if not turns:
        return ()
    last = len(turns) - 1
    before = next((i - 1 for i, turn in enumerate(turns) if turn == turn_id), last)
    return (last,) if before < 0 or before == last else (before, last)
