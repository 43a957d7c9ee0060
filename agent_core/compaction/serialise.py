"""Old rows written out for a summariser, with tool traffic marked as such, in chunks that fit its window (CMP-23).

Nothing is cut off: what does not fit one request goes into the next, and a message that is larger than a request goes
in labelled parts. Only old tool results are shortened, and in this copy alone (CMP-21): the rows stay as they are, so a
summary that fails later has changed nothing.

Lossless copy: the rows. Tool pairs: the text is prose to be read, so no pair can be split. The original: the same rows,
by their `seq` (MSC-10).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from agent_core.compaction.shrink import STALE_CHARS, shrunk
from agent_core.models import tokens
from agent_core.models.stream import mend
from agent_core.text import one_line
from agent_core.types import (
    Block,
    Context,
    Image,
    Row,
    RowKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

_BEGINS_CHARS = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of a row as text; `label` says whose it is."""

    label: str
    text: str
    row: Row

    @property
    def written(self) -> str:
        """The piece as the summariser reads it."""
        return f"[{self.label}] {self.text}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """What goes into one request."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The pieces, a line or more each."""
        return "\n".join(p.written for p in self.pieces)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that it holds something of, each once."""
        return tuple({p.row.seq: p.row for p in self.pieces}.values())


def pieces(rows: Sequence[Row], *, shrink: bool = True) -> list[Piece]:
    """The rows as pieces, in order. `shrink`: results before the last assistant message in a few hundred characters.

    Left out: reasoning, intents, hidden rows, and what was shown to the model beside a person's words (the clock,
    recalled memory), which is no part of what was said.
    """
    last = max((r.seq for r in rows if r.kind is RowKind.ASSISTANT), default=0)
    found: list[Piece] = []
    for row in rows:
        if row.kind is RowKind.INTENT or row.meta.get("hidden"):
            continue
        found += [_shorter(piece) if shrink and row.seq < last else piece for piece in _of_row(row)]
    return found


def chunks(found: Sequence[Piece], limit: int) -> list[Chunk]:
    """The pieces in chunks of at most `limit` tokens by estimate, on message boundaries wherever one fits."""
    done: list[Chunk] = []
    now: list[Piece] = []
    size = 0
    for piece in _parts(found, limit):
        cost = tokens.of_text(piece.written) + 1
        if now and size + cost > limit:
            done.append(Chunk(tuple(now)))
            now, size = [], 0
        now.append(piece)
        size += cost
    return [*done, Chunk(tuple(now))] if now else done


def size_of(rows: Sequence[Row]) -> int:
    """Tokens of what the rows say, by estimate, with nothing shortened."""
    return sum(tokens.of_text(p.written) for p in pieces(rows, shrink=False))


def begins(rows: Sequence[Row]) -> str:
    """The beginning of the last thing that was said in the rows, by which a model finds the cut."""
    for piece in reversed(pieces(rows[-8:], shrink=False)):
        return one_line(piece.text)[:_BEGINS_CHARS].replace('"', "'")
    return ""


def rows_of(chunks: Iterable[Chunk]) -> tuple[Row, ...]:
    """The rows that the chunks hold something of, each once, in order."""
    return tuple({row.seq: row for chunk in chunks for row in chunk.rows}.values())


def _of_row(row: Row) -> Iterator[Piece]:
    spoken = any(isinstance(b, Text) for b in row.message.blocks)
    for block in row.message.blocks:
        if isinstance(block, Context) and (spoken or block.kind == "recall"):
            continue
        for label, said in _of_block(row, block):
            if said.strip():
                yield Piece(label, mend(said), row)


def _of_block(row: Row, block: Block) -> Iterator[tuple[str, str]]:
    who = "runtime" if row.kind is RowKind.NOTE else row.message.role
    match block:
        case Text(said):
            yield who, said
        case Context(said):
            yield "context", said
        case Image():
            yield who, "(a picture)"
        case Thinking():
            pass
        case ToolUse(_, name, args, raw):
            shown = raw if args is None else json.dumps(args, ensure_ascii=False, default=str)
            yield f"tool:{name} called", shown or "(nothing)"
        case ToolResult(_, name, content, is_error):
            yield f"tool:{name} {'failed' if is_error else 'answered'}", content


def _shorter(piece: Piece) -> Piece:
    if piece.row.kind is RowKind.RESULT and len(piece.text) > STALE_CHARS:
        return replace(piece, text=shrunk(piece.text))
    return piece


def _parts(found: Sequence[Piece], limit: int) -> Iterator[Piece]:
    for piece in found:
        if tokens.of_text(piece.written) < limit:
            yield piece
            continue
        texts = list(_fragments(piece.text, max(limit - tokens.of_text(piece.label) - 16, 16)))
        for at, text in enumerate(texts, 1):
            yield replace(piece, label=f"{piece.label}, part {at} of {len(texts)}", text=text)


def _fragments(said: str, limit: int) -> Iterator[str]:
    """A text in parts of at most `limit` tokens; joined they are the text."""
    at = 0
    while at < len(said):
        length = limit * 2
        while length > 1 and (cost := tokens.of_text(said[at : at + length])) > limit:
            length = max(min(length * limit // cost, length - 1), 1)
        yield said[at : at + length]
        at += length
