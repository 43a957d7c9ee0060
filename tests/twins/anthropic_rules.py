"""What the real Messages API refuses: each of these is an outage in production, so the twin refuses it too."""

from collections.abc import Iterator
from typing import Any

from tests.twins.llm_script import signature_of

ID_CHARACTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def problems(body: dict[str, Any]) -> list[str]:
    """All that is wrong with a request; empty when nothing."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    return [
        *_head(body),
        *_roles(messages),
        *_texts(messages),
        *_pairs(messages),
        *_reasoning(messages),
        *_marks(body),
    ]


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content as a list of blocks."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _head(body: dict[str, Any]) -> Iterator[str]:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        yield "max_tokens: Field required"
        return
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens", 0)
        if not 1024 <= budget < limit:
            yield "thinking.budget_tokens: at least 1024 and less than max_tokens"
    names = [t.get("name") for t in body.get("tools") or []]
    if len(set(names)) != len(names):
        yield "tools: names must be unique"


def _roles(messages: list[dict[str, Any]]) -> Iterator[str]:
    if messages[0].get("role") != "user":
        yield "messages: first message must use the user role"
    for i, message in enumerate(messages):
        if message.get("role") not in {"user", "assistant"}:
            yield f"messages.{i}.role: must be user or assistant"
        if not blocks_of(message):
            yield f"messages.{i}: content must not be empty"


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for i, message in enumerate(messages):
        for block in blocks_of(message):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages.{i}: text content blocks must contain non-whitespace text"


def _pairs(messages: list[dict[str, Any]]) -> Iterator[str]:
    waiting: list[str] = []
    seen: set[str] = set()
    for i, message in enumerate(messages):
        blocks = blocks_of(message)
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if missing := set(waiting) - set(results):
            yield f"messages.{i}: tool_use ids without tool_result blocks: {sorted(missing)}"
        if orphans := set(results) - set(waiting):
            yield f"messages.{i}: unexpected tool_use_id in tool_result: {sorted(orphans)}"
        if len(set(results)) != len(results):
            yield f"messages.{i}: each tool_use must have a single result"
        if results and any(b["type"] != "tool_result" for b in blocks[: len(results)]):
            yield f"messages.{i}: tool_result blocks must come first"
        waiting = [b["id"] for b in blocks if b["type"] == "tool_use"]
        yield from _ids(i, waiting, seen)
    if waiting:
        yield f"messages: the last message has tool_use without results: {waiting}"


def _ids(i: int, ids: list[str], seen: set[str]) -> Iterator[str]:
    for id_ in ids:
        if id_ in seen:
            yield f"messages.{i}: tool_use ids must be unique: {id_}"
        if not id_ or not set(id_) <= ID_CHARACTERS:
            yield f"messages.{i}: tool_use.id: must match ^[a-zA-Z0-9_-]+$: {id_!r}"
        seen.add(id_)


def _reasoning(messages: list[dict[str, Any]]) -> Iterator[str]:
    for i, message in enumerate(messages):
        for block in blocks_of(message):
            if block["type"] == "thinking" and block.get("signature") != signature_of(
                block["thinking"]
            ):
                yield f"messages.{i}: Invalid `signature` in `thinking` block"


def _marks(body: dict[str, Any]) -> Iterator[str]:
    marked = []
    system = body.get("system")
    parts = [*(body.get("tools") or []), *(system if isinstance(system, list) else [])]
    for message in body["messages"]:
        parts += blocks_of(message)
    for block in parts:
        if mark := block.get("cache_control"):
            marked.append(mark.get("ttl", "5m"))
            if "thinking" in block.get("type", ""):
                yield "cache_control is not allowed on thinking blocks"
    if len(marked) > 4:
        yield f"a maximum of 4 blocks with cache_control may be provided, found {len(marked)}"
    if "5m" in marked and "1h" in marked[marked.index("5m") :]:
        yield "a ttl='1h' cache_control block must not come after a ttl='5m' one"
