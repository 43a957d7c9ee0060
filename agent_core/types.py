"""The words of the agent core: messages and their blocks, transcript rows, usage.

All are immutable. `encode` and `decode` are the one JSON form of a message; the transcript stores
it, so its keys never change meaning. Numbers in `Usage` are tokens; money is US dollars, or None
where the price is unknown.
"""

import datetime as dt
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, assert_never

Role = Literal["user", "assistant"]
StopReason = Literal["end", "tool_use", "max_tokens", "refusal"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words, as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a model can see; `blob_id` names the stored bytes."""

    blob_id: str
    media_type: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning, sent back unchanged with its signature where the provider wants it (PRV-3)."""

    text: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call.

    `args` is None when the model's JSON could not be parsed (PRV-4); `raw` then holds it.
    """

    id: str
    name: str
    args: dict[str, Any] | None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """A stored file that a tool made, such as a chart."""

    blob_id: str
    name: str
    media_type: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. `content` is for the model; `artifacts` are shown to the person."""

    call_id: str
    name: str
    content: str
    is_error: bool = False
    artifacts: tuple[ArtifactRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What varies per turn (clock, memory, holdings), apart from the person's own words (ASM-9).

    `kind` "recall": memory that was found for this message; the view leaves it out once it is behind a compaction.
    """

    text: str
    kind: Literal["situation", "recall"] = "situation"


Block = Text | Image | Thinking | ToolUse | ToolResult | Context


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; tool results are blocks of a user message."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All words of the message, without reasoning, context and tools."""
        return "".join(b.text for b in self.blocks if isinstance(b, Text))

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The tool calls of the message, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolUse))


def user(*texts: str) -> Message:
    """A user message of plain texts."""
    return Message("user", tuple(Text(t) for t in texts))


def assistant(text: str, *calls: ToolUse) -> Message:
    """An assistant message with a text (left out when empty) and tool calls."""
    return Message("assistant", ((Text(text),) if text else ()) + calls)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or more model calls used.

    `input_tokens` excludes cached ones (PCH-4); `cache_write_tokens` includes those written for an hour. `usd_uncached`
    is what the same calls would have cost without a cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    usd: float | None = 0.0
    cache_write_1h_tokens: int = 0
    usd_uncached: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Sum; an unknown price makes the sum unknown (MDL-3)."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            _sum(self.usd, other.usd),
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
            _sum(self.usd_uncached, other.usd_uncached),
        )

    @property
    def total_input(self) -> int:
        """Every token that the model read."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


class RowKind(StrEnum):
    """Kinds of transcript rows."""

    USER = "user"  # a person's message (or a task given to a sub-agent); ref = inbox key
    ASSISTANT = "assistant"  # a finished model message; ref = model name
    INTENT = "intent"  # a tool is about to run; ref = call id
    RESULT = "result"  # a tool result; ref = call id
    NOTE = "note"  # words of the runtime to the model (limits, wrap-up), shown as user text in tags


class TurnStatus(StrEnum):
    """States of a turn. WAITING: a person is asked; the slot is free and deadlines stop."""

    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


CheckpointKind = Literal["undo", "clear", "fold", "clip", "summary", "drop"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A decision about what a model sees of a transcript; a session's are applied in the order in which they were made.

    `body` is JSON; its form for each kind stands in `agent_core/compaction/decisions.py`. "undo": rows with
    after < seq < until are left out.
    """

    kind: CheckpointKind
    after: int
    until: int
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row to append."""

    kind: RowKind
    message: Message
    ref: str = ""
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A committed transcript row. `seq` counts from 1 in its session without gaps."""

    seq: int
    turn_id: int
    kind: RowKind
    message: Message
    ref: str
    at: dt.datetime
    meta: dict[str, Any] = field(default_factory=dict)


def _block_out(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Context(text, kind):
            own = {} if kind == "situation" else {"kind": kind}
            return {"type": "context", "text": text, **own}
        case Image(blob_id, media_type):
            return {"type": "image", "blob_id": blob_id, "media_type": media_type}
        case Thinking(text, signature, redacted):
            return {"type": "thinking", "text": text, "signature": signature, "redacted": redacted}
        case ToolUse(id_, name, args, raw):
            return {"type": "tool_use", "id": id_, "name": name, "args": args, "raw": raw}
        case ToolResult(call_id, name, content, is_error, artifacts):
            refs = [[a.blob_id, a.name, a.media_type, a.caption] for a in artifacts]
            return {
                "type": "tool_result",
                "call_id": call_id,
                "name": name,
                "content": content,
                "is_error": is_error,
                "artifacts": refs,
            }
        case _:
            assert_never(block)


def _block_in(data: dict[str, Any]) -> Block:
    fields = {k: v for k, v in data.items() if k != "type"}
    match data["type"]:
        case "text":
            return Text(**fields)
        case "context":
            return Context(**fields)
        case "image":
            return Image(**fields)
        case "thinking":
            return Thinking(**fields)
        case "tool_use":
            return ToolUse(**fields)
        case "tool_result":
            fields["artifacts"] = tuple(ArtifactRef(*a) for a in fields["artifacts"])
            return ToolResult(**fields)
        case other:
            raise ValueError(f"unknown block type {other!r} in a transcript row")


def encode(message: Message) -> str:
    """The message as JSON, byte-stable for equal messages."""
    body = {"role": message.role, "blocks": [_block_out(b) for b in message.blocks]}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def decode(body: str) -> Message:
    """The message that `encode` wrote."""
    data = json.loads(body)
    return Message(data["role"], tuple(_block_in(b) for b in data["blocks"]))
