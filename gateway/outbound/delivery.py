"""From a turn's events to what a channel shows while it runs: one preview, replaced as it grows (DESIGN.md 3.6).

Text that a tool call follows leaves the preview; it stays in the transcript (EVT-9). Events are
never waited for: the newest state is shown when the channel is ready for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from agent_core.events import (
    AgentFinished,
    AgentStarted,
    Event,
    ModelStarted,
    Retrying,
    StreamReset,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    Used,
)
from agent_core.runtime.team import Progress
from agent_core.types import Usage
from channels.base import PreviewStream
from channels.types import Button, Preview, Step

log = logging.getLogger(__name__)
DELEGATE = "delegate_to_"


class Delivery:
    """The live side of one reply. `stream` is None where the place shows no previews.

    `steps` are those that a turn which goes on has behind it: they are shown at once. `clear` is waited for before
    anything is shown: what was to be said earlier in this place stands before it.
    """

    def __init__(
        self,
        stream: PreviewStream | None,
        *,
        thinking: str,
        stop: Button | None,
        steps: Sequence[Step] = (),
        reasoning: bool = False,
        clear: Callable[[], Awaitable[None]] | None = None,
        progress: Progress = "all",
    ) -> None:
        self._stream = stream
        self._thinking = thinking
        self._reasoning = reasoning
        self._thoughts: list[str] = []
        self._text: list[str] = []
        self._steps = {step.id: step for step in steps}
        self._agents: dict[str, str] = {}  # agent id → the step of its newest delegation
        self._status = ""
        self._spent = Usage()
        self._usage = ""
        self._buttons = (stop,) if stop else ()
        self._changed = asyncio.Event()
        if steps:
            self._changed.set()
        self._clear = clear
        self._progress = progress
        self._task = None if stream is None else asyncio.create_task(self._show(stream))

    def emit(self, event: Event) -> None:
        """Take an event in; returns at once."""
        if self._take(event):
            self._changed.set()

    async def close(self) -> None:
        """End the preview. Afterwards nothing of it changes any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._stream is not None:
            try:
                await self._stream.close()
            except Exception:  # a preview that cannot end must not keep the answer back
                log.exception("preview_failed")

    @property
    def steps(self) -> tuple[Step, ...]:
        """What tools and sub-agents did so far, as far as the preset shows it (`delegation.show_progress`)."""
        if self._progress == "off":
            return ()
        whole = self._progress == "all"
        return tuple(step for step in self._steps.values() if whole or step.parent is None)

    async def _show(self, stream: PreviewStream) -> None:
        if self._clear is not None:
            await self._clear()
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await stream.show(self._preview())
            except Exception:  # the next state may be shown; the answer does not hang on it
                log.exception("preview_failed")

    def _preview(self) -> Preview:
        return Preview(
            text="".join(self._text),
            status=self._status,
            thinking="".join(self._thoughts),
            steps=self.steps,
            buttons=self._buttons,
            usage=self._usage,
        )

    def _take(self, event: Event) -> bool:
        match event:
            case TextDelta(text, None):
                self._text.append(text)
                self._status = ""
            case ThinkingDelta(text, None):
                if not self._reasoning:
                    return False
                self._thoughts.append(text)
            case ModelStarted(_, _, None):
                self._text.clear()
                self._thoughts.clear()
                self._status = self._thinking
            case StreamReset(_, None):
                self._text.clear()
                self._thoughts.clear()
            case Retrying(_, model, _):
                self._status = f"{self._thinking} ({model})"
            case Used(model, usage, window, agent):
                self._spent += usage
                if agent is None:
                    self._usage = _usage_line(model, self._spent, usage.total_input / window)
            case TurnEnded() | TextDelta() | ModelStarted() | StreamReset():
                return False
            case _:
                return self._take_step(event)
        return True

    def _take_step(self, event: Event) -> bool:
        match event:
            case AgentStarted(agent, title, task, call_id):
                self._agents[agent] = call_id
                self._steps[call_id] = Step(call_id, title, detail=task, agent=agent)
            case AgentFinished(_, call_id, status, _, _):
                self._end(
                    call_id,
                    ok=status == "completed",
                    detail="" if status == "completed" else status,
                )
            case ToolStarted(call_id, name, title, detail, agent):
                if name.startswith(DELEGATE):
                    return False
                parent = self._agents.get(agent) if agent else None
                self._steps[call_id] = Step(
                    call_id, title, detail=detail, agent=agent, parent=parent
                )
            case ToolProgress(call_id, detail, _, _):
                if call_id in self._steps:
                    self._steps[call_id] = replace(self._steps[call_id], detail=detail)
            case ToolFinished(call_id, name, ok, _, summary, _, _):
                if name.startswith(DELEGATE):
                    return False
                self._end(call_id, ok=ok, detail=summary)
            case _:
                return False
        return True

    def _end(self, step_id: str, *, ok: bool, detail: str) -> None:
        step = self._steps.get(step_id)
        if step is not None:
            self._steps[step_id] = replace(
                step, state="ok" if ok else "failed", detail=detail or step.detail
            )


def _usage_line(model: str, spent: Usage, fill: float) -> str:
    """Model, tokens and money of this turn, and how full the model's window was at its last call."""
    tokens = spent.total_input + spent.output_tokens
    money = "price unknown" if spent.usd is None else f"${spent.usd:.4f}"
    return f"{model} · {tokens:,} tokens · {money} · context {fill:.0%}"
