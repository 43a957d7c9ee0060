"""Background tasks as tools see them: what is started, how it stands, and the port through which it is looked at."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_core.types import ArtifactRef

State = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
ACTIVE: frozenset[State] = frozenset({"queued", "running"})


@dataclass(frozen=True, slots=True)
class NewTask:
    """A call of a tool that is to run in the background.

    `session_id` is where the call was made, a sub-agent's own session included; `agent` names the sub-agent, "" for the
    main agent. `args` were validated. `as_of`, `max_age` (seconds) and `sources` bound what the tool finds, as in
    ToolContext.
    """

    owner: str
    session_id: str
    turn_id: int
    call_id: str
    tool: str
    args: Mapping[str, Any]
    language: Literal["en", "zh"] = "en"
    agent: str = ""
    as_of: dt.date | None = None
    max_age: float | None = None
    sources: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """How a task stands.

    `progress` is 0..1 or None for unknown; `detail` says where the tool is. `position` counts from 1 among the queued
    tasks of its owner, 0 where it does not wait. `error` is the class of what went wrong, "" for nothing. `content` is
    the tool's answer, or why there is none, once the task has ended; `artifacts` are its files; `meta` is what was kept
    beside the answer.
    """

    id: str
    tool: str
    state: State
    detail: str = ""
    progress: float | None = None
    position: int = 0
    agent: str = ""
    summary: str = ""
    error: str = ""
    created_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    content: str = ""
    artifacts: tuple[ArtifactRef, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


class Tasks(Protocol):
    """The tasks of everybody, each seen only by its owner and within the session that started it (BGT-5).

    A session of a sub-agent counts as that of its main agent. No answer tells a task of somebody else from none.
    """

    async def begin(self, new: NewTask) -> Task:
        """Start a task, or queue it while its owner's others run; durable when it returns.

        A call has one task: begun again, after a crash, it gives the same one. Raises ToolFailure when too many wait,
        or when its turn is gone.
        """
        ...

    async def listed(self, owner: str, session_id: str) -> Sequence[Task]:
        """The tasks of a session that run, wait, or have ended within a day; newest first, without `content`."""
        ...

    async def find(self, owner: str, session_id: str, task_id: str) -> Task | None:
        """One task with its `content`, or None."""
        ...

    async def cancel(self, owner: str, session_id: str, task_id: str) -> Task | None:
        """Cancel a task that runs or waits, and return how it stood before; None where there is no such task.

        One that has ended stays as it is. Of a cancelled task nobody is notified.
        """
        ...
