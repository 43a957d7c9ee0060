"""How many tokens a request has, estimated before it is sent, and the thresholds that hang on it (TOK-1 … TOK-10).

`mixed` is the default (C-2); `json4` exists for comparisons, since it takes Chinese for a fourth of what it is. What
providers counted for earlier requests corrects the estimate, for each model on its own (`calibration`).
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agent_core.ports import ToolSchema
from agent_core.types import (
    Block,
    Context,
    Image,
    Message,
    Row,
    RowKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

Estimator = Callable[[str, Sequence[Message], Sequence[ToolSchema]], int]

# A picture of the largest size that Claude does not scale down: 1,568 px an edge, about (width x height) / 750.
IMAGE_TOKENS = 1_600

MIN_RESERVE, MAX_RESERVE = 16_384, 32_768  # TOK-4
DEFAULT_WINDOW = 64_000  # TOK-3

MIN_RATIO, MAX_RATIO = 0.5, 6.0  # TOK-10
SMOOTHING = 0.3  # weight of a new observation: about the last six calls count
OBSERVATIONS = 16  # older ones weigh less than 0.4 % together and are not read


def json4(
    system: str = "", messages: Sequence[Message] = (), tools: Sequence[ToolSchema] = ()
) -> int:
    """A fourth of the characters of the request as JSON (TOK-1)."""
    rows: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    rows += [{"role": m.role, "content": _content(m)} for m in messages]
    size = len(json.dumps(rows, ensure_ascii=False, default=str)) // 4
    if tools:
        size += len(json.dumps([_schema(t) for t in tools], ensure_ascii=False)) // 4
    return size


def mixed(
    system: str = "", messages: Sequence[Message] = (), tools: Sequence[ToolSchema] = ()
) -> int:
    """Per text the larger of half its characters and a third of its bytes; a third of arguments and schemas (TOK-2).

    No block counts as nothing: reasoning, context, results and pictures are counted as well.
    """
    total = of_text(system) + sum(of_message(m) for m in messages)
    return total + sum(len(json.dumps(_schema(t), ensure_ascii=False)) // 3 for t in tools)


def of_text(text: str) -> int:
    """Tokens of one text by `mixed`."""
    if text.isascii():
        return len(text) // 2
    return max(len(text) // 2, len(text.encode("utf-8", "surrogatepass")) // 3)


def of_message(message: Message) -> int:
    """Tokens of one message by `mixed`."""
    return of_text("".join(_texts(message.blocks))) + sum(_extra(b) for b in message.blocks)


def _texts(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        match block:
            case Text(text) | Context(text) | Thinking(text):
                yield text
            case ToolResult(content=content):
                yield content
            case _:
                pass


def _extra(block: Block) -> int:
    match block:
        case Image():
            return IMAGE_TOKENS
        case Thinking(_, signature, redacted):
            return len(redacted or signature or "") // 4
        case ToolUse(_, _, args, raw):
            return len(raw or json.dumps(args, ensure_ascii=False, default=str)) // 3
        case _:
            return 0


def _content(message: Message) -> object:
    if all(isinstance(b, Text) for b in message.blocks):
        return message.text
    return [{"type": type(b).__name__, **_fields(b)} for b in message.blocks]


def _fields(block: Block) -> dict[str, object]:
    return {name: getattr(block, name) for name in block.__slots__ if getattr(block, name)}


def _schema(tool: ToolSchema) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def reserve(window: int) -> int:
    """Tokens of the window kept free for the answer (TOK-4, integer arithmetic)."""
    return min(max(MIN_RESERVE, min(window // 4, MAX_RESERVE)), window // 2)


def threshold(window: int) -> int:
    """Compaction is due when an estimate is strictly greater than this (TOK-5)."""
    return window - reserve(window)


def window_for(tokens: int, window: int) -> int:
    """The largest part of a window that is compacted at so many tokens at the latest: its reserve comes on top."""
    return bisect_right(range(window + 1), tokens, key=threshold) - 1


def keep_recent(window: int) -> int:
    """Tokens of the tail that a compaction keeps (TOK-7)."""
    limit = threshold(window)
    if limit <= 8_000:
        return max(1_000, limit // 2)
    return min(20_000, max(4_000, limit // 2))


def calibration(rows: Sequence[Row], model: str) -> float:
    """By how much `mixed` is multiplied to give this model's own tokens: counted / estimated, smoothed (TOK-10).

    A pure function of the meta of the model's ASSISTANT rows: `usage` is [input, output, cache read, cache write, …]
    as the provider counted them, `estimate` is `mixed` of the whole request. Between 0.5 and 6; 1 with nothing to go
    by, so that a model that was switched to begins anew.
    """
    ratio = 0.0
    for seen in reversed(_observed(rows, model)):
        ratio = seen if not ratio else ratio + SMOOTHING * (seen - ratio)
    return ratio or 1.0


def _observed(rows: Sequence[Row], model: str) -> list[float]:
    """The newest ratios, newest first."""
    found: list[float] = []
    for row in reversed(rows):
        if row.kind is RowKind.ASSISTANT and row.ref == model and (ratio := _ratio(row.meta)):
            found.append(ratio)
            if len(found) == OBSERVATIONS:
                break
    return found


def _ratio(meta: dict[str, Any]) -> float | None:
    """None for rows from before estimates were kept, and for a provider that counts nothing."""
    usage, estimate = meta.get("usage"), meta.get("estimate")
    if not usage or not estimate or len(usage) < 4:
        return None
    counted = usage[0] + usage[2] + usage[3]
    return min(max(counted / estimate, MIN_RATIO), MAX_RATIO) if counted > 0 else None
