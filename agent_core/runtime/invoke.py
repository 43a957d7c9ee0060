"""One call of one tool: its time, what it may know, and every way in which it can end, each a result for the model.

A call that was cut off, or broke inside, may have done its work all the same: a thread cannot be stopped, and a request
that was sent is sent. So only what reads is said to have failed; of anything else the outcome is unknown (defect 26).
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace

from agent_core.approvals import Rule
from agent_core.errors import Fenced, Reload, Waiting
from agent_core.events import ToolProgress
from agent_core.ports import NewBlob
from agent_core.runtime.background import in_background, started
from agent_core.runtime.memories import open_memory
from agent_core.runtime.offload import LONG, pack
from agent_core.runtime.run import Run
from agent_core.tools.spec import Consent, ToolContext, ToolFailure, ToolOutput, ToolSpec
from agent_core.types import ToolResult, ToolUse

log = logging.getLogger(__name__)

UNPARSABLE = "The arguments were not valid JSON; send them again."  # TPR-6: never run with others
UNSURE = (
    "Whether it took effect is unknown: look with a reading tool, or ask the person, before trying "
    "again."
)


@dataclass(frozen=True, slots=True)
class Done:
    """A call's result with what is stored beside it. `error`: the class of what went wrong, "" for nothing (BGT-7)."""

    result: ToolResult
    blobs: tuple[NewBlob, ...] = ()
    meta: Mapping[str, object] | None = None
    summary: str = ""
    error: str = ""


def failure(call: ToolUse, text: str) -> ToolResult:
    """An error for the model."""
    return ToolResult(call.id, call.name, text, is_error=True)


async def invoke(
    run: Run,
    call: ToolUse,
    spec: ToolSpec,
    consent: Consent | None = None,
    rules: tuple[Rule, ...] = (),
) -> Done:
    """Run the tool, or start it in the background, where its answer is the task's id (BGT-1).

    `consent` is the yes that it runs by, `rules` those that hold for this call. Raises Fenced, Reload and Waiting (a
    delegation's own); cancellation passes through.
    """
    if call.args is None:
        return Done(failure(call, UNPARSABLE))
    ctx, seconds = context_of(run, call, rules, consent), seconds_of(run, spec)
    tasks = in_background(run, spec)
    if tasks is None:
        return await carried_out(ctx, call, spec, seconds)
    return await _ended(ctx, call, spec, seconds, started(run, tasks, call, spec))


async def carried_out(ctx: ToolContext, call: ToolUse, spec: ToolSpec, seconds: float) -> Done:
    """Run the tool for at most `seconds` (inf: no end), and pack what came of it.

    Raises Fenced, Reload and Waiting (a delegation's own); cancellation passes through.
    """
    return await _ended(ctx, call, spec, seconds, spec.call(ctx, call.args or {}))


async def _ended(
    ctx: ToolContext,
    call: ToolUse,
    spec: ToolSpec,
    seconds: float,
    work: Awaitable[ToolOutput],
) -> Done:
    try:
        async with asyncio.timeout(None if math.isinf(seconds) else seconds):
            output = await work
    except (Fenced, Reload, Waiting):
        raise  # its rows are somebody else's, must be read again, or wait for a person
    except ToolFailure as e:
        return Done(failure(call, str(e)), error=type(e).__name__)
    except TimeoutError as e:
        text = f"{call.name} timed out after {seconds:g} s."
        return replace(_cut(call, spec, text), error=type(e).__name__)
    except Exception as e:
        log.exception("tool_failed", extra={"tool": call.name, "turn": ctx.turn_id})
        kind = type(e).__name__
        return replace(_cut(call, spec, f"{call.name} failed inside ({kind})."), error=kind)
    return await _packed(ctx.owner, call, output, spec)


def _cut(call: ToolUse, spec: ToolSpec, text: str) -> Done:
    if spec.read_only and spec.idempotent:
        return Done(failure(call, text))
    return Done(failure(call, f"{text} {UNSURE}"), meta={"outcome": "unknown"})


def seconds_of(run: Run, spec: ToolSpec) -> float:
    """A tool's time: its own, the agent's, and what is left of the run (SUB-4); inf where it keeps its own deadline."""
    if math.isinf(spec.timeout):
        return math.inf
    return max(0.001, min(spec.timeout, run.agent.limits.tool_timeout, run.left()))


def context_of(
    run: Run, call: ToolUse, rules: tuple[Rule, ...] = (), consent: Consent | None = None
) -> ToolContext:
    """What a tool may know in this run."""

    def progress(detail: str, progress: float | None = None) -> None:
        run.emit(ToolProgress(call.id, detail, progress, run.label))

    return ToolContext(
        owner=run.person.owner,
        session_id=run.journal.session_id,
        turn_id=run.journal.turn_id,
        call_id=call.id,
        language=run.person.language,
        clock=run.clock,
        as_of=run.person.as_of,
        progress=progress,
        archive=run.archive,
        memory=open_memory(run.memory, run.agent.memory, run.person.place),
        max_age=run.person.max_age,
        sources=run.person.sources,
        rules=rules,
        consent=consent,
        tasks=run.tasks,
        skills=run.agent.skills,
    )


async def _packed(owner: str, call: ToolUse, output: ToolOutput, spec: ToolSpec) -> Done:
    """Files and long text go to blobs; the model keeps a preview with a reference (EVT-6)."""
    if len(output.content) > LONG:
        packed = await asyncio.to_thread(pack, owner, call, output, spec.credibility)
    else:
        packed = pack(owner, call, output, spec.credibility)
    return Done(packed.result, packed.blobs, packed.meta, output.summary)
