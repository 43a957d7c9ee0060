"""From transcript rows to a model request: a pure function, so that the same rows give the same bytes (ASM-13).

Tool results follow their call in call order, whatever the order in which they were stored.
Neighbours of one role are merged by the provider's normaliser, which runs last.
"""

from collections.abc import Sequence

from agent_core.assembly.breakpoints import marks
from agent_core.assembly.window import fit
from agent_core.ports import Breakpoint, ModelRequest, ToolSchema
from agent_core.types import Checkpoint, Message, Row, RowKind, ToolResult


def visible(rows: Sequence[Row], checkpoints: Sequence[Checkpoint]) -> list[Row]:
    """The rows that no checkpoint leaves out, in order."""
    undone = [c for c in checkpoints if c.kind == "undo"]
    return [r for r in rows if not any(c.after < r.seq < c.until for c in undone)]


def view(rows: Sequence[Row], checkpoints: Sequence[Checkpoint] = ()) -> list[tuple[int, Message]]:
    """(turn id, message) pairs as a model sees them."""
    rows = visible(rows, checkpoints) if checkpoints else rows
    results = {row.ref: row for row in rows if row.kind is RowKind.RESULT}
    seen: list[tuple[int, Message]] = []
    for row in rows:
        if row.kind in (RowKind.USER, RowKind.NOTE):
            seen.append((row.turn_id, row.message))
        elif row.kind is RowKind.ASSISTANT:
            seen.append((row.turn_id, row.message))
            answers = _answers(row.message, results)
            if answers:
                seen.append((row.turn_id, Message("user", answers)))
    return seen


def _answers(message: Message, results: dict[str, Row]) -> tuple[ToolResult, ...]:
    found = (results[call.id].message for call in message.calls if call.id in results)
    return tuple(b for m in found for b in m.blocks if isinstance(b, ToolResult))


def build(
    *,
    system: str,
    rows: Sequence[Row],
    tools: tuple[ToolSchema, ...],
    turn_id: int,
    window: int,
    max_tokens: int,
    effort: str | None = None,
    checkpoints: Sequence[Checkpoint] = (),
) -> ModelRequest:
    """The request for the next model call. `window` is the model's context window in tokens."""
    seen = fit(view(rows, checkpoints), system, tools, window)
    messages = tuple(message for _, message in seen)
    return ModelRequest(
        system=system,
        messages=messages,
        tools=tools,
        max_tokens=max_tokens,
        effort=effort,
        breakpoints=tuple(Breakpoint(at) for at in marks([turn for turn, _ in seen], turn_id)),
    )
