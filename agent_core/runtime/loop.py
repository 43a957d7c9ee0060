"""The loop: model, tools, model, until an answer or a limit.

What comes next is read off the rows, so any row resumes.

A user row: call the model. An assistant row with calls: run those without a result. The final
message is returned, not stored; the caller stores it in the transaction that ends the turn or the
delegation.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import cast

from agent_core.compaction.ladder import Asked
from agent_core.errors import BudgetExceeded, ContextTooLong
from agent_core.events import (
    ModelStarted,
    Retrying,
    Steered,
    StreamReset,
    TextDelta,
    ThinkingDelta,
    Used,
)
from agent_core.models.stream import StreamLimits
from agent_core.ports import (
    FinishedChunk,
    ModelRequest,
    RestartChunk,
    TextChunk,
    ThinkingChunk,
)
from agent_core.runtime import accept, internal, paying, planned, templates, trace
from agent_core.runtime.context import Seen, next_request
from agent_core.runtime.execute import first_intents, refuse_all, run_calls
from agent_core.runtime.guards import made_calls
from agent_core.runtime.output import NO_VERDICT, Verdict
from agent_core.runtime.pictures import with_pictures
from agent_core.runtime.remarks import doubts
from agent_core.runtime.restrict import End, restriction, rounds
from agent_core.runtime.run import Ended, Reason, Run
from agent_core.types import Block, NewRow, Row, RowKind, Thinking, ToolUse, Usage, assistant

_ENDS: dict[str, Reason] = {"end": "done", "max_tokens": "max_tokens", "refusal": "refusal"}


async def run_agent(run: Run) -> Ended:
    """Run until the agent answers or a limit ends it.

    Raises ModelError, Fenced; cancellation passes through.

    When no tool is left (round limit, doom loop, stop_and_report), a batch of calls is refused
    once, so that the model can still answer (EVT-4); a second one ends the run. The caller holds
    the deadline: `asyncio.timeout` around this call.
    """
    rows = list(await run.journal.rows())
    turn = run.journal.turn_id
    planned.regrant(run, rows)
    templates.regrant(run, rows)
    while True:
        await _finish_calls(run, rows)
        if _over_budget(run, rows):
            return _ended(run, rows, None, "over_budget")
        await _steer(run, rows)
        step = await templates.go_on(run, rows) or await planned.go_on(run, rows)
        if isinstance(step, Ended):
            return step
        if step:
            continue
        if note := internal.nudge(run, rows, used(rows, turn).usd):
            rows += await run.journal.append([note])
        finished = with_new_ids(await _call_model(run, rows), rows)
        if finished.stop != "tool_use" or not finished.message.calls:
            verdict = await accept.judge(run, rows, finished.message.text)
            if await _corrected(run, rows, finished, verdict):
                continue
            return _ended(run, rows, finished, _ENDS.get(finished.stop, "done"), verdict)
        ended = restriction(rows, turn, run.agent).ended
        told = _refused(rows, turn)
        await _store_calls(run, rows, finished, dispatch=ended is None)
        if ended:
            rows += await refuse_all(run, finished.message.calls, ended)
            if told:
                return _ended(run, rows, None, ended)


async def _corrected(run: Run, rows: list[Row], finished: FinishedChunk, verdict: Verdict) -> bool:
    """Store an answer as a draft, with why it is none, when a guard or its contract does not take it (LPG-4)."""
    if finished.stop != "end" or _over_budget(run, rows, finished.usage):
        return False
    note = internal.correction(run, rows)
    if note is None and _refused(rows, run.journal.turn_id) is None:
        note = accept.repair(run, rows, verdict)
    if note is None:
        return False
    if run.streamed:
        run.streamed = ""
        run.emit(StreamReset("the answer is not taken yet", run.label))
    draft = _row(run, finished)
    if not finished.message.text.strip():
        draft = replace(draft, message=assistant("(no answer)"))
    draft = replace(draft, meta=draft.meta | {internal.INTERNAL: "draft"})
    rows += await run.journal.append([draft, note], usage=finished.usage, model=finished.model)
    return True


async def _finish_calls(run: Run, rows: list[Row]) -> None:
    last = next((r for r in reversed(rows) if r.kind is RowKind.ASSISTANT), None)
    if last is None or last.turn_id != run.journal.turn_id or not last.message.calls:
        return
    rows += await run_calls(run, rows, last)


async def _steer(run: Run, rows: list[Row]) -> None:
    steered = await run.journal.steer()
    rows += steered
    for row in steered:
        run.emit(Steered(row.message.text))


async def _call_model(run: Run, rows: Sequence[Row]) -> FinishedChunk:
    """Make the call; one that the provider finds too long is made once more, with a compacted view."""
    try:
        return await _call_once(run, rows, None)
    except ContextTooLong:
        return await _call_once(run, rows, Asked())


async def _call_once(run: Run, rows: Sequence[Row], asked: Asked | None) -> FinishedChunk:
    seen = await _paid_request(run, rows, asked)
    info = run.model.info
    run.streamed, run.estimate = "", seen.estimate
    run.emit(ModelStarted(info.name, rounds(rows, run.journal.turn_id) + 1, run.label))
    finished = await _read(run, await with_pictures(run, seen.request))
    run.alive()
    run.emit(Used(finished.model, finished.usage, info.context_window, run.label))
    thoughts = [b.text for b in finished.message.blocks if isinstance(b, Thinking)]
    trace.thought(run.journal, "\n".join(thoughts), agent=run.label)
    return finished


async def _paid_request(run: Run, rows: Sequence[Row], asked: Asked | None) -> Seen:
    """The next request, with room for it in the pots; made anew where another model has to answer."""
    while True:
        seen = await next_request(run, asked)
        spent = used(rows, run.journal.turn_id)
        try:
            await paying.reserve(run, seen.estimate, seen.request.max_tokens, spent)
        except BudgetExceeded as e:
            if not paying.switch(run, e):
                raise
        else:
            return seen


def with_new_ids(finished: FinishedChunk, rows: Sequence[Row]) -> FinishedChunk:
    """The message with call ids that are new in the session: results, intents and child sessions hang on them.

    Some servers count from 0 in each answer, so a second `call_0` would pass for one that has its
    result already.
    """
    if not finished.message.calls:
        return finished
    taken = {call.id for row in rows for call in row.message.calls}
    blocks: list[Block] = []
    for block in finished.message.blocks:
        if isinstance(block, ToolUse):
            names = chain([block.id or "call"], (f"{block.id or 'call'}-{n}" for n in count(2)))
            new_id = next(name for name in names if name not in taken)
            taken.add(new_id)
            block = replace(block, id=new_id)  # noqa: PLW2901 - the block as it is stored
        blocks.append(block)
    return replace(finished, message=replace(finished.message, blocks=tuple(blocks)))


async def _read(run: Run, request: ModelRequest) -> FinishedChunk:
    async for chunk in run.model.stream(_bounded(run, request)):
        match chunk:
            case TextChunk(text):
                if not _unreadable(run):
                    run.streamed += text
                    run.emit(TextDelta(text, run.label))
            case ThinkingChunk(text):
                run.emit(ThinkingDelta(text, run.label))
            case RestartChunk(reason, model, had_output):
                run.streamed = ""
                if had_output:
                    run.emit(StreamReset(reason, run.label))
                run.emit(Retrying(reason, model, run.label))
            case FinishedChunk():
                return chunk
    raise AssertionError("a model stream ended without its last chunk")


def _unreadable(run: Run) -> bool:
    """Whether what streams is data, which people see only when it is whole."""
    return run.label is None and run.agent.output.format == "json"


def _bounded(run: Run, request: ModelRequest) -> ModelRequest:
    """The request with the agent's own idle limit, if stricter: that of each attempt, so that another may answer."""
    idle = run.agent.limits.idle_timeout
    return request if idle >= StreamLimits().idle else replace(request, idle=idle)


async def _store_calls(
    run: Run, rows: list[Row], finished: FinishedChunk, *, dispatch: bool
) -> None:
    if run.streamed:
        run.streamed = ""
        run.emit(StreamReset("a tool call follows", run.label))
    intents = first_intents(run, rows, finished.message) if dispatch else []
    rows += await run.journal.append(
        [_row(run, finished), *intents], usage=finished.usage, model=finished.model
    )


def _row(run: Run, finished: FinishedChunk) -> NewRow:
    meta = usage_meta(finished.usage, run.estimate)
    return NewRow(RowKind.ASSISTANT, finished.message, ref=finished.model, meta=meta)


def usage_meta(usage: Usage, estimate: int = 0) -> dict[str, object]:
    """Usage as it is kept in a row's meta, so that a resumed run knows what was paid.

    `estimate` is that of the request, by which later estimates are corrected (TOK-10).
    """
    counted = [
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.usd,
        usage.cache_write_1h_tokens,
        usage.usd_uncached,
    ]
    return {"usage": counted, "estimate": estimate} if estimate else {"usage": counted}


def used(rows: Sequence[Row], turn_id: int) -> Usage:
    """What the stored model calls of this turn used."""
    total = Usage()
    for row in rows:
        if row.turn_id == turn_id and "usage" in row.meta:
            total += Usage(*row.meta["usage"])
    return total


def _ended(
    run: Run,
    rows: Sequence[Row],
    finished: FinishedChunk | None,
    reason: Reason,
    verdict: Verdict = NO_VERDICT,
) -> Ended:
    """The end of the run; without a finished message the runtime has the last word."""
    turn = run.journal.turn_id
    last = Usage() if finished is None else finished.usage
    return Ended(
        reason=(_refused(rows, turn) or reason) if reason == "done" else reason,
        message=None if finished is None else finished.message,
        usage=used(rows, turn) + last,
        last_usage=last,
        model=run.model.info.name if finished is None else finished.model,
        rounds=rounds(rows, turn),
        called=tuple(call.name for call in made_calls(rows, turn)),
        estimate=run.estimate if finished is not None else 0,
        warning=_warning(run, verdict) if reason == "done" else "",
        verdict=verdict,
    )


def _warning(run: Run, verdict: Verdict) -> str:
    return " ".join(filter(None, (internal.warning(run), doubts(verdict, run.person.language))))


def _refused(rows: Sequence[Row], turn: int) -> End | None:
    """Why a batch of calls was refused in this turn, if one was; a tripped doom loop counts."""
    for row in rows:
        if row.turn_id == turn and (why := row.meta.get("refused") or row.meta.get("guard")):
            return cast("End", why)
    return None


def _over_budget(run: Run, rows: Sequence[Row], last: Usage | None = None) -> bool:
    limit = run.agent.limits.usd
    spent = (used(rows, run.journal.turn_id) + (last or Usage())).usd
    return limit is not None and spent is not None and spent >= limit
