"""Keeps a request inside the model's window by leaving out the oldest turns whole.

A plain guard: turns are never split, so tool pairs stay whole, and the present turn always stays.
What is left out stands in the transcript.
"""

from collections.abc import Sequence

from agent_core.assembly.sections import runtime_note
from agent_core.models.tokens import mixed, of_message, threshold
from agent_core.ports import ToolSchema
from agent_core.types import Message, user

_LEFT_OUT = "Earlier turns of this conversation were left out to fit the model's window."


def fit(
    seen: Sequence[tuple[int, Message]], system: str, tools: tuple[ToolSchema, ...], window: int
) -> list[tuple[int, Message]]:
    """The newest turns that fit `window` minus its reserve (TOK-4), with a note when some were left out."""
    budget = threshold(window)
    fixed = mixed(system, (), tools)
    sizes = [of_message(message) for _, message in seen]
    total = fixed + sum(sizes)
    if total <= budget:
        return list(seen)
    start = 0
    while total > budget and start < len(seen) and seen[start][0] != seen[-1][0]:
        turn = seen[start][0]
        while start < len(seen) and seen[start][0] == turn:
            total -= sizes[start]
            start += 1
    if start == 0:
        return list(seen)

    return [(seen[start][0], user(runtime_note(_LEFT_OUT))), *seen[start:]]
