"""Running the calls of one assistant message: batches, time-outs, size, and results that are stored as they finish.

Neighbouring concurrency-safe calls run side by side, at most five; others alone; the order of
batches is the order of the calls (TGV-2). Each call has an intent row before it runs (TGV-10):
found again without a result after a crash, a call that is not idempotent is answered "outcome
unknown" and never repeated. A tool's failure is a result for the model. A call that waits for a
person (asking.py) ends the run with `Waiting`, once the others of its batch have their results.
"""

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent_core.errors import Fenced, Reload, Waiting
from agent_core.events import ToolFinished, ToolProgress, ToolStarted
from agent_core.ports import NewBlob
from agent_core.runtime import trace
from agent_core.runtime.asking import allowed, asks, consult
from agent_core.runtime.guards import TRIPPED, first_loop, made_calls
from agent_core.runtime.offload import LONG, pack
from agent_core.runtime.restrict import WHY, End, restriction
from agent_core.runtime.run import Run
from agent_core.tools.registry import ALIASES
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec
from agent_core.types import Message, NewRow, Row, RowKind, ToolResult, ToolUse

log = logging.getLogger(__name__)

WORKERS = 5
DETAIL_CHARS = 80

UNKNOWN_OUTCOME = (
    "Outcome unknown: the process ended while this call ran, and it is not safe to repeat. "
    "Check the state with a reading tool, or ask the person, before trying again."
)


@dataclass(frozen=True, slots=True)
class _Done:
    """A call's result with what is stored beside it."""

    result: ToolResult
    blobs: tuple[NewBlob, ...] = ()
    meta: Mapping[str, object] | None = None
    summary: str = ""


async def run_calls(run: Run, rows: Sequence[Row], message_row: Row) -> list[Row]:
    """Run every call of `message_row` that has no result yet.

    Returns the new rows in order of storing.
    """
    stored = list(rows)
    have = {row.ref for row in stored if row.kind is RowKind.RESULT}
    pending = [call for call in message_row.message.calls if call.id not in have]
    if not pending:
        return []
    started = {row.ref for row in stored if row.kind is RowKind.INTENT} - run.intents
    begun = allowed(stored)
    earlier = [
        c for c in made_calls(stored, message_row.turn_id) if c not in message_row.message.calls
    ]
    loop_at = first_loop(earlier, message_row.message.calls)
    looped = set() if loop_at is None else {c.id for c in message_row.message.calls[loop_at:]}
    runnable = [call for call in pending if call.id not in looped]
    limits = restriction(
        [r for r in stored if r.seq < message_row.seq], message_row.turn_id, run.agent
    )
    new: list[Row] = []
    for batch in _batches(run, runnable):
        new += await _announce(run, [c for c in batch if c.id not in started])
        asking = {c.id for c in batch if asks(_spec(run, c))}
        known = (started - asking) | (begun & asking)
        new += await _run_batch(run, batch, known, {c.id: limits.reason(c.name) for c in batch})
    for call in pending:
        if call.id in looped:
            done = _Done(_failure(call, TRIPPED), meta={"guard": "doom_loop"})
            new.append(await _store(run, done))
    return new


async def refuse_all(run: Run, calls: Sequence[ToolUse], why: End) -> list[Row]:
    """Answer calls that came when no tool may run any more."""
    rows = [_row(_Done(_failure(call, WHY[why]), meta={"refused": why})) for call in calls]
    return list(await run.journal.append(rows))


def first_intents(run: Run, rows: Sequence[Row], message: Message) -> list[NewRow]:
    """Intents of the first batch, to be stored in the transaction of the assistant row itself."""
    if first_loop(made_calls(rows, run.journal.turn_id), message.calls) is not None:
        return []
    first = next(iter(_batches(run, message.calls)), [])
    return _intents(run, first)


def _batches(run: Run, calls: Sequence[ToolUse]) -> list[list[ToolUse]]:
    batches: list[list[ToolUse]] = []
    for safe, group in groupby(calls, key=lambda call: _is_safe(_spec(run, call))):
        members = list(group)
        batches += [members] if safe else [[call] for call in members]
    return batches


def _is_safe(spec: ToolSpec | None) -> bool:
    return spec is None or (spec.concurrency_safe and not asks(spec))


def _spec(run: Run, call: ToolUse) -> ToolSpec | None:
    return run.granted.get(call.id) or run.tools.get(ALIASES.get(call.name, call.name))


def _intents(run: Run, calls: Sequence[ToolUse]) -> list[NewRow]:
    run.intents.update(call.id for call in calls)
    for call in calls:
        trace.tool_started(run.journal, call.id, call.name, call.args, agent=run.label)
    return [NewRow(RowKind.INTENT, Message("assistant", (call,)), ref=call.id) for call in calls]


async def _announce(run: Run, batch: Sequence[ToolUse]) -> list[Row]:
    rows = _intents(run, [call for call in batch if call.id not in run.intents])
    return list(await run.journal.append(rows)) if rows else []


async def _run_batch(
    run: Run, batch: Sequence[ToolUse], started: set[str], refusals: dict[str, str | None]
) -> list[Row]:
    if len(batch) == 1:
        return [await _run_one(run, batch[0], started, refusals)]
    slots = asyncio.Semaphore(WORKERS)

    async def one(call: ToolUse) -> Row | Waiting:
        async with slots:
            try:
                return await _run_one(run, call, started, refusals)
            except Waiting as e:  # the others of the batch go on; TaskGroup would cancel them
                return e

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(call)) for call in batch]
    except* (Fenced, Reload) as left:  # one is enough to know; the group has cancelled the others
        raise left.exceptions[0] from None
    rows = [task.result() for task in tasks]
    for row in rows:
        if isinstance(row, Waiting):
            raise row
    return sorted((row for row in rows if isinstance(row, Row)), key=lambda row: row.seq)


async def _run_one(
    run: Run, call: ToolUse, started: set[str], refusals: dict[str, str | None]
) -> Row:
    spec = _spec(run, call)
    if refusal := refusals[call.id]:
        return await _refuse(run, call, refusal)
    if spec is None:
        return await _refuse(run, call, f"There is no tool {call.name!r} here.")
    if call.id in started and not spec.idempotent:
        return await _refuse(run, call, UNKNOWN_OUTCOME)
    if asks(spec) and call.args is not None:
        return await _ask_first(run, call, spec, started)
    return await _carry_out(run, call, spec)


async def _refuse(run: Run, call: ToolUse, why: str) -> Row:
    """Answer a call that is not run."""
    trace.tool_ended(
        run.journal,
        call.id,
        call.name,
        call.args,
        result=why,
        ms=0,
        status="refused",
        agent=run.label,
    )
    return await _store(run, _Done(_failure(call, why)))


async def _ask_first(run: Run, call: ToolUse, spec: ToolSpec, begun: set[str]) -> Row:
    try:
        settled = await consult(run, call, spec, begun)
    except ToolFailure as e:
        return await _store(run, _Done(_failure(call, str(e))))
    if settled.call is not None:
        return await _carry_out(run, settled.call, spec, settled.meta)
    result = ToolResult(call.id, call.name, settled.result, is_error=not settled.ok)
    return await _store(run, _Done(result, meta=settled.meta))


async def _carry_out(
    run: Run, call: ToolUse, spec: ToolSpec, meta: dict[str, object] | None = None
) -> Row:
    began = run.clock.monotonic()
    run.emit(
        ToolStarted(
            call.id, spec.name, spec.display(run.person.language), call_detail(call), run.label
        )
    )
    done = await _outcome(run, call, spec)
    if meta:
        done = replace(done, meta={**(done.meta or {}), **meta})
    result = done.result
    seconds = run.clock.monotonic() - began
    trace.tool_ended(
        run.journal,
        call.id,
        call.name,
        call.args,
        result=result.content,
        ms=round(seconds * 1_000),
        status="error" if result.is_error else "ok",
        agent=run.label,
    )
    row = await _store(run, done)
    run.emit(
        ToolFinished(
            call.id,
            spec.name,
            not result.is_error,
            seconds,
            done.summary or (result.content[:DETAIL_CHARS] if result.is_error else ""),
            result.artifacts,
            run.label,
        )
    )
    return row


def call_detail(call: ToolUse) -> str:
    """A call's arguments in one short line, for people."""
    values = [str(v) for v in (call.args or {}).values() if isinstance(v, str | int | float | list)]
    return " ".join(values)[:DETAIL_CHARS]


async def _outcome(run: Run, call: ToolUse, spec: ToolSpec) -> _Done:
    if call.args is None:
        return _Done(_failure(call, "The arguments were not valid JSON; send them again."))
    seconds = _seconds(run, spec)
    try:
        async with asyncio.timeout(None if math.isinf(seconds) else seconds):
            output = await spec.call(_context(run, call), call.args)
    except (Fenced, Reload, Waiting):
        raise  # of a delegation: its rows are somebody else's, must be read again, or wait for a person
    except ToolFailure as e:
        return _Done(_failure(call, str(e)))
    except TimeoutError:
        return _Done(_failure(call, f"{call.name} timed out after {seconds:g} s."))
    except Exception as e:
        log.exception("tool_failed", extra={"tool": call.name, "turn": run.journal.turn_id})
        return _Done(_failure(call, f"{call.name} failed inside ({type(e).__name__})."))
    return await _packed(run, call, output, spec)


def _seconds(run: Run, spec: ToolSpec) -> float:
    """A tool's time: its own, the agent's, and what is left of the run (SUB-4); inf where it keeps its own deadline."""
    if math.isinf(spec.timeout):
        return math.inf
    return max(0.001, min(spec.timeout, run.agent.limits.tool_timeout, run.left()))


def _context(run: Run, call: ToolUse) -> ToolContext:
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
    )


def _failure(call: ToolUse, text: str) -> ToolResult:
    return ToolResult(call.id, call.name, text, is_error=True)


async def _packed(run: Run, call: ToolUse, output: ToolOutput, spec: ToolSpec) -> _Done:
    """Files and long text go to blobs; the model keeps a preview with a reference (EVT-6)."""
    if len(output.content) > LONG:
        packed = await asyncio.to_thread(pack, run.person.owner, call, output, spec.credibility)
    else:
        packed = pack(run.person.owner, call, output, spec.credibility)
    return _Done(packed.result, packed.blobs, packed.meta, output.summary)


def _row(done: _Done) -> NewRow:
    message = Message("user", (done.result,))
    return NewRow(RowKind.RESULT, message, ref=done.result.call_id, meta=dict(done.meta or {}))


async def _store(run: Run, done: _Done) -> Row:
    rows = await run.journal.append([_row(done)], blobs=done.blobs)
    return rows[0]
