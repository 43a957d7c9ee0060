"""Anthropic's events, folded into our chunks and the finished message. No network here."""

import json
from dataclasses import dataclass, field
from typing import Any

from agent_core.errors import StreamBroken
from agent_core.models.arguments import call_of
from agent_core.models.catalog import usage_of
from agent_core.models.failures import of_event
from agent_core.models.stream import Joiner, mend
from agent_core.ports import Chunk, FinishedChunk, ModelInfo, TextChunk, ThinkingChunk
from agent_core.types import Block, Message, StopReason, Text, Thinking, ToolUse, Usage

_STOPS: dict[str, StopReason] = {
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Open:
    """A content block while it is streamed."""

    start: dict[str, Any]
    parts: list[str] = field(default_factory=list)
    signature: str = ""
    joiner: Joiner = field(default_factory=Joiner)


class Fold:
    """Takes the events of one answer and makes chunks and the finished message of them.

    Raises ModelErrors: for an error event by its type, and StreamBroken where the end lacks a stop reason.
    """

    def __init__(self, info: ModelInfo, provider: str) -> None:
        self._info = info
        self._provider = provider
        self._blocks: dict[int, _Open] = {}
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None

    def feed(self, event: dict[str, Any]) -> Chunk | None:
        """Take one event; unknown ones pass."""
        match event.get("type"):
            case "content_block_delta":
                block = self._blocks.get(event["index"])
                return self._delta(block, event["delta"]) if block else None
            case "content_block_start":
                return self._begin(event["index"], event["content_block"])
            case "content_block_stop":
                return self._chunk(self._blocks.get(event["index"]), "", last=True)
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                self._count(event.get("usage"))
                self._stop = event["delta"].get("stop_reason") or self._stop
            case "error":
                raise of_event(self._provider, event.get("error"))
            case _:
                pass
        return None

    def _begin(self, index: int, start: dict[str, Any]) -> Chunk | None:
        block = self._blocks[index] = _Open(start)
        return self._chunk(block, start.get("text") or start.get("thinking") or "")

    def _delta(self, block: _Open, delta: dict[str, Any]) -> Chunk | None:
        match delta.get("type"):
            case "text_delta":
                return self._chunk(block, delta["text"])
            case "thinking_delta":
                return self._chunk(block, delta["thinking"])
            case "input_json_delta":
                block.parts.append(delta["partial_json"])
            case "signature_delta":
                block.signature += delta["signature"]
            case _:
                pass
        return None

    @staticmethod
    def _chunk(block: _Open | None, text: str, *, last: bool = False) -> Chunk | None:
        if block is None or block.start["type"] not in {"text", "thinking"}:
            return None
        ready = block.joiner.push(text) + (block.joiner.flush() if last else "")
        if not ready:
            return None
        block.parts.append(ready)
        return TextChunk(ready) if block.start["type"] == "text" else ThinkingChunk(ready)

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Counts are cumulative: the last that is not null holds."""
        self._usage |= {k: v for k, v in (usage or {}).items() if v is not None}

    def finish(self) -> FinishedChunk:
        """The whole message. Calls are kept with the stop reason tool_use alone (PRV-4, defect 22)."""
        if self._stop is None:
            raise StreamBroken(self._provider, "the stream ended without a stop reason")
        blocks = [b for _, block in sorted(self._blocks.items()) if (b := self._close(block))]
        stop = _STOPS.get(self._stop, "end")
        calls = any(isinstance(b, ToolUse) for b in blocks)
        if stop == "tool_use" and not calls:
            stop = "end"
        if stop != "tool_use":
            blocks = [b for b in blocks if not isinstance(b, ToolUse)]
        message = Message("assistant", tuple(blocks))
        return FinishedChunk(message, stop, self._used(), self._info.name)

    def _close(self, block: _Open) -> Block | None:
        start, text = block.start, "".join(block.parts)
        match start["type"]:
            case "text":
                return Text(text) if text else None
            case "thinking":
                return Thinking(text, block.signature or start.get("signature") or None)
            case "redacted_thinking":
                return Thinking("", None, start["data"])
            case "tool_use":
                raw = text or json.dumps(start.get("input") or {})
                return call_of(start["id"], start["name"], mend(raw))
            case _:
                return None

    def _used(self) -> Usage:
        count = self._usage.get
        return usage_of(
            self._info.price,
            fresh=count("input_tokens", 0),
            output=count("output_tokens", 0),
            read=count("cache_read_input_tokens", 0),
            write=count("cache_creation_input_tokens", 0),
            long=count("cache_creation", {}).get("ephemeral_1h_input_tokens", 0),
        )
