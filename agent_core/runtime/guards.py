"""Guards against a model that goes round in circles.

Exact: the same tool with the same arguments three times in the last six calls (DOM-1). Fuzzy: the
same tool, equal short arguments, and long texts (50 characters or more) that are nearly the same,
three times (DOM-2); short texts and data are only compared exactly, so neither ten symbols with one
long shared text nor a sweep over parameters trips (DOM-6). The check comes before the call is
dispatched (DOM-5), and the window is one turn.
"""

from collections.abc import Sequence
from typing import Any

from agent_core.types import Row, RowKind, ToolUse

SAME_CALLS = 2  # DOM-1: a third one, among the last six, is stopped
LONG = 50
SIMILAR = 0.8
EXEMPT = frozenset({"check_background_tasks"})  # DOM-3


def tripped(same_calls: int = SAME_CALLS) -> str:
    """What the model is told of a stopped call."""
    return (
        f"The same call was made {same_calls + 1} times with nothing new; it was stopped. "
        "Answer from what is known."
    )


def made_calls(rows: Sequence[Row], turn_id: int) -> list[ToolUse]:
    """The calls of this turn, in order."""
    return [
        call
        for row in rows
        if row.turn_id == turn_id and row.kind is RowKind.ASSISTANT
        for call in row.message.calls
    ]


def first_loop(
    earlier: Sequence[ToolUse], batch: Sequence[ToolUse], same_calls: int = SAME_CALLS
) -> int | None:
    """Index in `batch` of the first call that closes a loop, or None.

    So many calls may be the same; one more among twice as many is a loop.
    """
    repeats = same_calls + 1
    past = [call for call in earlier if call.name not in EXEMPT]
    for index, call in enumerate(batch):
        if call.name in EXEMPT:
            continue
        past.append(call)
        recent = past[-2 * repeats :]
        if sum(_same(call, other) for other in recent) >= repeats:
            return index
    return None


def _same(a: ToolUse, b: ToolUse) -> bool:
    if a.name != b.name:
        return False
    if a.args == b.args:
        return a.args is not None or a.raw == b.raw
    if a.args is None or b.args is None:
        return False
    return _alike(a.args, b.args)


def _alike(a: dict[str, Any], b: dict[str, Any]) -> bool:
    long_a, short_a = _parted(a)
    long_b, short_b = _parted(b)
    if short_a != short_b or long_a.keys() != long_b.keys() or not long_a:
        return False
    return all(_jaccard(long_a[key], long_b[key]) >= SIMILAR for key in long_a)


def _parted(args: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    long = {k: v for k, v in args.items() if isinstance(v, str) and len(v) >= LONG}
    return long, {k: v for k, v in args.items() if k not in long}


def _jaccard(a: str, b: str) -> float:
    grams_a = {a[i : i + 3] for i in range(len(a) - 2)}
    grams_b = {b[i : i + 3] for i in range(len(b) - 2)}
    return len(grams_a & grams_b) / max(1, len(grams_a | grams_b))
