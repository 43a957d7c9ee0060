"""Gemini's generateContent API as data: our request as contents and config for the `google-genai` SDK. No network here.

Reasoning is proved by a signature that hangs on the part after it (a call, some words). It is kept as a `Thinking`
block directly before that part's block, so that it goes back to exactly that part (PRV-3).
"""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_core.models.normalise import OPENING, normalise
from agent_core.models.stream import mend, mended
from agent_core.ports import ModelInfo, ModelRequest
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

Part = dict[str, Any]

# How a signature is stored: of the part that follows, or of the reasoning itself.
NEXT, OWN = "gemini:", "gemini-thought:"
# What the API takes in place of a signature for calls that another model made (its page on thought signatures).
FOREIGN_CALL = b"skip_thought_signature_validator"
_BUDGETS = {
    "low": 1_024,
    "medium": 8_192,
    "high": 24_576,
}  # tokens; 24,576 is the most that 2.5 Flash takes
_GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Form:
    """What a model was found to accept."""

    thinking: bool = True


def generation(model: str) -> tuple[int, int]:
    """Major and minor number in a model's name; (0, 0) where it has none."""
    found = _GENERATION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def config(request: ModelRequest, info: ModelInfo, form: Form) -> dict[str, Any]:
    """The fields of GenerateContentConfig."""
    result: dict[str, Any] = {
        "max_output_tokens": min(request.max_tokens, info.max_output_tokens),
        "automatic_function_calling": {"disable": True},
        "automatic_continuation": False,
    }
    if request.system:
        result["system_instruction"] = mend(request.system)
    if request.tools:
        declared = [
            {"name": t.name, "description": t.description, "parameters_json_schema": t.parameters}
            for t in request.tools
        ]
        result["tools"] = [{"function_declarations": declared}]
    if form.thinking and (thinking := _thinking(request.effort, generation(info.name))):
        result["thinking_config"] = thinking
    return result


def _thinking(effort: str | None, made: tuple[int, int]) -> dict[str, Any] | None:
    """From 2.5 on models think by themselves: what they think is asked for, since a silent stream looks dead."""
    if made < (2, 5):
        return None
    shown: dict[str, Any] = {"include_thoughts": True}
    if effort is None:
        return shown
    if made >= (3, 0):
        return shown | {"thinking_level": effort.upper()}
    return shown | {"thinking_budget": _BUDGETS.get(effort, _BUDGETS["low"])}


def contents(request: ModelRequest, info: ModelInfo) -> list[dict[str, Any]]:
    """The messages. Tool results stand in a content of their own, directly behind their calls, in call order."""
    rows: list[dict[str, Any]] = []
    for message in normalise(request.messages).messages:
        if message.role == "assistant":
            rows.append({"role": "model", "parts": _assistant(message, info)})
        else:
            rows += _user(message, request, info)
    if rows and rows[-1]["role"] == "model":  # the API goes on from a user's turn alone
        rows.append({"role": "user", "parts": [{"text": OPENING}]})
    return rows


def _assistant(message: Message, info: ModelInfo) -> list[Part]:
    parts: list[Part] = []
    signature = b""
    for block in message.blocks:
        match block:
            case Thinking(text, str(proof)) if proof.startswith(OWN):
                own = _bytes(proof.removeprefix(OWN))
                parts.append({"text": mend(text), "thought": True, "thought_signature": own})
            case Thinking(_, str(proof)) if proof.startswith(NEXT):
                signature = _bytes(proof.removeprefix(NEXT))
            case Text(text):
                parts.append(_signed({"text": mend(text)}, signature))
                signature = b""
            case ToolUse():
                parts.append(_signed({"function_call": _call(block)}, signature))
                signature = b""
            case _:
                pass
    if signature:
        parts.append(_signed({"text": ""}, signature))
    _vouch(parts, generation(info.name))
    return parts


def _vouch(parts: list[Part], made: tuple[int, int]) -> None:
    """From 3 on the first call of an answer must be signed; a call of another provider's model has no signature."""
    first = next((p for p in parts if "function_call" in p), None)
    if made >= (3, 0) and first is not None and "thought_signature" not in first:
        first["thought_signature"] = FOREIGN_CALL


def _signed(part: Part, signature: bytes) -> Part:
    return part | {"thought_signature": signature} if signature else part


def _call(call: ToolUse) -> dict[str, Any]:
    args = {"unparsable_json": mend(call.raw or "")} if call.args is None else mended(call.args)
    return {"id": call.id, "name": call.name, "args": args}


def _user(message: Message, request: ModelRequest, info: ModelInfo) -> Iterator[dict[str, Any]]:
    results = [_result(b) for b in message.blocks if isinstance(b, ToolResult)]
    if results:
        yield {"role": "user", "parts": results}
    parts = [part for b in message.blocks if (part := _part(b, request, info))]
    if parts:
        yield {"role": "user", "parts": parts}


def _result(result: ToolResult) -> Part:
    key = "error" if result.is_error else "output"
    answer = {"id": result.call_id, "name": result.name, "response": {key: mend(result.content)}}
    return {"function_response": answer}


def _part(block: Block, request: ModelRequest, info: ModelInfo) -> Part | None:
    match block:
        case Text(text):
            return {"text": mend(text)}
        case Context(text):
            return {"text": f"<context>\n{mend(text)}\n</context>"}
        case Image():
            return _image(block, request, info)
        case _:
            return None


def _image(image: Image, request: ModelRequest, info: ModelInfo) -> Part:
    data = (request.images or {}).get(image.blob_id)
    if not info.vision or data is None:
        return {"text": f"[a picture ({image.media_type}) that you cannot see]"}
    return {"inline_data": {"mime_type": image.media_type, "data": data}}


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def stored(signature: bytes, *, own: bool) -> str:
    """A signature as a `Thinking` block keeps it."""
    return (OWN if own else NEXT) + base64.b64encode(signature).decode()
