"""The chunks of a chat-completions stream, folded into ours, with the oddities of compatible servers.

Decided here:
- No usage: it is estimated, so that limits and budgets still hold.
- No `[DONE]`: fine where a finish reason came; without one the stream is broken.
- No finish reason, but `[DONE]`: the answer is whole when it is text, or when all its calls are complete JSON.
- Finish reason "stop" with calls: the calls count.
- Later pieces of a call without id or index, arguments in one piece, an id in every piece: all join by place.
- A whole answer instead of a stream (`message` where `delta` is expected): taken.
"""

import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from agent_core.errors import ModelOverloaded, StreamBroken
from agent_core.models import tokens
from agent_core.models.arguments import call_of
from agent_core.models.call_text import CallText
from agent_core.models.catalog import usage_of
from agent_core.models.failures import of_event
from agent_core.models.stream import Joiner, mend
from agent_core.ports import (
    Chunk,
    FinishedChunk,
    ModelInfo,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
)
from agent_core.types import Block, Message, StopReason, Text, Thinking, ToolUse, Usage

_STOPS: dict[str, StopReason] = {
    "length": "max_tokens",
    "content_filter": "refusal",
    "sensitive": "refusal",
}
# DeepSeek, Zhipu and OpenRouter end a stream so when the server fails.
_FAILED = frozenset({"insufficient_system_resource", "network_error", "error"})


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)


class Fold:
    """Takes the chunks of one answer and makes our chunks and the finished message of them."""

    def __init__(self, request: ModelRequest, info: ModelInfo, provider: str) -> None:
        self._request = request
        self._info = info
        self._provider = provider
        self._thought: list[str] = []
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._usage: dict[str, Any] | None = None
        self._stop: str | None = None
        self._done = False
        self._text = Joiner()
        self._thinking = Joiner()
        said = (m.text for m in request.messages if m.role == "user")
        self._markup = CallText(frozenset(t.name for t in request.tools), "\n".join(said))

    def done(self) -> None:
        """`[DONE]` came."""
        self._done = True

    def feed(self, event: dict[str, Any]) -> list[Chunk]:
        """Take one chunk. Raises a ModelError for an error inside the stream."""
        if event.get("error"):
            raise of_event(self._provider, event["error"])
        usage = event.get("usage") or (event.get("x_groq") or {}).get("usage")
        self._usage = usage or self._usage
        choices = event.get("choices")
        if not choices:
            return []
        choice = choices[0]
        self._stop = choice.get("finish_reason") or self._stop
        return self._delta(choice.get("delta") or choice.get("message") or {})

    def _delta(self, delta: dict[str, Any]) -> list[Chunk]:
        chunks: list[Chunk] = []
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and (ready := self._thinking.push(thought)):
            chunks.append(self._think(ready))
        content = delta.get("content") or delta.get("refusal")
        if content and (shown := self._markup.push(self._text.push(_plain(content)))):
            chunks.append(TextChunk(shown))
        for piece in delta.get("tool_calls") or ():
            self._piece(piece)
        return chunks

    def _think(self, text: str) -> ThinkingChunk:
        self._thought.append(text)
        return ThinkingChunk(text)

    def _piece(self, piece: dict[str, Any]) -> None:
        call = self._call(piece)
        function = piece.get("function") or {}
        call.id = call.id or piece.get("id") or ""
        call.name = call.name or function.get("name") or ""
        arguments = function.get("arguments")
        if arguments is not None:
            call.parts.append(arguments if isinstance(arguments, str) else _dump(arguments))

    def _call(self, piece: dict[str, Any]) -> _Call:
        """The call that a piece belongs to: by index, else by a new id, else the last one.

        Some servers give index 0 to every call of an answer; another id then means another call.
        """
        id_, index = piece.get("id"), piece.get("index")
        known = self._places.get(index) if index is not None else None
        if (
            known is None
            and index is None
            and self._calls
            and (not id_ or id_ == self._calls[-1].id)
        ):
            known = self._calls[-1]
        if known is not None and (not id_ or not known.id or id_ == known.id):
            return known
        call = _Call()
        self._calls.append(call)
        self._places[len(self._calls) - 1 if index is None else index] = call
        return call

    def rest(self) -> list[Chunk]:
        """What was held back, once the stream has ended."""
        chunks: list[Chunk] = []
        if thought := self._thinking.flush():
            chunks.append(self._think(thought))
        shown = self._markup.push(self._text.flush())
        shown += self._markup.flush(cut=self._stop == "length")
        if shown:
            chunks.append(TextChunk(shown))
        return chunks

    def finish(self) -> FinishedChunk:
        """The whole message. Raises StreamBroken or ModelOverloaded where the end is no end."""
        calls = self._finished_calls()
        stop = self._reason(calls)
        blocks: list[Block] = []
        if self._thought:
            blocks.append(Thinking("".join(self._thought)))
        if text := self._markup.shown.rstrip() if self._markup.calls else self._markup.shown:
            blocks.append(Text(text))
        if stop == "tool_use":
            blocks += calls
        message = Message("assistant", tuple(blocks))
        return FinishedChunk(message, stop, self._used(message), self._info.name)

    def _finished_calls(self) -> list[ToolUse]:
        native = []
        for call in self._calls:
            raw = mend("".join(call.parts))
            native.append(call_of(call.id or f"call_{secrets.token_hex(8)}", call.name, raw))
        return native or self._markup.calls

    def _reason(self, calls: list[ToolUse]) -> StopReason:
        if self._stop in _FAILED:
            raise ModelOverloaded(self._provider, f"the server ended with {self._stop}")
        if self._stop is None:
            broken = any(call.args is None for call in calls)
            if not self._done or broken or not (calls or self._markup.shown.strip()):
                raise StreamBroken(self._provider, "the stream ended without a finish reason")
        if self._stop in _STOPS:
            return _STOPS[self._stop]
        if any(not call.name for call in calls):
            raise StreamBroken(self._provider, "a tool call came without a name")
        return "tool_use" if calls else "end"

    def _used(self, message: Message) -> Usage:
        if self._usage is None:
            fresh = tokens.mixed(self._request.system, self._request.messages, self._request.tools)
            return self._priced(fresh, tokens.of_message(message), 0)
        usage = self._usage
        details = usage.get("prompt_tokens_details") or {}
        read = details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0
        total = usage.get("prompt_tokens") or 0
        return self._priced(max(0, total - read), usage.get("completion_tokens") or 0, read)

    def _priced(self, fresh: int, output: int, read: int) -> Usage:
        return usage_of(self._info.price, fresh=fresh, output=output, read=read)


def _plain(content: object) -> str:
    """The text of a delta; a few servers send parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(p.get("text") or "") for p in parts if isinstance(p, dict))


def _dump(arguments: object) -> str:
    import json

    return json.dumps(arguments, ensure_ascii=False)


def names_parameter(detail: str, parameter: str) -> bool:
    """Whether a refusal names this parameter as a whole word."""
    return re.search(rf"(?<![\w]){re.escape(parameter)}(?![\w])", detail) is not None
