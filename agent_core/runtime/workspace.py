"""The state of a run's work, kept beside a summary so that a compaction does not lose it (ASM-8, DOM-7).

Pure functions of the rows of one turn: the state lives for one run. A ledger line names a call, what came of it, and
the reference by which the whole result is read back (MSC-10: the row is the lossless copy; no pair is touched).
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from agent_core.compaction.decisions import row_ref
from agent_core.runtime.guards import made_calls
from agent_core.text import clip, one_line
from agent_core.types import Row, RowKind, ToolResult, ToolUse

EMPTY = "(empty state)"
LEDGER_LINES = 60  # DOM-7
LEDGER_CHARS = (
    4_000  # about a thousand tokens, so that it fits beside a summary in a small window as well
)
ARGS_CHARS = 80
FOUND_CHARS = 120
NAMES = 12  # tools that are counted by name
LEDGER = (
    "Verified results of this turn (do not call again for these; restore_archive gives each back):"
)
_NOT_LISTED = frozenset({"compact", "restore_archive"})  # they find out nothing new


def state(rows: Sequence[Row], turn_id: int, directory: str = "") -> str:
    """At most two lines: the run directory where there is one, and how often each tool was called."""
    counted = Counter(call.name for call in made_calls(rows, turn_id))
    lines = [f"run directory: {one_line(directory)}"] if directory else []
    if counted:
        shown = [f"{name} ×{n}" for name, n in sorted(counted.items())[:NAMES]]
        more = len(counted) - NAMES
        shown += [f"and {more} other tools"] if more > 0 else []
        lines.append(f"tool calls in this turn: {', '.join(shown)}")
    return "\n".join(lines) or EMPTY


def ledger(rows: Sequence[Row], turn_id: int) -> str:
    """What the calls of this turn have found out, one line each, the newest `LEDGER_LINES` at most; "" for nothing.

    Failures are no results; of equal calls the last one counts.
    """
    found = list(_verified(rows, turn_id).values())
    if not found:
        return ""
    kept: list[str] = []
    room = LEDGER_CHARS - len(LEDGER)
    for line in reversed(found[-(LEDGER_LINES - 2) :]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    left = len(found) - len(kept)
    older = [f"({left} older results are not listed)"] if left else []
    return "\n".join([LEDGER, *older, *reversed(kept)])


def kept(rows: Sequence[Row], turn_id: int) -> str:
    """Both, as a summary keeps them; "" when the turn has called nothing."""
    counted = state(rows, turn_id)
    texts = ["" if counted == EMPTY else counted, ledger(rows, turn_id)]
    return "\n".join(text for text in texts if text)


def _verified(rows: Sequence[Row], turn_id: int) -> dict[str, str]:
    calls = {call.id: call for call in made_calls(rows, turn_id)}
    lines: dict[str, str] = {}
    for row, result in _results(rows, turn_id):
        call = calls.get(result.call_id)
        if call is None or result.is_error or call.name in _NOT_LISTED:
            continue
        asked = _asked(call)
        lines.pop(asked, None)  # the later one stands where it happened
        said = str(row.meta.get("summary") or "") or result.content
        shown = clip(one_line(said), FOUND_CHARS)
        lines[asked] = f"- {row_ref(row.seq)} {clip(asked, ARGS_CHARS)}: {shown}"
    return lines


def _results(rows: Sequence[Row], turn_id: int) -> Iterator[tuple[Row, ToolResult]]:
    for row in rows:
        if row.turn_id == turn_id and row.kind is RowKind.RESULT:
            for block in row.message.blocks:
                if isinstance(block, ToolResult):
                    yield row, block


def _asked(call: ToolUse) -> str:
    args = json.dumps(call.args or {}, ensure_ascii=False, sort_keys=True)
    return f"{call.name}({args[1:-1]})"
