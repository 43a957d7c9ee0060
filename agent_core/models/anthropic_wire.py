"""Anthropic's Messages API as data: our request as its JSON body, its events as our chunks. No network here."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_core.errors import StreamBroken
from agent_core.models.arguments import call_of
from agent_core.models.catalog import cost
from agent_core.models.failures import of_event
from agent_core.models.normalise import normalise, safe_ids
from agent_core.models.stream import Joiner, mend
from agent_core.ports import (
    Chunk,
    FinishedChunk,
    ModelInfo,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
)
from agent_core.types import (
    Block,
    Context,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)

Ttl = Literal["5m", "1h"]
ThinkingForm = Literal["adaptive", "budget", "none"]

MAX_MARKS = 4  # Anthropic's prompt-caching page
MIN_BUDGET = 1_024  # tokens of thinking, likewise its smallest
_BUDGETS = {"low": 1_024, "medium": 4_096, "high": 16_384}
_STOPS: dict[str, StopReason] = {
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


def thinking_form(model: str) -> ThinkingForm:
    """How a model is asked to think: older ones by a budget of tokens, the oldest not at all."""
    if re.search(r"claude-(2|instant|3-(opus|sonnet|haiku|5))", model):
        return "none"
    if re.search(r"claude-(3-7|(sonnet|opus|haiku)-4(-[0-5])?(-\d{8}|$))", model):
        return "budget"
    return "adaptive"


@dataclass(frozen=True, slots=True)
class Form:
    """What a model was found to accept. `signed` is whether reasoning of earlier answers is sent back."""

    thinking: ThinkingForm = "adaptive"
    signed: bool = True
    ttl: Ttl = "5m"


def body(request: ModelRequest, info: ModelInfo, form: Form) -> dict[str, Any]:
    """The JSON body. Byte-stable: equal requests give equal bodies."""
    normal = normalise(safe_ids(request.messages), request.breakpoints)
    messages: list[dict[str, Any]] = [
        {"role": m.role, "content": [_block(b, request, info, form) for b in m.blocks]}
        for m in normal.messages
    ]
    result: dict[str, Any] = {
        "model": info.name.partition("/")[2],
        "max_tokens": min(request.max_tokens, info.max_output_tokens),
    }
    if request.tools:
        result["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": t.parameters}
            for t in request.tools
        ]
    if request.system:
        result["system"] = [{"type": "text", "text": request.system}]
    if info.cache == "breakpoint":
        _mark(result, messages, normal.marks, form.ttl)
    for message in messages:
        message["content"] = [block for block in message["content"] if block]
    result["messages"] = messages
    result |= _thinking(request, result["max_tokens"], form)
    return result


def _mark(
    result: dict[str, Any],
    messages: list[dict[str, Any]],
    places: tuple[tuple[int, int], ...],
    ttl: Ttl,
) -> None:
    """Set the cache marks: last tool, system, then the last of the places asked for, four in all (PCH-1, -2, -5).

    With an hour's life all have it, except the last one inside a tool loop (5-minute marks must stand behind).
    """
    static: list[dict[str, Any]] = [result[key][-1] for key in ("tools", "system") if key in result]
    moving = [_markable(messages[i]["content"], j) for i, j in places]
    found = [block for block in moving if block is not None][-(MAX_MARKS - len(static)) :]
    long = {"type": "ephemeral", "ttl": "1h"}
    short = {"type": "ephemeral"}
    for block in static + found:
        block["cache_control"] = short if ttl == "5m" else long
    if found and found[-1]["type"] == "tool_result":
        found[-1]["cache_control"] = short


def _markable(content: Sequence[dict[str, Any] | None], index: int) -> dict[str, Any] | None:
    """The block at the place, or the next before it that may carry a mark: reasoning may not."""
    return next(
        (b for b in reversed(content[: index + 1]) if b and "thinking" not in str(b["type"])), None
    )


def _thinking(request: ModelRequest, max_tokens: int, form: Form) -> dict[str, Any]:
    if request.effort is None or form.thinking == "none":
        return {}
    if form.thinking == "adaptive":
        # "summarized": silent reasoning would look like a dead stream.
        thinking = {"type": "adaptive", "display": "summarized"}
        return {"thinking": thinking, "output_config": {"effort": request.effort}}
    budget = min(_BUDGETS.get(request.effort, MIN_BUDGET), max_tokens // 2)
    if budget < MIN_BUDGET or _unthought_loop(request.messages):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _unthought_loop(messages: tuple[Message, ...]) -> bool:
    """Whether a tool loop is open whose call came without signed reasoning: with a budget, the API refuses that."""
    if not messages or not any(isinstance(b, ToolResult) for b in messages[-1].blocks):
        return False
    last = next((m for m in reversed(messages) if m.role == "assistant"), None)
    return last is not None and not any(
        isinstance(b, Thinking) and (b.signature or b.redacted) for b in last.blocks
    )


def _block(
    block: Block, request: ModelRequest, info: ModelInfo, form: Form
) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": mend(text)}
        case Context(text):
            return {"type": "text", "text": f"<context>\n{mend(text)}\n</context>"}
        case Image():
            return _image(block, request, info)
        case Thinking():
            return _reasoning(block) if form.signed else None
        case ToolUse(id_, name, args, raw):
            return {"type": "tool_use", "id": id_, "name": name, "input": _input(args, raw)}
        case ToolResult(call_id, _, content, is_error):
            result = {"type": "tool_result", "tool_use_id": call_id, "content": mend(content)}
            return result | ({"is_error": True} if is_error else {})


def _input(args: dict[str, Any] | None, raw: str | None) -> dict[str, Any]:
    return {"unparsable_json": raw or ""} if args is None else args


def _image(image: Image, request: ModelRequest, info: ModelInfo) -> dict[str, Any]:
    data = (request.images or {}).get(image.blob_id)
    if not info.vision or data is None:
        return {"type": "text", "text": f"[a picture ({image.media_type}) that you cannot see]"}
    source = {
        "type": "base64",
        "media_type": image.media_type,
        "data": base64.b64encode(data).decode(),
    }
    return {"type": "image", "source": source}


def _reasoning(block: Thinking) -> dict[str, Any] | None:
    """Reasoning with its proof; another provider's reasoning has none and stays away."""
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.redacted}
    if block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return None


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
        written = count("cache_creation_input_tokens", 0)
        usage = Usage(
            count("input_tokens", 0),
            count("output_tokens", 0),
            count("cache_read_input_tokens", 0),
            written,
        )
        usd = cost(
            self._info.price,
            fresh=usage.input_tokens,
            output=usage.output_tokens,
            read=usage.cache_read_tokens,
            write=written,
            long=count("cache_creation", {}).get("ephemeral_1h_input_tokens", 0),
        )
        return usage + Usage(usd=usd)
