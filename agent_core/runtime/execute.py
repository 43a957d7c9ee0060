"""Running the calls of one assistant message: batches, time-outs, size, and results that are stored as they finish.

Neighbouring concurrency-safe calls run side by side, at most five; others alone; the order of
batches is the order of the calls (TGV-2). Each call has an intent row before it runs (TGV-10):
found again without a result after a crash, a call that is not idempotent is answered "outcome
unknown" and never repeated (starting a background task again gives the same task). A tool's
failure is a result for the model. A call that waits for a person (asking.py) ends the run with
`Waiting`, once the others of its batch have their results.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent_core.errors import Fenced, Reload, Waiting
from agent_core.events import ToolFinished, ToolStarted
from agent_core.runtime import repeats, trace
from agent_core.runtime.asking import UNCOVERED, allowed, asks, consult, in_force, uncovered
from agent_core.runtime.background import in_background
from agent_core.runtime.flow import PLAN
from agent_core.runtime.guards import first_loop, made_calls, tripped
from agent_core.runtime.invoke import Done, failure, invoke
from agent_core.runtime.restrict import DELEGATE, WHY, End, Restriction, restriction
from agent_core.runtime.run import Run
from agent_core.tools.ask import ASK_USER
from agent_core.tools.registry import ALIASES
from agent_core.tools.spec import Consent, ToolFailure, ToolSpec
from agent_core.types import Message, NewRow, Row, RowKind, ToolResult, ToolUse

WORKERS = 5
DETAIL_CHARS = 80

UNKNOWN_OUTCOME = (
    "Outcome unknown: the process ended while this call ran, and it is not safe to repeat. "
    "Check the state with a reading tool, or ask the person, before trying again."
)


FIXED = "This preset has a fixed plan: what it delegates is done. Answer from the results."
NOBODY = (
    "{tool} needs a person's approval, and nobody can be asked in this run: it was not run. Say what you would do, so "
    "that it can be asked for with ask_user in a conversation first."
)
LEAD_ONLY = (
    "{tool} was not run: only the supervisor may call it, after a person's yes. Say in your result "
    "what you propose."
)
NOBODY_ANSWERS = "Nobody can be asked here. Go on without, and say what you assumed."


@dataclass(frozen=True, slots=True)
class _Batch:
    """Calls that run side by side.

    `started` began before this run of the turn; `refusals` says why a call may not run; `rows` is everything stored.
    """

    calls: Sequence[ToolUse]
    started: set[str]
    refusals: Mapping[str, str | None]
    rows: Sequence[Row]


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
    planned = PLAN in message_row.meta
    same = run.agent.limits.same_calls
    loop_at = None if planned else first_loop(earlier, message_row.message.calls, same)
    looped = set() if loop_at is None else {c.id for c in message_row.message.calls[loop_at:]}
    runnable = [call for call in pending if call.id not in looped]
    refusals = _limits(run, stored, message_row).refusals(message_row.message.calls)
    new: list[Row] = []
    for calls in _batches(run, runnable):
        new += await _announce(run, [c for c in calls if c.id not in started])
        asking = {c.id for c in calls if asks(run.agent, _spec(run, c), c)}
        known = (started - asking) | (begun & asking)
        new += await _run_batch(run, _Batch(calls, known, refusals, [*stored, *new]))
    for call in pending:
        if call.id in looped:
            new.append(await _refuse(run, call, tripped(same), {"guard": "doom_loop"}))
    return new


def _limits(run: Run, rows: Sequence[Row], message_row: Row) -> Restriction:
    """What bounds the calls of a message: those of a fixed plan nothing but the plan, a model's also the plan."""
    if PLAN in message_row.meta:
        return Restriction()
    limits = restriction(
        [r for r in rows if r.seq < message_row.seq], message_row.turn_id, run.agent
    )
    if run.plan is None or not run.plan.steps:
        return limits
    fixed = {c.name: FIXED for c in message_row.message.calls if c.name.startswith(DELEGATE)}
    return replace(limits, refused=(*limits.refused, *fixed.items()))


async def refuse_all(run: Run, calls: Sequence[ToolUse], why: End) -> list[Row]:
    """Answer calls that came when no tool may run any more."""
    for call in calls:
        _trace_refusal(run, call, WHY[why])
    rows = [_row(Done(failure(call, WHY[why]), meta={"refused": why})) for call in calls]
    return list(await run.journal.append(rows))


def first_intents(run: Run, rows: Sequence[Row], message: Message) -> list[NewRow]:
    """Intents of the first batch, to be stored in the transaction of the assistant row itself."""
    made = made_calls(rows, run.journal.turn_id)
    if first_loop(made, message.calls, run.agent.limits.same_calls) is not None:
        return []
    first = next(iter(_batches(run, message.calls)), [])
    return _intents(run, first)


def _batches(run: Run, calls: Sequence[ToolUse]) -> list[Sequence[ToolUse]]:
    """What runs together, in order. Repeats of a deterministic call come after it, to take its result (DOM-7)."""
    batches: list[Sequence[ToolUse]] = []
    for safe, group in groupby(calls, key=lambda call: _is_safe(run, call)):
        members = list(group)
        if safe:
            keys = [repeats.key_of(call, _spec(run, call)) for call in members]
            batches += repeats.apart(members, keys)
        else:
            batches += [[call] for call in members]
    return batches


def _is_safe(run: Run, call: ToolUse) -> bool:
    spec = _spec(run, call)
    return spec is None or (spec.concurrency_safe and not asks(run.agent, spec, call))


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


async def _run_batch(run: Run, batch: _Batch) -> list[Row]:
    if len(batch.calls) == 1:
        return [await _run_one(run, batch.calls[0], batch)]
    slots = asyncio.Semaphore(WORKERS)

    async def one(call: ToolUse) -> Row | Waiting:
        async with slots:
            try:
                return await _run_one(run, call, batch)
            except Waiting as e:  # the others of the batch go on; TaskGroup would cancel them
                return e

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(call)) for call in batch.calls]
    except* (Fenced, Reload) as left:  # one is enough to know; the group has cancelled the others
        raise left.exceptions[0] from None
    rows = [task.result() for task in tasks]
    for row in rows:
        if isinstance(row, Waiting):
            raise row
    return sorted((row for row in rows if isinstance(row, Row)), key=lambda row: row.seq)


async def _run_one(run: Run, call: ToolUse, batch: _Batch) -> Row:
    spec = _spec(run, call)
    if refusal := batch.refusals[call.id]:
        return await _refuse(run, call, refusal)
    if spec is None or (spec.lead_only and run.label is not None):  # TGV-9
        nothing = f"There is no tool {call.name!r} here."
        return await _refuse(run, call, LEAD_ONLY.format(tool=call.name) if spec else nothing)
    if call.id in batch.started and not spec.idempotent and in_background(run, spec) is None:
        return await _refuse(run, call, UNKNOWN_OUTCOME)
    if call.args is not None and asks(run.agent, spec, call):
        return await _ask_first(run, call, spec, batch.started)
    if call.args is not None and uncovered(run.agent, spec, call):
        return await _refuse(run, call, UNCOVERED.format(tool=call.name))
    return await _carry_out(run, call, spec, earlier=batch.rows)


async def _refuse(
    run: Run, call: ToolUse, why: str, meta: Mapping[str, object] | None = None
) -> Row:
    """Answer a call that is not run."""
    _trace_refusal(run, call, why)
    return await _store(run, Done(failure(call, why), meta=meta))


def _trace_refusal(run: Run, call: ToolUse, why: str) -> None:
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


async def _ask_first(run: Run, call: ToolUse, spec: ToolSpec, begun: set[str]) -> Row:
    if not run.person.present:
        words = NOBODY_ANSWERS if spec.name == ASK_USER else NOBODY.format(tool=call.name)
        return await _refuse(run, call, words)
    try:
        settled = await consult(run, call, spec, begun)
    except ToolFailure as e:
        return await _refuse(run, call, str(e))
    if settled.call is not None:
        return await _carry_out(run, settled.call, spec, settled.meta, consent=settled.consent)
    result = ToolResult(call.id, call.name, settled.result, is_error=not settled.ok)
    return await _store(run, Done(result, meta=settled.meta))


async def _carry_out(
    run: Run,
    call: ToolUse,
    spec: ToolSpec,
    meta: dict[str, object] | None = None,
    earlier: Sequence[Row] = (),
    consent: Consent | None = None,
) -> Row:
    began = run.clock.monotonic()
    run.emit(
        ToolStarted(
            call.id, spec.name, spec.display(run.person.language), call_detail(call), run.label
        )
    )
    again = _known(run, call, spec, earlier)
    done = again or await invoke(run, call, spec, consent, in_force(run.agent, spec, call))
    if meta:
        done = replace(done, meta={**(done.meta or {}), **meta})
    result = done.result
    seconds = run.clock.monotonic() - began
    status = "error" if result.is_error else "ok"
    trace.tool_ended(
        run.journal,
        call.id,
        call.name,
        call.args,
        result=result.content,
        ms=round(seconds * 1_000),
        status="cached" if again else status,
        agent=run.label,
    )
    row = await _store(run, done)
    run.alive()
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


def _known(run: Run, call: ToolUse, spec: ToolSpec, rows: Sequence[Row]) -> Done | None:
    """The result that this turn has for the same call of a deterministic tool (DOM-7)."""
    row = repeats.known(rows, run.journal.turn_id, call, spec)
    if row is None:
        return None
    [result] = [block for block in row.message.blocks if isinstance(block, ToolResult)]
    summary = str(row.meta.get("summary") or "")
    return Done(
        replace(result, call_id=call.id), meta={**row.meta, "cached": row.seq}, summary=summary
    )


def call_detail(call: ToolUse) -> str:
    """A call's arguments in one short line, for people."""
    values = [str(v) for v in (call.args or {}).values() if isinstance(v, str | int | float | list)]
    return " ".join(values)[:DETAIL_CHARS]


def _row(done: Done) -> NewRow:
    message = Message("user", (done.result,))
    return NewRow(RowKind.RESULT, message, ref=done.result.call_id, meta=dict(done.meta or {}))


async def _store(run: Run, done: Done) -> Row:
    rows = await run.journal.append([_row(done)], blobs=done.blobs)
    return rows[0]
