"""Rows of a transcript for the tests of what compaction reads."""

import datetime as dt
from collections.abc import Iterable

from agent_core.types import (
    Context,
    Message,
    Row,
    RowKind,
    Text,
    ToolResult,
    ToolUse,
    assistant,
    user,
)

AT = dt.datetime(2024, 5, 20, 9, 30, tzinfo=dt.UTC)


def row(seq: int, kind: RowKind, message: Message, **meta: object) -> Row:
    return Row(seq, seq, kind, message, "", AT, meta)


def said(seq: int, *texts: str) -> Row:
    """A person's row, with the situation beside it as the product stores it."""
    blocks = (Context("now: 2024-05-20 09:30 UTC"), *(Text(t) for t in texts))
    return row(seq, RowKind.USER, Message("user", blocks))


def answered(seq: int, text: str) -> Row:
    return row(seq, RowKind.ASSISTANT, assistant(text))


def called(seq: int, name: str, text: str = "", **args: object) -> Row:
    return row(seq, RowKind.ASSISTANT, assistant(text, ToolUse(f"c{seq}", name, dict(args))))


def result(seq: int, name: str, content: str, *, error: bool = False) -> Row:
    message = Message("user", (ToolResult(f"c{seq - 1}", name, content, error),))
    return row(seq, RowKind.RESULT, message)


def note(seq: int, text: str, **meta: object) -> Row:
    return row(seq, RowKind.NOTE, user(text), **meta)


def people(texts: Iterable[str]) -> list[Row]:
    """User rows of these texts."""
    return [said(seq, text) for seq, text in enumerate(texts, 1)]
