"""What a running turn tells the world: one union, consumed by every front end, sub-agent and test (EVT-1).

Events are for showing. Nothing durable hangs on them: what must not be lost is a transcript or an
outbox row. `agent` is None for the supervisor, else the sub-agent's id (SUB-8). Events of one agent
keep their order.
"""

from dataclasses import dataclass

from agent_core.types import ArtifactRef, TurnStatus, Usage


@dataclass(frozen=True, slots=True)
class ModelStarted:
    """A model call begins; `round` counts from 1 within the run."""

    model: str
    round: int
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the answer."""

    text: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More reasoning; shown only on request (EVT-9)."""

    text: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class StreamReset:
    """What this agent streamed since its last ModelStarted is void.

    A fallback begins again (FBK-3), or a tool call follows (EVT-9).
    """

    reason: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Retrying:
    """A model call failed and will be made again, perhaps by another model."""

    reason: str
    model: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool begins to run."""

    call_id: str
    name: str
    title: str
    detail: str = ""
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool says where it is; progress is 0..1 or None for unknown."""

    call_id: str
    detail: str
    progress: float | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has ended; its result is committed. `seconds` is wall time."""

    call_id: str
    name: str
    ok: bool
    seconds: float
    summary: str = ""
    artifacts: tuple[ArtifactRef, ...] = ()
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """A delegation begins (or goes on after a restart)."""

    agent: str
    title: str
    task: str
    call_id: str


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """A delegation has ended with one of the nine statuses."""

    agent: str
    call_id: str
    status: str
    seconds: float
    next_action: str


@dataclass(frozen=True, slots=True)
class Steered:
    """A later message of the same author joined the running turn (EVT-7)."""

    text: str


@dataclass(frozen=True, slots=True)
class Used:
    """A model call was paid for; `window` is the model's context window in tokens."""

    model: str
    usage: Usage
    window: int
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Compacted:
    """The view was made smaller (CMP-34); `before` and `after` are estimated tokens of the request.

    `summary`: older rows are now shown as a summary; else results were cleared or texts folded. `problem` says what
    went wrong with a summary, "" for nothing (CMP-15). `usage` is what the summary took of `model`, None for none.
    """

    before: int
    after: int
    summary: bool
    topic: str = ""
    problem: str = ""
    agent: str | None = None
    model: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """Even compacted, the request was too long: so many `decisions` left rows out or clipped them (CMP-25)."""

    decisions: int
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The one terminal event of a turn (EVT-8).

    For FAILED, `error_id` is what the person is told (CHN-6).
    """

    status: TurnStatus
    text: str
    artifacts: tuple[ArtifactRef, ...] = ()
    error_id: str | None = None


Event = (
    ModelStarted
    | TextDelta
    | ThinkingDelta
    | StreamReset
    | Retrying
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | AgentStarted
    | AgentFinished
    | Steered
    | Used
    | Compacted
    | ContextOverflow
    | TurnEnded
)
