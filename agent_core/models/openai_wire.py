"""The chat-completions API as data: our request as its JSON body, for OpenAI and for the many that speak like it."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_core.models.normalise import normalise
from agent_core.models.stream import mend
from agent_core.ports import ModelInfo, ModelRequest
from agent_core.types import Context, Image, Message, Text, Thinking, ToolResult, ToolUse

# What an endpoint may refuse, in the order in which an unnamed refusal is searched for its cause (PRV-2).
DROPPABLE = (
    "frequency_penalty",
    "parallel_tool_calls",
    "reasoning_effort",
    "tool_choice",
    "stream_options",
)
LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@dataclass(frozen=True, slots=True)
class Manner:
    """How an endpoint wants to be spoken to; found out once, kept by the model.

    Attributes:
        limit: name of the parameter that bounds the answer; None when both names were refused.
        dropped: parameters that it refuses.
        reasoning: whether reasoning is sent back with calls: as it is there, always (empty where there is none), never.
        options: further parameters of the settings, such as frequency_penalty.
    """

    limit: str | None = "max_tokens"
    dropped: frozenset[str] = frozenset()
    reasoning: str = "kept"
    options: Mapping[str, Any] = field(default_factory=dict)


def body(request: ModelRequest, info: ModelInfo, manner: Manner) -> dict[str, Any]:
    """The JSON body. Byte-stable: equal requests give equal bodies."""
    result: dict[str, Any] = {
        "model": info.name.partition("/")[2],
        "messages": messages(request, info, manner),
        "stream_options": {"include_usage": True},
        **manner.options,
    }
    if manner.limit:
        result[manner.limit] = min(request.max_tokens, info.max_output_tokens)
    if request.tools:
        result["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": t.name,
                    "description": t.description,
                    "parameters": t.parameters,
                },
            }
            for t in request.tools
        ]
        result["tool_choice"] = "auto"
    if request.effort:
        result["reasoning_effort"] = request.effort
    return {k: v for k, v in result.items() if k not in manner.dropped}


def messages(request: ModelRequest, info: ModelInfo, manner: Manner) -> list[dict[str, Any]]:
    """The messages, system first, tool results as messages of their own in call order."""
    rows: list[dict[str, Any]] = []
    if request.system:
        rows.append({"role": "system", "content": mend(request.system)})
    for message in normalise(request.messages).messages:
        if message.role == "assistant":
            rows.append(_assistant(message, manner.reasoning))
        else:
            rows += _user(message, request, info)
    return rows


def _assistant(message: Message, reasoning: str) -> dict[str, Any]:
    row: dict[str, Any] = {"role": "assistant", "content": mend(message.text)}
    if not message.calls:
        return row
    thought = "".join(b.text for b in message.blocks if isinstance(b, Thinking))
    if reasoning == "always" or (thought and reasoning == "kept"):
        row["reasoning_content"] = mend(thought)  # PRV-3
    row["content"] = row["content"] or None
    row["tool_calls"] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for call in message.calls
    ]
    return row


def _arguments(call: ToolUse) -> str:
    """Always JSON: some servers parse the history's arguments and fail on anything else."""
    args = {"unparsable_json": call.raw or ""} if call.args is None else call.args
    return mend(json.dumps(args, ensure_ascii=False))


def _user(message: Message, request: ModelRequest, info: ModelInfo) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ToolResult(call_id, _, content, is_error):
                text = f"Error: {content}" if is_error and "rror" not in content[:20] else content
                rows.append({"role": "tool", "tool_call_id": call_id, "content": mend(text)})
            case Text(text):
                parts.append({"type": "text", "text": mend(text)})
            case Context(text):
                parts.append({"type": "text", "text": f"<context>\n{mend(text)}\n</context>"})
            case Image():
                parts.append(_image(block, request, info))
            case _:
                pass
    if parts:
        rows.append({"role": "user", "content": _content(parts)})
    return rows


def _content(parts: list[dict[str, Any]]) -> object:
    """Plain text where there is nothing else: many servers take no parts."""
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _image(image: Image, request: ModelRequest, info: ModelInfo) -> dict[str, Any]:
    data = (request.images or {}).get(image.blob_id)
    if not info.vision or data is None:
        return {"type": "text", "text": f"[a picture ({image.media_type}) that you cannot see]"}
    url = f"data:{image.media_type};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}
