"""What the agent core needs from others, as Protocols.

Concrete objects are built in `gateway/app.py` only.

Contracts in prose stand at each method: what is durable when it returns, what is raised, what
cancellation does.
"""

import datetime as dt
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from agent_core.approvals import Rule
from agent_core.types import (
    ArtifactRef,
    Checkpoint,
    Message,
    NewRow,
    Row,
    StopReason,
    TurnStatus,
    Usage,
)

CacheKind = Literal["breakpoint", "prefix", "none"]
Ttl = Literal["5m", "1h"]


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

    `name` is `<provider>/<model>`; sizes are tokens; an unknown price is None, never 0 (MDL-3). Without
    `summarises` it is never asked for a summary: a deterministic one stands in.
    """

    name: str
    context_window: int
    max_output_tokens: int
    vision: bool
    cache: CacheKind
    price: Price | None
    summarises: bool = True


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model sees it. `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """The last block of message `at` gets a cache mark that lives for `ttl` after its last use."""

    at: int
    ttl: Ttl = "5m"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call. `system` and `tools` are byte-stable within a session (DESIGN.md 5).

    `breakpoints` ascend by message; they and `prefix_ttl` (behind tools and system) count where a provider has marks.
    `effort` is low, medium or high, `idle` seconds of silence; None: the model's own. `images`: bytes by blob id.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int = 4096
    effort: str | None = None
    breakpoints: tuple[Breakpoint, ...] = ()
    prefix_ttl: Ttl = "1h"
    images: dict[str, bytes] | None = None
    idle: float | None = None


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
class Heard:
    """The words of a voice message, "" for none, and what it took to hear them; its cost may be unknown."""

    words: str
    usage: Usage


@runtime_checkable
class Transcriber(Protocol):
    """Turns a voice message into words."""

    @property
    def name(self) -> str:
        """Of the model, as `<provider>/<model>`."""
        ...

    async def price(self) -> Price | None:
        """Of its tokens; None where that is unknown, or something else is paid for."""
        ...

    async def transcribe(self, data: bytes, name: str, media_type: str) -> Heard:
        """The words, in the language that is spoken. Raises a ModelError.

        Cancellation closes the connection.
        """
        ...

    async def close(self) -> None:
        """Close connections; harmless when repeated."""
        ...


@dataclass(frozen=True, slots=True)
class NewBlob:
    """Bytes to store beside rows; `id` is the hex sha256 of owner and data."""

    id: str
    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to a person about one call: a choice (`ask`), or a yes to running the call as it stands (`approval`).

    `title` is the tool's name for people; `text` and `options` are an `ask_user`'s own (no options: any words will do);
    `agent` names a sub-agent. `rules` are all that name the tool, `values` the arguments with defaults filled in, which
    decide which of them hold. `preview` is what the tool shows of the call (`complete`: all of it); `twice` says why
    it takes two yeses of one person, "" for one; `bound` is what the preview was made of (a digest).
    """

    kind: Literal["ask", "approval"]
    call_id: str
    tool: str
    args: dict[str, Any]
    language: Literal["en", "zh"]
    title: str = ""
    text: str = ""
    options: tuple[str, ...] = ()
    agent: str | None = None
    rules: tuple[Rule, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    preview: str = ""
    complete: bool = False
    twice: str = ""
    bound: str = ""


AskState = Literal["open", "answered", "approved", "denied", "expired", "cancelled", "void"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question stands. `args` are what was approved, perhaps edited; `text` is what was chosen or said.

    `void`: the question of this call is about another tool or other arguments, so it allows nothing. `twice`, `bound`:
    see Ask.
    """

    state: AskState
    question: int
    by: str = ""
    text: str = ""
    args: dict[str, Any] | None = None
    twice: bool = False
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """What one model call may use at most: tokens read and written together, and US dollars.

    `usd` is None where a model that may answer has no known price; `model` then names it.
    """

    model: str
    tokens: int
    usd: float | None


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

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """The decisions about what a model sees of the rows, in the order in which they were made."""
        ...

    async def append(
        self,
        rows: Sequence[NewRow],
        *,
        usage: Usage | None = None,
        model: str = "",
        blobs: Sequence[NewBlob] = (),
        checkpoints: Sequence[Checkpoint] = (),
    ) -> Sequence[Row]:
        """Append rows (and what a model call used, blobs, and checkpoints about rows) in one commit."""
        ...

    def trace(self, event: str, **fields: Any) -> None:
        """Note an event of the turn's trace (SCR-1).

        It is committed with the next `append` or `finish`, in order; secrets are replaced before. `fields` are JSON.
        """
        ...

    async def reserve(self, need: Need) -> None:
        """Set aside in every pot that applies what the next model call of this session may cost (DESIGN.md 7).

        Nothing is written where enough is set aside already or nothing is to be paid. A call that is made again
        reserves the same: a session has one reservation. The next `append` or `finish` with `usage` settles it.

        Raises BudgetExceeded when a pot has no room for it and BudgetWaits when the turn is to wait for room.
        """
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

    async def ask(self, ask: Ask) -> Answer:
        """Put a question to the person, once for each call; a call that was asked about before gets what came of it.

        When it returns "open", the question and its message are durable and buttons may be pressed. An approval holds
        for exactly this session, call, tool and arguments (TGV-6). On a child's journal it goes to the root's
        conversation.
        """
        ...

    async def wait(self) -> bool:
        """Leave the turn to the person: its slot and its conversation are free until an answer comes.

        False when an answer has come meanwhile (or nothing is open): go on at once. Only on the journal of the turn's
        own session.
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
