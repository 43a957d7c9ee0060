"""Anthropic's Messages API as data: our request as its JSON body. No network here."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_core.models.normalise import Normal, normalise, safe_ids
from agent_core.models.stream import mend, mended
from agent_core.ports import ModelInfo, ModelRequest, Ttl
from agent_core.types import (
    Block,
    Context,
    Image,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

ThinkingForm = Literal["adaptive", "budget", "none"]

MAX_MARKS = 4  # Anthropic's prompt-caching page
MIN_BUDGET = 1_024  # tokens of thinking, likewise its smallest
_BUDGETS = {"low": 1_024, "medium": 4_096, "high": 16_384}
_MARKS: Mapping[Ttl, Mapping[str, str]] = {
    "5m": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
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


def body(request: ModelRequest, info: ModelInfo, form: Form) -> dict[str, Any]:
    """The JSON body. Byte-stable: equal requests give equal bodies."""
    normal = normalise(safe_ids(request.messages), [mark.at for mark in request.breakpoints])
    given = _given(request, normal)
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
        result["system"] = [{"type": "text", "text": mend(request.system)}]
    if info.cache == "breakpoint":
        _mark(result, messages, given, request.prefix_ttl)
    for message in messages:
        message["content"] = _plain([block for block in message["content"] if block])
    result["messages"] = messages
    result |= _thinking(request, result["max_tokens"], form)
    return result


def _plain(blocks: list[dict[str, Any]]) -> object:
    """The text alone where there is nothing else: the API takes it for a list of this one block."""
    one = blocks[0] if len(blocks) == 1 else {}
    return one["text"] if one.keys() == {"type", "text"} else blocks


def _given(request: ModelRequest, normal: Normal) -> list[tuple[tuple[int, int], Ttl]]:
    """The places of the marks asked for, in order; of two for one message the longer life holds."""
    lives: dict[tuple[int, int], Ttl] = {}
    for mark in request.breakpoints:
        place = normal.places.get(mark.at)
        if place is not None and lives.get(place) != "1h":
            lives[place] = mark.ttl
    return sorted(lives.items())


def _mark(
    result: dict[str, Any],
    messages: list[dict[str, Any]],
    given: Sequence[tuple[tuple[int, int], Ttl]],
    prefix: Ttl,
) -> None:
    """Set the cache marks: last tool, system, then those asked for, four in all (PCH-1, -2, -5).

    Where there are more, the tools' mark goes first, since the system's covers them, then the earliest of the others:
    theirs are the shortest prefixes. Marks of an hour must stand before those of 5 minutes, so one behind becomes 5
    minutes. A mark on a prefix below `catalog.smallest_cacheable` makes no entry and costs nothing.
    """
    static = [result[key][-1] for key in ("tools", "system") if key in result]
    moving = [(_markable(messages[i]["content"], j), ttl) for (i, j), ttl in given]
    found = [(block, ttl) for block, ttl in moving if block is not None]
    if len(static) > 1 and len(static) + len(found) > MAX_MARKS:
        static = static[1:]
    shortest: Ttl = "1h"
    for block, ttl in [(b, prefix) for b in static] + found[-(MAX_MARKS - len(static)) :]:
        shortest = "5m" if "5m" in (ttl, shortest) else "1h"
        block["cache_control"] = dict(_MARKS[shortest])


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
    return {"unparsable_json": mend(raw or "")} if args is None else mended(args)


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
    """Reasoning with its proof. Another provider's stays away: it has none, or one with that provider's name."""
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.redacted}
    if block.signature and ":" not in block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return None
