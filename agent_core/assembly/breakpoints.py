"""Where a provider with cache marks gets them, and how long each lives (PCH-5, PCH-7; guide "context_economics").

Entries are written only at marks, and a request looks back at most 20 blocks from each of its marks. So: the end of
what is stable before this turn, the end of the request, and, where a turn has grown long, the end of the call before,
whose entry is then found however many blocks one answer and its results have.
"""

from collections.abc import Sequence

from agent_core.ports import Breakpoint
from agent_core.types import Message, ToolResult

FAR = 15  # blocks (PCH-7): well within the 20 that are looked back at


def breakpoints(
    messages: Sequence[Message], turns: Sequence[int], turn_id: int
) -> tuple[Breakpoint, ...]:
    """Marks for these messages, ascending; at most three, so that one is left for the system text.

    An hour for the stable end and in plain chat; 5 minutes within a tool loop, where the next call follows at once.

    Args:
        messages: what the model sees, in order.
        turns: the turn of each message; the present turn's stand at the end.
        turn_id: the present turn.
    """
    if not messages:
        return ()
    last = len(messages) - 1
    start = next((i for i, turn in enumerate(turns) if turn == turn_id), len(messages))
    in_loop = start <= last and _has_result(messages[last])
    found = [Breakpoint(start - 1, "1h")] if 0 < start <= last else []
    middle = _call_before(messages, start) if in_loop else None
    if middle is not None and sum(len(m.blocks) for m in messages[start:]) > FAR:
        found.append(Breakpoint(middle, "5m"))
    return (*found, Breakpoint(last, "5m" if in_loop else "1h"))


def _has_result(message: Message) -> bool:
    return any(isinstance(block, ToolResult) for block in message.blocks)


def _call_before(messages: Sequence[Message], start: int) -> int | None:
    """Where the model call before this one ended: the message before the newest answer, within the turn."""
    for i in range(len(messages) - 1, start, -1):
        if messages[i].role == "assistant":
            return i - 1
    return None
