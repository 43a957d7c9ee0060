"""The demo planner: a deterministic model behind the same port as the others, without key, network or price.

It decides from the request alone: what is asked (`demo_intent`), what tools returned (`demo_turn`), which calls follow
(`demo_plan`), and what is said (`demo_answer`), in the form that a contract asks for (`demo_contract`). It keeps to the
tool protocol like any model, so limits, policies and restarts are real. Only the ids of its calls are not a function of
the request: they must be new in a session even after turns were undone, as any provider's are.
"""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

from agent_core.models.demo_answer import answer, language_for
from agent_core.models.demo_ask import Ask
from agent_core.models.demo_contract import in_form
from agent_core.models.demo_intent import understand
from agent_core.models.demo_plan import plan
from agent_core.models.demo_turn import Turn, read_turn
from agent_core.ports import Chunk, FinishedChunk, ModelInfo, ModelRequest, Price, TextChunk
from agent_core.types import (
    Block,
    Context,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    assistant,
)

INFO = ModelInfo(
    name="demo",
    context_window=200_000,  # it reads any length; a window makes the view shrink as for others
    max_output_tokens=4_096,
    vision=False,
    cache="none",
    price=Price(0.0, 0.0, 0.0, 0.0),  # known to be free, not unknown (MDL-3)
    summarises=False,
)
CHARS_PER_TOKEN = 4
CHUNK_DELAY = 0.015  # seconds; an answer of 1,000 characters takes about 1.2 s
CHUNK_CHARS = 10
WORD = re.compile(r"[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+\s*|\s+")
MAX_STEERED = 3  # texts of one turn that are answered together


class DemoModel:
    """The demo planner as a `ports.Model`.

    Args:
        chunk_delay: seconds between chunks of an answer; 0 streams without pauses.
        new_id: makes the ids of tool calls.
    """

    def __init__(
        self, chunk_delay: float = CHUNK_DELAY, new_id: Callable[[], str] | None = None
    ) -> None:
        self._chunk_delay = chunk_delay
        self._new_id = new_id or _random_id

    @property
    def info(self) -> ModelInfo:
        """Facts about the demo planner; it costs nothing."""
        return INFO

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream one answer or one batch of tool calls. Never raises a ModelError."""
        message = self._decide(request)
        limit = request.max_tokens * CHARS_PER_TOKEN
        whole = len(message.text) <= limit
        if not whole:
            message = assistant(message.text[:limit])
        for position, piece in enumerate(_pieces(message.text)):
            if position and self._chunk_delay:
                await asyncio.sleep(self._chunk_delay)
            yield TextChunk(piece)
        stop: StopReason = "tool_use" if message.calls else "end" if whole else "max_tokens"
        yield FinishedChunk(message, stop, _usage(request, message), INFO.name)

    async def close(self) -> None:
        """There is nothing to close."""

    def _decide(self, request: ModelRequest) -> Message:
        turn = read_turn(request)
        offered = frozenset(tool.name for tool in request.tools)
        decided = plan(_asks(turn), turn, offered)
        if decided.calls:
            calls = (ToolUse(self._new_id(), c.name, dict(c.args)) for c in decided.calls)
            return assistant("", *calls)
        language = language_for(decided.asks, turn)
        return assistant(in_form(request.system, answer(decided.asks, turn), turn, language))


def _random_id() -> str:
    return f"demo_{uuid.uuid4().hex[:16]}"


def _asks(turn: Turn) -> tuple[Ask, ...]:
    """What the texts of this turn ask, each completed from what was said before it."""
    count = len(turn.texts)
    first = count - min(turn.own, MAX_STEERED)
    asks = (understand(turn.texts[: position + 1]) for position in range(first, count))
    found = (ask for ask in asks if ask is not None)
    return tuple(replace(ask, language=turn.spoken) if turn.spoken else ask for ask in found)


def _pieces(text: str) -> Iterator[str]:
    """A few words or Han characters at a time; together they are the text."""
    piece = ""
    for word in WORD.findall(text):
        piece += word
        if len(piece) >= CHUNK_CHARS:
            yield piece
            piece = ""
    if piece:
        yield piece


def _usage(request: ModelRequest, message: Message) -> Usage:
    read = len(request.system) + sum(len(t.description) for t in request.tools)
    read += sum(_size(block) for m in request.messages for block in m.blocks)
    written = sum(_size(block) for block in message.blocks)
    return Usage(
        input_tokens=max(1, read // CHARS_PER_TOKEN),
        output_tokens=max(1, written // CHARS_PER_TOKEN),
        usd=0.0,
    )


def _size(block: Block) -> int:
    """Characters of a block."""
    match block:
        case Text(text) | Context(text) | Thinking(text):
            return len(text)
        case ToolUse(_, name, args):
            return len(name) + len(json.dumps(args, ensure_ascii=False))
        case ToolResult(content=content):
            return len(content)
        case _:
            return 0
