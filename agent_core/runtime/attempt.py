"""One attempt of a delegation: a child session with a transcript of its own, run to an outcome that its last row holds.

So a restart goes on where it was, pays no finished call again and repeats no finished attempt (DESIGN.md 4).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_core.errors import BudgetExceeded, ModelError, ModelTimeout
from agent_core.ports import Journal, Model
from agent_core.runtime import accept
from agent_core.runtime.asking import waited
from agent_core.runtime.brief import brief, remembered, tokens_of
from agent_core.runtime.flow import filled
from agent_core.runtime.guards import made_calls
from agent_core.runtime.loop import run_agent, usage_meta
from agent_core.runtime.outcome import Outcome, denied_call, outcome_of, staged_outcome
from agent_core.runtime.output import instructed
from agent_core.runtime.planned import is_fixed
from agent_core.runtime.restrict import rounds
from agent_core.runtime.run import Ended, Run
from agent_core.runtime.team import Agent, Status
from agent_core.runtime.watchdog import Stalled, watched
from agent_core.tools.registry import Registry
from agent_core.types import Context, Message, NewRow, Row, RowKind, Text, assistant, user

# Seconds of a turn that delegations leave to the supervisor for its answer; a tenth of its time where that is less.
LAST_WORD = 30.0
NO_ANSWER = "(no answer)"  # stands for a blank last message, which no provider takes back (ASM-15)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attempt runs: whose work it is, for which run, with which tools and models by name."""

    agent: Agent
    parent: Run
    registry: Registry
    model_for: Callable[[str], Model]


async def attempt(place: Place, child: Journal, task: str, context: str, model: str) -> Outcome:
    """Run one attempt in its child session, or go on with it; one that has ended only gives its stored outcome.

    `model` is a fallback model, "" for the agent's own. Cancellation, Fenced, Reload and Waiting pass through.
    """
    rows = list(await child.rows())
    if rows and "outcome" in rows[-1].meta:
        return Outcome.from_json(rows[-1].meta["outcome"])
    if not rows:
        rows = list(await child.append([await _first_row(place, task, context)]))
    run = _child_run(place, child, model)
    # Only time in which the agent could work counts: no restart, and no waiting for a person (DESIGN.md 4).
    before = max(0.0, (rows[-1].at - rows[0].at).total_seconds() - waited(rows))
    began = run.clock.monotonic()
    if rows[0].meta.get("refused"):
        error = f"limits.input_tokens {place.agent.limits.input_tokens} exceeded by the context"
        outcome, last = Outcome(Status.OVER_BUDGET, error=error), None
    elif (staged := run.stage(place.agent.id) if run.stage else None) is not None:
        outcome, last = staged_outcome(staged, place.agent), None
    else:
        outcome, last = await _guarded(run, place.parent, before)
    outcome = replace(
        outcome,
        partial=outcome.partial or _last_words(await child.rows(), outcome),
        elapsed=round(before + run.clock.monotonic() - began, 3),
        context_truncated=bool(rows[0].meta.get("context_truncated")),
    )
    await _close(child, outcome, last)
    return outcome


async def _first_row(place: Place, task: str, context: str) -> NewRow:
    """The task, with what the agent may see beside it; its words never change after that."""
    parent, agent = place.parent, place.agent
    rows = await parent.journal.rows()
    seen = rows if parent.view is None else parent.view.visible
    planned = is_fixed(parent)
    known = await remembered(parent, agent, task)
    room = tokens_of(known)
    made = await brief(agent, task, context, parent.journal, seen, planned=planned, known=room)
    meta: dict[str, Any] = {"context_truncated": made.truncated}
    if known.ids:
        meta["recalled"] = sorted(known.ids)
    if made.refused:
        meta["refused"] = True
    if agent.grounding.numbers == "required" and not planned:  # no model wrote what a plan says
        words = f"{task}\n{context}"
        tolerance = agent.grounding.tolerance
        meta[accept.UNFOUNDED] = await accept.unfounded(parent, rows, words, tolerance)
    # A plan's tasks are in its preset's language, which need not be the person's.
    spoken = (Context(f"language: {parent.person.language}"),) if planned else ()
    message = Message("user", (*spoken, *known.contexts, Text(made.text)))
    return NewRow(RowKind.USER, message, ref="task", meta=meta)


def _last_words(rows: Sequence[Row], outcome: Outcome) -> str:
    """The last words of a run that brought no result: they may be most of it."""
    if outcome.result or outcome.status in {Status.COMPLETED, Status.EMPTY}:
        return ""
    said = (row.message.text.strip() for row in reversed(rows) if row.kind is RowKind.ASSISTANT)
    return next((words for words in said if words and words != NO_ANSWER), "")


def _child_run(place: Place, child: Journal, fallback_model: str) -> Run:
    parent = place.parent
    values = None if parent.plan is None else parent.plan.values
    agent = instructed(replace(place.agent, prompt=filled(place.agent.prompt, values)))
    name = fallback_model or agent.model
    model = parent.model if name == "auto" else place.model_for(name)
    tools = {n: s for n in sorted(set(agent.tools)) if (s := place.registry.get(n))}
    return replace(
        parent,
        # What a task finds comes in a turn of its own, too late for the next step of a plan: tools answer at once then.
        tasks=None if is_fixed(parent) else parent.tasks,
        agent=agent,
        journal=child,
        model=model,
        tools=tools,
        label=agent.id,
        streamed="",
        view=None,
        prefix=None,
        compacted=[],
        intents=set(),
        granted={},
        plan=None,
        deadline=parent.clock.monotonic() + agent.limits.time,
    )


async def _guarded(run: Run, parent: Run, before: float) -> tuple[Outcome, Ended | None]:
    """Run the agent; every end is an outcome. Cancellation, Fenced and Reload pass through.

    It ends early enough that the supervisor can still answer within its own time.
    """
    limits = run.agent.limits
    own = max(0.0, limits.time - before)
    whole = max(0.0, parent.left() - min(LAST_WORD, parent.agent.limits.time * 0.1))
    seconds = min(own, whole)
    run.deadline = run.clock.monotonic() + seconds
    why = (
        f"limits.time {limits.time:g}s reached"
        if own <= whole
        else "the time of the whole run ends"
    )
    try:
        async with asyncio.timeout(seconds), watched(run):
            ended = await run_agent(run)
    except TimeoutError:
        return await _broken(run, Status.TIMEOUT, why), None
    except Stalled as e:
        return await _broken(run, Status.TIMEOUT, str(e)), None
    except BudgetExceeded as e:
        why = "limits.usd reached" if e.pot == "run" else str(e)
        return await _broken(run, Status.OVER_BUDGET, why), None
    except ModelTimeout as e:
        return await _broken(run, Status.TIMEOUT, f"model {e.phase} time-out {e.seconds:g}s"), None
    except ModelError as e:
        return await _broken(run, Status.ERROR, type(e).__name__), None
    denied = denied_call(await run.journal.rows(), run.journal.turn_id)
    return outcome_of(ended, limits.output_chars, denied), ended


async def _broken(run: Run, status: Status, error: str) -> Outcome:
    rows = await run.journal.rows()
    turn = run.journal.turn_id
    return Outcome(
        status,
        error=error,
        partial=run.streamed.strip(),
        rounds=rounds(rows, turn),
        called=_names(rows, turn),
    )


def _names(rows: Sequence[Row], turn: int) -> tuple[str, ...]:
    return tuple(call.name for call in made_calls(rows, turn))


async def _close(child: Journal, outcome: Outcome, last: Ended | None) -> None:
    """Store the last message with the outcome; unanswered calls of a broken run stay as they are: nobody reads on."""
    meta: dict[str, Any] = {"outcome": outcome.to_json()}
    if last is None or last.message is None:
        note = NewRow(RowKind.NOTE, user(f"[{outcome.status}: {outcome.error}]"), meta=meta)
        await child.append([note])
        return
    message = last.message if last.text else assistant(NO_ANSWER)
    row = NewRow(
        RowKind.ASSISTANT,
        message,
        ref=last.model,
        meta=meta | usage_meta(last.last_usage, last.estimate),
    )
    await child.append([row], usage=last.last_usage, model=last.model)
