"""What the next model call of a run sees: the view, made smaller where that is due, as a request with its report.

Compaction is looked at before every call (EVT-2), for the model that answers next (TOK-8); what it decides is committed
before the call is made. A summary that fails never fails the turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.assembly.builder import Frame, Measure, Prefix, measured, report, request
from agent_core.compaction.compactor import Outcome, compact
from agent_core.compaction.economics import FIVE_MINUTES, HOUR, Situation
from agent_core.compaction.ladder import Asked
from agent_core.compaction.request import asked_in
from agent_core.compaction.summary import Job, Made, summarise
from agent_core.compaction.view import View
from agent_core.events import Compacted, ContextOverflow
from agent_core.models.tokens import calibration, window_for
from agent_core.ports import ModelRequest
from agent_core.runtime import paying, trace
from agent_core.runtime.on_demand import is_open, shown
from agent_core.runtime.run import Run
from agent_core.runtime.skills import offered, prompted
from agent_core.runtime.workspace import kept
from agent_core.types import Row, RowKind


@dataclass(frozen=True, slots=True)
class Seen:
    """A request, and its estimate (`mixed`, uncalibrated) for TOK-10."""

    request: ModelRequest
    estimate: int


async def next_request(run: Run, asked: Asked | None = None) -> Seen:
    """The next request of this run; compacts first where it is due or `asked` for."""
    view = await _look(run)
    turn = run.journal.turn_id
    frame, situation = _frame(run), _situation(run, view)
    outcome = await _compacted(run, view, situation, asked or asked_in(view.rows, turn))
    view = outcome.view
    made = request(view, frame, turn)
    measure = Measure(run.policy.name, situation.threshold, situation.ratio)
    told = report(made, view, frame, turn, measure)
    trace.requested(run.journal, told.to_json(), model=frame.model.name, agent=run.label)
    return Seen(made, frame.prefix.tokens + view.tokens)


async def compact_now(run: Run, topic: str) -> Outcome:
    """Compact because the person asked to (CMP-30)."""
    view = await _look(run)
    return await _compacted(run, view, _situation(run, view), Asked(topic))


async def _look(run: Run) -> View:
    rows, checkpoints = await run.journal.rows(), await run.journal.checkpoints()
    if run.offered is None:
        run.offered = offered(rows)
    if run.waiting and is_open(rows, checkpoints):
        run.waiting, run.prefix = (), None
    view = run.view
    if view is None or len(view.rows) > len(rows):
        view = View.of(rows, checkpoints)
    elif (len(view.rows), len(view.checkpoints)) != (len(rows), len(checkpoints)):
        view = view.extended(rows[len(view.rows) :], checkpoints[len(view.checkpoints) :])
    run.view = view
    return view


def _frame(run: Run) -> Frame:
    info = run.model.info
    if run.prefix is None:
        schemas = tuple(spec.schema for spec in shown(run.tools, run.waiting))
        run.prefix = measured(Prefix(prompted(run), schemas))
    tokens = min(run.agent.limits.output_tokens, info.max_output_tokens)
    return Frame(run.prefix, info, tokens, run.agent.effort)


def _situation(run: Run, view: View) -> Situation:
    info, most = run.model.info, run.agent.reads
    window = info.context_window
    return Situation(
        window=window if most is None else window_for(most, window),
        fixed_tokens=_frame(run).prefix.tokens,
        cache=info.cache,
        ttl_s=HOUR if info.cache == "breakpoint" else FIVE_MINUTES,
        idle_s=_idle(run, view.rows),
        ratio=calibration(view.rows, info.name),
    )


def _idle(run: Run, rows: Sequence[Row]) -> float:
    """Seconds since a model answered in this session; inf when none did."""
    for row in reversed(rows):
        if row.kind is RowKind.ASSISTANT and "usage" in row.meta:
            return max(0.0, (run.clock.now() - row.at).total_seconds())
    return float("inf")


async def _compacted(run: Run, view: View, situation: Situation, asked: Asked | None) -> Outcome:
    async def made(job: Job) -> Made:
        return await summarise(job, paying.Payable(run))

    turn = run.journal.turn_id
    outcome = await compact(
        view,
        situation,
        run.policy,
        made,
        lambda seen: request(seen, _frame(run), turn),
        asked=asked,
        state=kept(view.rows, turn),
    )
    if outcome.notes:
        trace.compacted(
            run.journal,
            before=outcome.before,
            after=outcome.after,
            notes=outcome.notes,
            problem=problem_of(outcome),
            agent=run.label,
        )
    paid = outcome.usage if outcome.model else None
    if outcome.checkpoints or paid is not None:
        await run.journal.append(
            [], usage=paid, model=outcome.model, checkpoints=outcome.checkpoints
        )
    run.view = outcome.view
    _tell(run, outcome, asked)
    return outcome


def _tell(run: Run, outcome: Outcome, asked: Asked | None) -> None:
    problem = problem_of(outcome)
    changed = any(c.body.get("seqs", True) for c in outcome.checkpoints)  # not only a mark of a try
    if changed or problem:
        done = Compacted(
            outcome.before,
            outcome.after,
            outcome.summary_made,
            "" if asked is None else asked.topic,
            problem,
            run.label,
            outcome.model,
            outcome.usage if outcome.model else None,
        )
        run.compacted.append(done)
        run.emit(done)
    for note in outcome.notes:
        if note["event"] == "context_overflow":
            run.emit(ContextOverflow(note["dropped"] + note["clipped"], run.label))


def problem_of(outcome: Outcome) -> str:
    """What went wrong with a summary, "" for nothing (CMP-15)."""
    told = [n.get("problem", "") for n in outcome.notes if n["event"] == "summary"]
    return next((problem for problem in told if problem), "")
