"""Compaction before a model call: what the ladder decided, carried out (CMP-20). It reads no clock and writes nothing.

The runtime calls it before every model call, in the loop of a sub-agent as well (CMP-36), and stores the checkpoints
of the outcome in one commit with the rows that they are about. Until then nothing has happened: when the summary
fails, the view is the one that came in, but for what layers 1 and 2 decided without it (CMP-14).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent_core.compaction import anchors, facts, signs
from agent_core.compaction.decisions import Fact, Summary, checkpoint, range_ref
from agent_core.compaction.economics import Situation
from agent_core.compaction.guard import guard
from agent_core.compaction.ladder import Asked, Plan, plan, tail_clearing
from agent_core.compaction.pairs import delivered_behind
from agent_core.compaction.strategies import Policy
from agent_core.compaction.summary import Job, Made
from agent_core.compaction.view import View
from agent_core.errors import ModelError
from agent_core.models.tokens import of_text
from agent_core.ports import ModelRequest
from agent_core.types import Checkpoint, Row, RowKind, Usage

SHORTEST = 20  # characters; a shorter summary says nothing (CMP-14)
MAX_REQUEST_CHARS = (4_000, 2_000)  # of the task at hand, when a cut falls inside its turn
KEEP_ANSWER = 2_000  # tokens up to which the last delivered answer stays raw behind a cut (CMP-35)

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
    frame = framed(decided.view, decided.cut, situation, policy, topic=asked.topic, state=state)
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
        frame,
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
    if shorter.tokens >= kept.view.tokens:
        notes.append({"event": "summary", "left": "it would be no shorter"})
        return replace(kept, usage=made.usage, model=made.model)
    return replace(
        kept,
        view=shorter,
        checkpoints=(*kept.checkpoints, *every),
        usage=made.usage,
        model=made.model,
        summary_made=True,
    )


def framed(
    view: View, cut: int, situation: Situation, policy: Policy, *, topic: str = "", state: str = ""
) -> Summary:
    """All of a summary but its text: what is kept of the rows behind the cut, and how they are found again."""
    behind = [r for r in view.visible if r.seq < cut]
    new = [r for r in behind if r.seq >= view.until]
    chain = (facts.KEYWORDS,) if policy.keywords_only else facts.CHAIN
    held: tuple[Fact, ...] = ()
    if policy.facts:
        held, _ = facts.slot(facts.extract(behind, chain))
    words, clip = said(behind, situation.estimate(policy.words * situation.window), policy.clip)
    words = (*words, *_last_answer(view, cut))
    picked = anchors.pick(new, limit=policy.anchors, leave_out=words) if policy.anchors else ()
    texts = [anchors.spoken(r) for r in new]
    joined = "\n".join(texts)
    return Summary(
        text="",
        profile=policy.profile,
        layout=policy.layout,
        facts=held,
        anchors=picked,
        words=words,
        clip=clip,
        state="\n".join(s for s in (_task(view, cut, clip), state) if s),
        archive=range_ref(behind[0].seq, behind[-1].seq)
        if behind and policy.profile != "short"
        else "",
        keywords=signs.keywords(texts),
        symbols=tuple(signs.codes(joined)[:24]),
        paths=tuple(signs.paths(joined)[:24]),
        topic=topic,
    )


def said(
    rows: Sequence[Row], budget: int, clip: tuple[int, int]
) -> tuple[tuple[int, ...], tuple[int, int]]:
    """(rows whose words are kept, clip of each text) within `budget` estimated tokens; all of them where it can be.

    A tighter clip comes before leaving any out; then the oldest go.
    """
    if budget <= 0:
        return (), clip
    spoken = [(r.seq, r.message.text) for r in rows if r.kind is RowKind.USER]
    for share in (1, 2, 3, 4):
        tight = (clip[0] // share, clip[1] // share)
        sizes = [_size(text, tight) for _, text in spoken]
        if sum(sizes) <= budget:
            return tuple(seq for seq, _ in spoken), tight
    start, total = len(spoken), 0
    while start and total + sizes[start - 1] <= budget:
        start -= 1
        total += sizes[start]
    return tuple(seq for seq, _ in spoken[start:]), tight


def _size(text: str, clip: tuple[int, int]) -> int:
    long = len(text) > sum(clip) + 30
    return of_text(text[: clip[0]] + text[-clip[1] :] if long else text) + 8


def _last_answer(view: View, cut: int) -> tuple[int, ...]:
    """The newest answer that was delivered, when it lies behind the cut and is not too long to stay (CMP-35)."""
    seq = delivered_behind(view, cut)
    row = None if seq is None else view.row(seq)
    fits = row is not None and of_text(row.message.text) <= KEEP_ANSWER
    return (row.seq,) if row is not None and fits else ()


def _task(view: View, cut: int, clip: tuple[int, int]) -> str:
    """What the person asked in the turn at hand, when the cut falls inside that turn and a clip would shorten it."""
    turn = view.rows[-1].turn_id
    rows = [r for r in view.visible if r.turn_id == turn and r.kind is RowKind.USER and r.seq < cut]
    text = rows[-1].message.text.strip() if rows else ""
    if len(text) <= sum(clip) + 30:
        return ""
    first, last = MAX_REQUEST_CHARS
    if len(text) > first + last:
        text = f"{text[:first]}\n…\n{text[-last:]}"
    return f"The task at hand, in the person's own words:\n{text}"


def _job(
    decided: Plan, frame: Summary, situation: Situation, policy: Policy, request_for: RequestFor
) -> Job:
    """On the same prefix where the cache still has it; else the rows alone, which are fewer tokens (guide, 9)."""
    view, cut = decided.view, decided.cut
    fork = policy.forked and not situation.cold and not decided.checkpoints
    return Job(
        request=request_for(view) if fork else None,
        rows=[r for r in view.visible if view.until <= r.seq < (cut or 0)],
        previous=view.summary,
        facts=frame.facts,
        anchors=frame.anchors,
        topic=frame.topic,
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
        "topic": asked.topic,
    }


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
