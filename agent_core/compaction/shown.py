"""How one row shows under the decisions about it: cleared, folded, clipped, without recalled memory.

Pure functions of a row and what stands; the row itself is never changed (ASM-14). Calls, reasoning and pictures show
as they are: a call's arguments and a signed thought must go back to the provider unchanged.
"""

from collections.abc import Callable
from dataclasses import replace

from agent_core.compaction.decisions import row_ref
from agent_core.compaction.standing import Standing
from agent_core.types import Block, Context, Message, Row, RowKind, Text, ToolResult

PLAIN = "[cleared]"


def cleared_mark(seq: int, *, plain: bool = False) -> str:
    """What a cleared result shows as: with the reference that gives it back (CMP-4), or as the course has it."""
    return PLAIN if plain else f"[cleared ref={row_ref(seq)}]"


def fold_text(text: str, head: int, tail: int) -> str:
    """Head, mark with the exact number of removed characters, tail (CMP-5); the text itself where it is no longer."""
    removed = len(text) - head - tail
    mark = f"...[{removed} chars collapsed]..."
    if removed <= len(mark):
        return text
    return text[:head] + mark + text[len(text) - tail :]


def clip_text(text: str, chars: int, seq: int) -> str:
    """At most `chars` characters of a text that is longer, mark included: two thirds from its head, one from its tail.

    The mark says how many are missing and where they are; it stands alone where there is no room beside it.
    """
    if len(text) <= chars:
        return text
    kept = max(0, chars - len(_clip_mark(len(text), seq)))
    tail = kept // 3
    return text[: kept - tail] + _clip_mark(len(text) - kept, seq) + text[len(text) - tail :]


def _clip_mark(missing: int, seq: int) -> str:
    return f"...[{missing} chars left out ref={row_ref(seq)}]..."


def shown(row: Row, standing: Standing) -> Message:
    """The message of a row as a model sees it; the row's own object where no decision touches it."""
    seq, message = row.seq, row.message
    if row.kind is RowKind.RESULT and (seq in standing.cleared or seq in standing.dropped):
        mark = cleared_mark(seq, plain=standing.cleared.get(seq, False))
        return map_texts(message, lambda _: mark)
    if seq < standing.recall_until:
        message = _without_recall(message)
    fold = standing.folded.get(seq)
    if fold is not None:
        message = map_texts(
            message, lambda t: fold_text(t, fold.head, fold.tail) if len(t) > fold.least else t
        )
    chars = standing.clipped.get(seq)
    if chars is None:
        return message
    # A clip is counted from the row's own text, so that the number in its mark is exact.
    own = iter(
        texts_of(_without_recall(row.message) if seq < standing.recall_until else row.message)
    )
    return map_texts(message, lambda t: _clipped(next(own), t, chars, seq))


def _clipped(own: str, text: str, chars: int, seq: int) -> str:
    return text if len(text) <= chars else clip_text(own, chars, seq)


def _without_recall(message: Message) -> Message:
    kept = tuple(b for b in message.blocks if not (isinstance(b, Context) and b.kind == "recall"))
    return message if len(kept) == len(message.blocks) else Message(message.role, kept)


def texts_of(message: Message) -> list[str]:
    """The texts that layers 1 and 2 and a clip may shorten, in order."""
    return [t for block in message.blocks if (t := _text(block)) is not None]


def map_texts(message: Message, change: Callable[[str], str]) -> Message:
    """The message with each such text changed; the same object when none is."""
    blocks = tuple(_changed(block, change) for block in message.blocks)
    same = all(new is old for new, old in zip(blocks, message.blocks, strict=True))
    return message if same else Message(message.role, blocks)


def _text(block: Block) -> str | None:
    match block:
        case Text(text) | Context(text):
            return text
        case ToolResult(content=content):
            return content
        case _:
            return None


def _changed(block: Block, change: Callable[[str], str]) -> Block:
    text = _text(block)
    if text is None or (new := change(text)) == text:
        return block
    match block:
        case Text() | Context():
            return replace(block, text=new)
        case ToolResult():
            return replace(block, content=new)
        case _:
            return block
