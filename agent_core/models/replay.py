"""Recorded model streams: a model that answers from a cassette, and one that fills it (guide "presets", 2 and 8).

An answer is found by what led to it: the system text, the tools, the words and the calls before it. What differs from
run to run (clocks, ids, recalled background, what tools measured) does not count, so a cassette holds as long as preset
and question stay as they were. Reasoning and signatures are not kept.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from agent_core.errors import ModelBadRequest
from agent_core.ports import Chunk, FinishedChunk, Model, ModelInfo, ModelRequest, Price, TextChunk
from agent_core.types import Message, StopReason, Text, ToolUse, Usage

VERSION = 1
CHUNK_CHARS = 400
MAX_BYTES = 20_000_000  # of a cassette's file
INFO = ModelInfo(
    name="replay",
    context_window=200_000,
    max_output_tokens=64_000,
    vision=True,
    cache="none",
    price=Price(0.0, 0.0, 0.0, 0.0),  # nothing is paid twice
    summarises=False,
)
Clean = Callable[[str], str]


def _as_it_is(text: str) -> str:
    return text


@dataclass(slots=True)
class Cassette:
    """Recorded answers by the fingerprint of their request. `clean` takes secrets out of every text that is kept."""

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    clean: Clean = _as_it_is

    @classmethod
    def read(cls, *files: Path, clean: Clean = _as_it_is) -> "Cassette":
        """The answers of these files, those of a later file first. One that does not exist holds none.

        Raises ValueError for a file that is no cassette.
        """
        answers: dict[str, dict[str, Any]] = {}
        for file in files:
            if file.is_file():
                answers |= _answers(file)
        return cls(answers, clean)

    def write(self, file: Path) -> None:
        """Keep the answers, in an order of their own, so that a new recording differs only where answers do."""
        file.parent.mkdir(parents=True, exist_ok=True)
        body = {"version": VERSION, "answers": dict(sorted(self.answers.items()))}
        file.write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def add(self, request: ModelRequest, done: FinishedChunk) -> None:
        """Keep an answer."""
        cleaned = cast("dict[str, Any]", _cleaned(_kept(done), self.clean))
        self.answers[fingerprint(request, self.clean)] = cleaned

    def find(self, request: ModelRequest) -> FinishedChunk | None:
        """The answer that was recorded for such a request, or None."""
        found = self.answers.get(fingerprint(request, self.clean))
        return None if found is None else _finished(found)


def _answers(file: Path) -> dict[str, dict[str, Any]]:
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"{file}: a cassette of more than {MAX_BYTES} bytes")
    try:
        body = json.loads(file.read_text("utf-8"))
    except ValueError as e:
        raise ValueError(f"{file}: no JSON: {e}") from e
    if not isinstance(body, dict) or body.get("version") != VERSION:
        raise ValueError(f"{file}: no cassette of version {VERSION}; record it anew")
    answers = body.get("answers")
    if not isinstance(answers, dict):
        raise ValueError(f"{file}: no `answers`; record it anew")  # noqa: TRY004 - a bad file, not a bad argument
    return answers


def fingerprint(request: ModelRequest, clean: Clean = _as_it_is) -> str:
    """What a request is found by; see the module's docstring."""
    seen = {
        "system": request.system,
        "tools": [tool.name for tool in request.tools],
        "messages": [line for message in request.messages for line in _lines(message)],
    }
    text = json.dumps(_cleaned(seen, clean), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _lines(message: Message) -> Iterator[list[Any]]:
    for block in message.blocks:
        if isinstance(block, Text):
            yield [message.role, block.text]
        elif isinstance(block, ToolUse):
            yield [message.role, block.name, block.args]


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item, clean) for key, item in value.items()}
    return value


def _kept(done: FinishedChunk) -> dict[str, Any]:
    return {
        "model": done.model,
        "text": done.message.text,
        "calls": [[call.id, call.name, call.args] for call in done.message.calls],
        "stop": done.stop,
        "tokens": [done.usage.total_input, done.usage.output_tokens],
    }


def _finished(kept: dict[str, Any]) -> FinishedChunk:
    text = str(kept.get("text", ""))
    calls = tuple(ToolUse(*call) for call in kept.get("calls", ()))
    read, written = kept.get("tokens", (0, 0))
    message = Message("assistant", ((Text(text),) if text else ()) + calls)
    stop = cast("StopReason", kept.get("stop", "end"))
    return FinishedChunk(message, stop, Usage(int(read), int(written)), INFO.name)


@dataclass(frozen=True, slots=True)
class ReplayModel:
    """A `ports.Model` that says what was recorded; it needs no key and costs nothing."""

    cassette: Cassette

    @property
    def info(self) -> ModelInfo:
        """Facts that hold for no model in particular: a long window, and no price."""
        return INFO

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream the recorded answer. Raises ModelBadRequest where none was recorded."""
        found = self.cassette.find(request)
        if found is None:
            raise ModelBadRequest(
                INFO.name,
                "no answer was recorded for this request; "
                "record it with: swarmgate presets eval NAME --record --model PROVIDER/MODEL",
            )
        text = found.message.text
        for at in range(0, len(text), CHUNK_CHARS):
            yield TextChunk(text[at : at + CHUNK_CHARS])
        yield found

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, slots=True)
class RecordingModel:
    """Another model, whose finished answers are kept on a cassette. Its owner closes it."""

    inner: Model
    cassette: Cassette

    @property
    def info(self) -> ModelInfo:
        """Facts about the model that is recorded."""
        return self.inner.info

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream what the other model says. Raises what it raises; what was not finished is not kept."""
        async for chunk in self.inner.stream(request):
            if isinstance(chunk, FinishedChunk):
                self.cassette.add(request, chunk)
            yield chunk

    async def close(self) -> None:
        """Nothing of its own is open."""
