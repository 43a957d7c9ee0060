"""The archive: what a view left out, given back by its reference (ARC-1, ARC-4).

Nothing is copied: an archive is a range of rows, which never change, and the body of the checkpoint about them. Pure
functions; `gateway/memory/archive.py` finds the rows and judges who may read them.

References: `r17` is a row, `r3-r40` the rows from 3 to 40, `b0123456789abcdef` the whole of a large tool result by the
first 16 hex digits of its blob; with `archive://<session>/` before it, of that session.

Three questions (MSC-10). Is there a lossless copy: this reads it. Can the cut split a pair: a range shows its rows in
order, calls and results as they were stored. Where is the original: the transcript, and the blob of a large result.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_core.compaction.decisions import range_ref, row_ref
from agent_core.compaction.standing import Standing
from agent_core.types import (
    Block,
    Checkpoint,
    Context,
    Image,
    Row,
    RowKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

SCHEME = "archive://"
BLOB_DIGITS = 16  # of a blob's id in a reference
_REF = re.compile(
    r"(?:archive://|(?=[A-Za-z0-9]))(?:(?P<session>[A-Za-z0-9][A-Za-z0-9._:/-]{0,199})/)?"
    r"(?:r(?P<first>[1-9][0-9]{0,17})(?:\s?[-–]\s?r?(?P<last>[1-9][0-9]{0,17}))?|b(?P<blob>[0-9a-f]{12,64}))"
)
_WRAPPED = re.compile(r"\[?\s*(?:cleared\s+)?(?:ref\s*=\s*)?(.*?)\s*\]?")


@dataclass(frozen=True, slots=True)
class Ref:
    """A parsed reference. `session` is "" where it names none; `blob` is the beginning of an id, "" for rows."""

    session: str
    first: int
    last: int
    blob: str = ""

    @property
    def single(self) -> bool:
        """Whether it names one row."""
        return not self.blob and self.first == self.last

    @property
    def short(self) -> str:
        """The reference without its session."""
        if self.blob:
            return f"b{self.blob}"
        return row_ref(self.first) if self.single else range_ref(self.first, self.last)


def parse(text: str) -> Ref | None:
    """A reference as models and people write it, also as it stands in a mark (`[cleared ref=r17]`); None for no such.

    A path that climbs (`..`) is none.
    """
    inner = _WRAPPED.fullmatch(text.strip()[:400])
    found = _REF.fullmatch(inner[1]) if inner else None
    if found is None:
        return None
    session = found["session"] or ""
    if any(part in ("", ".", "..") for part in session.split("/")) and session:
        return None
    if found["blob"]:
        return Ref(session, 0, 0, found["blob"])
    first = int(found["first"])
    last = int(found["last"] or first)
    return Ref(session, first, last) if first <= last else None


def full(session_id: str, ref: Ref) -> str:
    """The reference with its session, as it can be used anywhere."""
    return f"{SCHEME}{session_id}/{ref.short}"


def rows_of(rows: Sequence[Row], checkpoints: Sequence[Checkpoint], ref: Ref) -> tuple[Row, ...]:
    """The rows that a reference names, as they were written.

    Left out: rows that are no model's business (`meta["hidden"]`), and those taken back by an undo among
    `checkpoints`. A row that names nothing more is looked up alone, so an intent can be read by its own reference.
    """
    undone = Standing.of(checkpoints).undone
    return tuple(
        row
        for row in rows
        if ref.first <= row.seq <= ref.last
        and row.seq not in undone
        and not row.meta.get("hidden")
        and (ref.single or row.kind is not RowKind.INTENT)
    )


def blob_of(row: Row) -> str | None:
    """The id of the blob that holds the whole of a result, None where the row itself does."""
    found = row.meta.get("blob")
    return found if isinstance(found, str) else None


def text_of(
    rows: Sequence[Row], *, headed: bool = True, whole: Callable[[str], str | None] = lambda _: None
) -> str:
    """Rows as text, every character of them; `headed`: with a line before each that says which one it is.

    `whole` gives the text of a blob by its id; where it has none, the row's own preview stands.
    """
    parts = []
    for row in rows:
        said = _said(row, whole)
        parts.append(f"{_heading(row)}\n{said}" if headed else said)
    return "\n\n".join(parts)


def read(rows: Sequence[Row], checkpoints: Sequence[Checkpoint], ref: str) -> str:
    """The text of a reference into this transcript; "" where it names nothing. One row comes without a heading."""
    parsed = parse(ref)
    if parsed is None or parsed.blob:
        return ""
    found = rows_of(rows, checkpoints, parsed)
    return text_of(found, headed=not parsed.single)


def tool_of(row: Row) -> str:
    """The tools whose results a row holds, by name."""
    return ", ".join(b.name for b in row.message.blocks if isinstance(b, ToolResult))


def credibility_of(row: Row) -> str:
    """How far a result may be believed (CRD-1), as it was noted beside it; "" where it was not."""
    return str(row.meta.get("credibility", ""))


def _heading(row: Row) -> str:
    marks = [row_ref(row.seq), row.kind.value, tool_of(row), credibility_of(row)]
    if blob_of(row):
        marks.append(f"the whole of it: ref={row_ref(row.seq)}")
    return f"## {' · '.join(m for m in marks if m)} · {row.at:%Y-%m-%d %H:%M} UTC"


def _said(row: Row, whole: Callable[[str], str | None]) -> str:
    stored = blob_of(row)
    results = [b for b in row.message.blocks if isinstance(b, ToolResult)]
    if stored is not None and len(results) == 1 and (text := whole(stored)) is not None:
        return text
    return "\n".join(_block(block) for block in row.message.blocks)


def _block(block: Block) -> str:
    match block:
        case Text(text) | Thinking(text):
            return text
        case Context(text):
            return f"[context]\n{text}\n[/context]"
        case Image(blob_id, media_type):
            return f"[picture {media_type} b{blob_id[:BLOB_DIGITS]}]"
        case ToolUse(call_id, name, args, raw):
            said = raw if args is None else json.dumps(args, ensure_ascii=False)
            return f"→ {name} {said} (call {call_id})"
        case ToolResult(_, _, content):
            return content
