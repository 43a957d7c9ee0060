"""What the agent core needs from others, as Protocols.

Concrete objects are built in `gateway/app.py` only.

Contracts in prose stand at each method: what is durable when it returns, what is raised, what
cancellation does.
"""

import datetime as dt
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from agent_core.types import ArtifactRef, Message, NewRow, Row, StopReason, TurnStatus, Usage

CacheKind = Literal["breakpoint", "prefix", "none"]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about a model.

    `name` is `<provider>/<model>`; sizes are tokens; an unknown price is None, never 0 (MDL-3).
    """

    name: str
    context_window: int
    max_output_tokens: int
    vision: bool
    cache: CacheKind
    price: Price | None


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model sees it. `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call. `system` and `tools` are byte-stable within a session (DESIGN.md 5).

    `breakpoints` are indexes into `messages` whose last block gets a cache mark where the provider
    has marks. `effort` is low, medium, high or None (the model's default). `images` maps blob ids
    to bytes of Image blocks.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int = 4096
    effort: str | None = None
    breakpoints: tuple[int, ...] = ()
    images: dict[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Some words."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    """Some reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class RestartChunk:
    """Everything streamed so far is void; another model begins (FBK-3)."""

    reason: str
    model: str
    had_output: bool


@dataclass(frozen=True, slots=True)
class FinishedChunk:
    """Always the last chunk: the whole message, why it ended, and what it cost.

    With `stop == "tool_use"` the message has complete calls; with any other stop it has none
    (PRV-4, defect 22).
    """

    message: Message
    stop: StopReason
    usage: Usage
    model: str


Chunk = TextChunk | ThinkingChunk | RestartChunk | FinishedChunk


@runtime_checkable
class Model(Protocol):
    """A language model behind any provider."""

    @property
    def info(self) -> ModelInfo:
        """Facts about the model that answers next (after a fallback: of the active one, FBK-2)."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Stream one answer. Ends with exactly one FinishedChunk, or raises a ModelError.

        Closing the iterator (or cancelling the task that reads it) closes the connection; no task
        is left behind. Surrogate pairs are never split between two chunks (STM-3).
        """
        ...

    async def close(self) -> None:
        """Close connections. The model is not used afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class NewBlob:
    """Bytes to store beside rows; `id` is the hex sha256 of owner and data."""

    id: str
    name: str
    media_type: str
    data: bytes


class Journal(Protocol):
    """Where one running session writes.

    Every method is one transaction; when it returns, it is committed.

    Raises `Fenced` when another run owns the conversation (write nothing more), `Reload` when rows
    must be read again. Calls on one journal never overlap for one session, except `append` of
    parallel tool results, which the journal puts in order.
    """

    @property
    def session_id(self) -> str:
        """The session whose transcript this is."""
        ...

    @property
    def turn_id(self) -> int:
        """The turn that runs."""
        ...

    async def rows(self) -> Sequence[Row]:
        """All rows of the session in order of `seq`."""
        ...

    async def append(
        self,
        rows: Sequence[NewRow],
        *,
        usage: Usage | None = None,
        model: str = "",
        blobs: Sequence[NewBlob] = (),
    ) -> Sequence[Row]:
        """Append rows (and what a model call used, and blobs) in one commit."""
        ...

    async def steer(self) -> Sequence[Row]:
        """Take the author's own messages that arrived after the turn began, as USER rows (EVT-7).

        Empty: none.

        On the journal of a child session it is always empty.
        """
        ...

    async def finish(
        self,
        rows: Sequence[NewRow],
        status: TurnStatus,
        text: str,
        artifacts: Sequence[ArtifactRef] = (),
        *,
        usage: Usage | None = None,
        model: str = "",
    ) -> None:
        """End the turn: last rows, the reply in the outbox, the closed inbox rows, in one commit.

        A message that arrives after the last `steer` opens the next turn. On a child's journal it
        only appends.
        """
        ...

    def child(self, call_id: str, agent: str) -> "Journal":
        """The journal of the delegation `<session>/<call_id>`; its rows may already exist (resume)."""
        ...

    async def blob(self, blob_id: str) -> bytes:
        """Bytes of a stored blob of this session's owner. Raises KeyError for any other."""
        ...


class Clock(Protocol):
    """Time. Injected, so that tests own it."""

    def now(self) -> dt.datetime:
        """The present, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...
