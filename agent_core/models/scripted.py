"""A deterministic model for tests: it says what a script says, and refuses requests that a provider would refuse."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from agent_core.errors import ModelBadRequest, ModelError
from agent_core.models import tokens
from agent_core.models.normalise import problems
from agent_core.models.stream import StreamLimits, closing, watch
from agent_core.ports import (
    Chunk,
    FinishedChunk,
    ModelInfo,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
)
from agent_core.types import Block, Message, StopReason, Text, Thinking, ToolUse, Usage

INFO = ModelInfo("scripted/test", 200_000, 8_192, vision=True, cache="breakpoint", price=None)


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer.

    Attributes:
        text: words, sent `chunk` characters at a time.
        calls: tool calls; the stop reason is then tool_use unless `stop` says otherwise.
        thinking: reasoning before the words, signed "signed".
        delay: seconds before the first chunk; `gap`: between chunks.
        error: raised after `error_after` chunks (0: before any).
        usage: None is estimated, free of charge.
        stop: None follows from the calls.
    """

    text: str = ""
    calls: tuple[ToolUse, ...] = ()
    thinking: str = ""
    delay: float = 0.0
    gap: float = 0.0
    chunk: int = 20
    error: ModelError | None = None
    error_after: int = 0
    usage: Usage | None = None
    stop: StopReason | None = None


Script = Callable[[ModelRequest], Answer | str | Awaitable[Answer | str]]


@dataclass
class ScriptedModel:
    """A Model that follows a list of answers (used up in order) or a function of the request.

    `requests` holds every request, `finished` those that were answered to the end, `violations` what a provider would
    have refused; with `strict` such a request raises ModelBadRequest. A list that is used up raises it as well.
    """

    script: Sequence[Answer | str] | Script
    info: ModelInfo = INFO
    strict: bool = True
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    requests: list[ModelRequest] = field(default_factory=list)
    finished: list[ModelRequest] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    closed: bool = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream the next answer. Silent for longer than `request.idle`, it times out as a provider's model does."""
        chunks = self._stream(request)
        if request.idle is not None:
            chunks = watch(chunks, StreamLimits().within(request.idle), self.info.name)
        async with closing(chunks) as source:
            async for chunk in source:
                yield chunk

    async def _stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        self._check(request)
        answer = await self._answer(request)
        if answer.delay:
            await self.sleep(answer.delay)
        for n, chunk in enumerate(_chunks(answer)):
            if answer.error is not None and n >= answer.error_after:
                raise answer.error
            if n and answer.gap:
                await self.sleep(answer.gap)
            yield chunk
        if answer.error is not None:
            raise answer.error
        self.finished.append(request)
        yield self._finish(request, answer)

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True

    def _check(self, request: ModelRequest) -> None:
        found = problems(request.messages)
        if len(request.breakpoints) > 4 or any(
            mark.at >= len(request.messages) for mark in request.breakpoints
        ):
            found.append(f"breakpoints {request.breakpoints} do not fit")
        self.violations += found
        if found and self.strict:
            raise ModelBadRequest(self.info.name, "; ".join(found))

    async def _answer(self, request: ModelRequest) -> Answer:
        if callable(self.script):
            made = self.script(request)
            answer = await made if isinstance(made, Awaitable) else made
        elif len(self.requests) <= len(self.script):
            answer = self.script[len(self.requests) - 1]
        else:
            raise ModelBadRequest(self.info.name, f"no answer {len(self.requests)} in the script")
        return Answer(answer) if isinstance(answer, str) else answer

    def _finish(self, request: ModelRequest, answer: Answer) -> FinishedChunk:
        stop = answer.stop or ("tool_use" if answer.calls else "end")
        blocks: list[Block] = []
        if answer.thinking:
            blocks.append(Thinking(answer.thinking, "signed"))
        if answer.text:
            blocks.append(Text(answer.text))
        if stop == "tool_use":
            blocks += answer.calls
        message = Message("assistant", tuple(blocks))
        read = tokens.mixed(request.system, request.messages, request.tools)
        usage = answer.usage or Usage(read, tokens.of_message(message), usd=0.0)
        return FinishedChunk(message, stop, usage, self.info.name)


def _chunks(answer: Answer) -> list[Chunk]:
    step = max(1, answer.chunk)
    thought: list[Chunk] = [
        ThinkingChunk(answer.thinking[i : i + step]) for i in range(0, len(answer.thinking), step)
    ]
    return thought + [
        TextChunk(answer.text[i : i + step]) for i in range(0, len(answer.text), step)
    ]
