"""What the tests of the model providers share: infos, requests, and reading a stream to its end."""

from collections.abc import Sequence

from agent_core.ports import (
    Chunk,
    FinishedChunk,
    Model,
    ModelInfo,
    ModelRequest,
    Price,
    TextChunk,
    ThinkingChunk,
    ToolSchema,
)
from agent_core.types import Message, ToolResult, user

CLAUDE = ModelInfo(
    "anthropic/claude-sonnet-5-5", 200_000, 8_192, True, "breakpoint", Price(2.0, 10.0, 0.2, 2.5)
)
QWEN = ModelInfo("qwen/qwen-plus", 128_000, 8_192, False, "prefix", Price(1.0, 3.0, 0.5, 1.0))
GEMINI = ModelInfo(
    "gemini/gemini-3-pro", 1_000_000, 8_192, True, "prefix", Price(2.0, 12.0, 0.2, 2.0)
)

QUOTE = ToolSchema(
    "quote",
    "The price of a symbol.",
    {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]},
)
NEWS = ToolSchema("news", "News of a symbol.", {"type": "object", "properties": {}})


def ask(text: str = "hi", *, tools: Sequence[ToolSchema] = (), **fields: object) -> ModelRequest:
    """A request of one user message."""
    return ModelRequest("Be brief.", (user(text),), tuple(tools), **fields)  # type: ignore[arg-type]


def after(message: Message, *contents: str, said: str = "hi") -> ModelRequest:
    """The request that follows a message with calls, with their results."""
    results = tuple(
        ToolResult(c.id, c.name, content)
        for c, content in zip(message.calls, contents, strict=True)
    )
    messages = (user(said), message, Message("user", results))
    return ModelRequest("Be brief.", messages, (QUOTE,))


async def read(model: Model, request: ModelRequest) -> tuple[list[Chunk], FinishedChunk]:
    """All chunks, and the last, which must be the only FinishedChunk."""
    chunks = [chunk async for chunk in model.stream(request)]
    last = chunks[-1]
    assert isinstance(last, FinishedChunk)
    assert sum(isinstance(c, FinishedChunk) for c in chunks) == 1
    return chunks, last


def text_of(chunks: Sequence[Chunk]) -> str:
    """The words that were streamed."""
    return "".join(c.text for c in chunks if isinstance(c, TextChunk))


def thought_of(chunks: Sequence[Chunk]) -> str:
    """The reasoning that was streamed."""
    return "".join(c.text for c in chunks if isinstance(c, ThinkingChunk))
