"""Compaction before a model call: what the ladder decided, carried out (CMP-20). It reads no clock and writes nothing.

The runtime calls it before every model call, in the loop of a sub-agent as well (CMP-36), and stores the checkpoints
of the outcome in one commit with the rows that they are about. Until then nothing has happened: when the summary
fails, the view is the one that came in, but for what layers 1 and 2 decided without it (CMP-14).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agent_core.compaction.clearing import tail_clearing
from agent_core.compaction.decisions import Summary, checkpoint
from agent_core.compaction.economics import Situation
from agent_core.compaction.frame import Framed, framed
from agent_core.compaction.guard import guard
from agent_core.compaction.ladder import Asked, Plan, attempt, plan
from agent_core.compaction.strategies import Policy
from agent_core.compaction.summary import Job, Made
from agent_core.compaction.view import View
from agent_core.errors import ModelError
from agent_core.ports import ModelRequest
from agent_core.types import Checkpoint, Usage

HEAD_SHARE = 0.7  # of the room; a larger head, which no guard can shorten, would leave none for the conversation
SHORTEST = 20  # characters; a shorter summary says nothing (CMP-14)

Summarise = Callable[[Job], Awaitable[Made]]
RequestFor = Callable[[View], ModelRequest]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        view: what the model is to see.
        checkpoints: to be stored, in order; empty when nothing was decided.
        usage, model: of the summary's calls.
        notes: for the trace; each has "event".
        summary_made: whether a new summary stands.
        before, after: the whole request in the model's tokens.
    """

    view: View
    checkpoints: tuple[Checkpoint, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    notes: tuple[dict[str, Any], ...] = ()
    summary_made: bool = False
    before: int = 0
    after: int = 0


async def compact(
    view: View,
    situation: Situation,
    policy: Policy,
    summarise: Summarise,
    request_for: RequestFor,
    *,
    asked: Asked | None = None,
    state: str = "",
) -> Outcome:
    """Bring the view to what the model is to see now.

    Args:
        view: of everything that is stored.
        situation: made for this very call.
        policy: likewise; it may differ from the last call's.
        summarise: makes a summary; a ModelError that it raises leaves the view as it is.
        request_for: the request that would be sent for a view; a forked summary is asked for on top of it.
        asked: a compaction was asked for.
        state: the workspace state of the run, kept beside a summary (ASM-8); "" for none.

    Cancellation passes through, and leaves nothing done.
    """
    decided = plan(view, situation, policy, asked=asked)
    before = situation.total(view.tokens)
    outcome = Outcome(decided.view, decided.checkpoints, before=before)
    notes: list[dict[str, Any]] = [{"event": "layer", **note} for note in decided.notes]
    if decided.cut is not None:
        outcome = await _summarised(
            decided, situation, policy, summarise, request_for, asked or Asked(), state, notes
        )
        if not outcome.summary_made and asked is None:
            outcome = _remembered(outcome)
    outcome = _guarded(outcome, situation, notes)
    after = situation.total(outcome.view.tokens)
    if outcome.checkpoints or notes:
        kinds = [c.kind for c in outcome.checkpoints]
        notes.append(
            {
                "event": "compaction",
                "policy": policy.name,
                "reason": decided.reason,
                "kinds": kinds,
                "before": before,
                "after": after,
            }
        )
    return replace(outcome, before=before, after=after, notes=tuple(notes))


async def _summarised(
    decided: Plan,
    situation: Situation,
    policy: Policy,
    summarise: Summarise,
    request_for: RequestFor,
    asked: Asked,
    state: str,
    notes: list[dict[str, Any]],
) -> Outcome:
    assert decided.cut is not None  # noqa: S101 - the caller has looked
    kept = Outcome(decided.view, decided.checkpoints)
    # Facts, excerpts and keywords of a long head take tens of milliseconds: beside the event loop.
    frame = await asyncio.to_thread(
        framed, decided.view, decided.cut, situation, policy, topic=asked.topic, state=state
    )
    if frame.overflow:
        notes.append({"event": "facts", "overflow": frame.overflow})
    made = Made("", "none")
    if policy.profile != "none":
        job = _job(decided, frame, situation, policy, request_for)
        try:
            made = await summarise(job)
        except ModelError as e:
            made = Made("", policy.profile, problem=str(e))
        notes.append(_summary_note(made, asked))
        if len(made.text.strip()) < SHORTEST:
            return replace(kept, usage=made.usage, model=made.model)
    body = replace(
        frame.summary,
        text=made.text,
        profile=made.profile,
        model=made.model,
        chunks=made.chunks,
        before=situation.total(decided.view.tokens),
    )
    return _taken(kept, body, decided.cut, situation, policy, made, notes)


def _taken(
    kept: Outcome,
    body: Summary,
    cut: int,
    situation: Situation,
    policy: Policy,
    made: Made,
    notes: list[dict[str, Any]],
) -> Outcome:
    """With the summary, and with what can be cleared now that the prefix is new; without, where it gains nothing."""
    done = checkpoint(body, until=cut)
    view = kept.view.extended((), (done,))
    body = replace(body, after=situation.total(view.tokens))
    extra = tail_clearing(view, policy)
    every = (checkpoint(body, until=cut), *extra)
    shorter = kept.view.extended((), every)
    head = sum(p.tokens for p in shorter.parts if p.kind == "head")
    if shorter.tokens >= kept.view.tokens or head > HEAD_SHARE * situation.room:
        notes.append({"event": "summary", "left": "too large", "head": head})
        return replace(kept, usage=made.usage, model=made.model)
    return replace(
        kept,
        view=shorter,
        checkpoints=(*kept.checkpoints, *every),
        usage=made.usage,
        model=made.model,
        summary_made=True,
    )


def _job(
    decided: Plan, frame: Framed, situation: Situation, policy: Policy, request_for: RequestFor
) -> Job:
    """On the same prefix where the cache still has it; else the rows alone, which are fewer tokens (guide, 9)."""
    view, cut = decided.view, decided.cut
    fork = policy.forked and not situation.cold and not decided.checkpoints
    return Job(
        request=request_for(view) if fork else None,
        rows=[r for r in view.visible if view.until <= r.seq < (cut or 0)],
        previous=view.summary,
        facts=frame.facts,
        anchors=frame.summary.anchors,
        topic=frame.summary.topic,
        shown=frame.shown,
        profile=policy.profile,
        limit_tokens=situation.estimate(policy.summary_share * situation.threshold),
        window=situation.window,
        ratio=situation.ratio,
    )


def _summary_note(made: Made, asked: Asked) -> dict[str, Any]:
    return {
        "event": "summary",
        "profile": made.profile,
        "model": made.model,
        "chunks": made.chunks,
        "attempts": made.attempts,
        "problem": made.problem,
        "missing": list(made.missing),
        "forked": made.forked,
        "topic": asked.topic,
    }


def _remembered(outcome: Outcome) -> Outcome:
    """With a mark that this was tried, so that it is not tried again at once (CMP-15)."""
    made = attempt(outcome.view)
    view = outcome.view.extended((), (made,))
    return replace(outcome, view=view, checkpoints=(*outcome.checkpoints, made))


def _guarded(outcome: Outcome, situation: Situation, notes: list[dict[str, Any]]) -> Outcome:
    """Whatever came before, the request fits."""
    if outcome.view.tokens <= situation.room:
        return outcome
    before = situation.total(outcome.view.tokens)
    view, made = guard(outcome.view, situation.room)
    notes.append(
        {
            "event": "context_overflow",
            "before": before,
            "after": situation.total(view.tokens),
            "dropped": sum(c.kind == "drop" for c in made),
            "clipped": sum(c.kind == "clip" for c in made),
        }
    )
    return replace(outcome, view=view, checkpoints=(*outcome.checkpoints, *made))
