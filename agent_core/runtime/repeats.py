"""Calls that would only find out again what this turn knows (DOM-7).

A deterministic tool runs once in a turn for equal arguments; a repeat gets the identical result. Nothing is kept for
it: the rows are the cache, so a resumed turn has it as well.
"""

import json
from collections.abc import Iterator, Sequence

from agent_core.runtime.guards import made_calls
from agent_core.tools.spec import ToolFailure, ToolSpec
from agent_core.types import Row, RowKind, ToolUse


def key_of(call: ToolUse, spec: ToolSpec | None) -> str | None:
    """What is equal for calls that have equal results; None where running it again may find something else."""
    if spec is None or not spec.deterministic or call.args is None:
        return None
    try:
        checked = spec.check(call.args)
    except ToolFailure:
        return None
    return f"{spec.name} {json.dumps(checked.model_dump(mode='json'), sort_keys=True)}"


def known(rows: Sequence[Row], turn_id: int, call: ToolUse, spec: ToolSpec) -> Row | None:
    """The RESULT row of an equal call of this turn that did not fail. Rows count, whatever a view shows of them."""
    wanted = key_of(call, spec)
    if wanted is None:
        return None
    results = {
        row.ref: row
        for row in rows
        if row.turn_id == turn_id and row.kind is RowKind.RESULT and not _failed(row)
    }
    equal = (
        results[other.id]
        for other in made_calls(rows, turn_id)
        if other.id in results and other.name == call.name and key_of(other, spec) == wanted
    )
    return next(equal, None)


def apart(calls: Sequence[ToolUse], keys: Sequence[str | None]) -> Iterator[tuple[ToolUse, ...]]:
    """The calls in two groups: repeats of one message wait for the first of their kind, and take its result."""
    seen: set[str] = set()
    first: list[ToolUse] = []
    again: list[ToolUse] = []
    for call, key in zip(calls, keys, strict=True):
        (again if key in seen else first).append(call)
        seen |= {key} if key is not None else set()
    yield from (tuple(group) for group in (first, again) if group)


def _failed(row: Row) -> bool:
    return any(getattr(block, "is_error", False) for block in row.message.blocks)
