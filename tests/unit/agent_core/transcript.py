"""Transcripts in a few words, for the tests of compaction."""

import datetime as dt
from typing import Any

from agent_core.compaction.decisions import Body, checkpoint
from agent_core.compaction.view import View
from agent_core.types import (
    Block,
    Checkpoint,
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

NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


class Transcript:
    """Rows one after the other; each method gives the seq of the last row that it wrote."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.turn = 0

    def add(self, kind: RowKind, message: Message, ref: str = "", **meta: Any) -> int:
        seq = self.rows[-1].seq + 1 if self.rows else 1
        self.rows.append(Row(seq, self.turn, kind, message, ref, NOW, meta))
        return seq

    def said(self, words: str, *, recall: str = "", same_turn: bool = False) -> int:
        """A person writes; a new turn begins."""
        self.turn += not same_turn
        found = (Context(recall, "recall"),) if recall else ()
        return self.add(RowKind.USER, Message("user", (*found, Text(words))))

    def called(self, *ids: str, words: str = "") -> int:
        """The model calls tools."""
        calls = (ToolUse(i, "quote", {"symbol": i}) for i in ids)
        return self.add(RowKind.ASSISTANT, assistant(words, *calls))

    def answered(self, id_: str, content: str, **more: Any) -> int:
        """A tool answers."""
        result: Block = ToolResult(id_, "quote", content, **more)
        return self.add(RowKind.RESULT, Message("user", (result,)), id_)

    def replied(self, words: str) -> int:
        """The answer is delivered."""
        return self.add(RowKind.ASSISTANT, assistant(words))

    def noted(self, words: str) -> int:
        """The runtime says something to the model."""
        return self.add(RowKind.NOTE, user(words))

    def looked(self, id_: str, content: str) -> int:
        """A call and its result."""
        self.called(id_)
        return self.answered(id_, content)

    def view(self, *made: Body | Checkpoint) -> View:
        """The view under these decisions; a body is made behind the last row."""
        last = self.rows[-1].seq + 1 if self.rows else 1
        return View.of(
            self.rows, [m if isinstance(m, Checkpoint) else checkpoint(m, until=last) for m in made]
        )


def texts(view: View) -> list[str]:
    """All that the model reads, block by block."""
    return [
        b.content if isinstance(b, ToolResult) else b.text
        for m in view.messages
        for b in m.blocks
        if isinstance(b, Text | Context | ToolResult)
    ]
