"""Compaction over random transcripts, policies and windows: what holds whatever happens (TPR-4, FIX-5, CMP-25)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from agent_core.assembly.builder import Frame, Prefix, request
from agent_core.compaction.compactor import Outcome, compact
from agent_core.compaction.decisions import body_of
from agent_core.compaction.economics import Situation
from agent_core.compaction.ladder import Asked
from agent_core.compaction.strategies import POLICIES
from agent_core.compaction.summary import Job, Made
from agent_core.compaction.view import View
from agent_core.models.normalise import normalise, problems
from agent_core.models.scripted import INFO
from agent_core.ports import ModelRequest
from agent_core.types import Row, RowKind, encode
from tests.property.transcripts import TIDY, TRANSCRIPTS

FRAME = Frame(Prefix("You are an assistant.", ()), INFO, 1_024)
TEXTS = ("", "short", "The person compares two shares; nothing is decided.", "long " * 2_000)
# Shrinking replays whole sessions a thousand times; what fails is printed with everything that was drawn.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
NAMES = st.sampled_from(sorted(POLICIES))
WINDOWS = st.sampled_from([4_000, 8_000, 16_000, 64_000])


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Of any window, cache and pause."""
    return Situation(
        draw(WINDOWS),
        fixed_tokens=FRAME.prefix.tokens,
        cache=draw(st.sampled_from(["breakpoint", "prefix", "none"])),
        ttl_s=draw(st.sampled_from([300.0, 3_600.0])),
        idle_s=draw(st.sampled_from([0.0, 1_000.0, float("inf")])),
        ratio=draw(st.sampled_from([0.5, 1.0, 2.5])),
    )


def asked_for(view: View) -> ModelRequest:
    turn = view.rows[-1].turn_id if view.rows else 1
    return request(view, FRAME, turn)


async def compacted(
    view: View, situation: Situation, name: str, text: str, asked: Asked | None = None
) -> Outcome:
    async def made(job: Job) -> Made:
        return Made(text, job.profile)

    return await compact(view, situation, POLICIES[name], made, asked_for, asked=asked)


def holds(outcome: Outcome, rows: Sequence[Row], situation: Situation) -> None:
    """What is true of every outcome."""
    sent = asked_for(outcome.view)
    normal = normalise(sent.messages).messages
    assert not normal or problems(normal) == []
    assert sent.system == FRAME.prefix.system
    again = View.of(rows, outcome.view.checkpoints)
    assert [encode(m) for m in again.messages] == [encode(m) for m in outcome.view.messages]
    assert again.tokens == outcome.view.tokens
    assert outcome.view.rows == tuple(rows)
    said = [r for r in outcome.view.visible if r.kind is RowKind.USER]
    if outcome.view.tokens > situation.room:
        # Only what cannot be shortened may stand above the limit: calls, reasoning, pictures, the marks themselves.
        assert len(outcome.view.parts) <= 8 + len(said)


@given(st.data())
@settings(max_examples=60, deadline=None, phases=PHASES)
async def test_any_transcript_under_any_policy_makes_a_request_that_providers_accept(
    data: st.DataObject,
) -> None:
    """TPR-4, ASM-13, CMP-7: pairs are whole, the view is pure, the rows are as they were."""
    rows = data.draw(TRANSCRIPTS)
    situation = data.draw(situations())
    asked = data.draw(st.sampled_from([None, None, Asked("prices")]))
    view = View.of(rows)
    outcome = await compacted(
        view, situation, data.draw(NAMES), data.draw(st.sampled_from(TEXTS)), asked
    )
    holds(outcome, rows, situation)


@given(st.data())
@settings(max_examples=40, deadline=None, phases=PHASES)
async def test_a_session_that_grows_under_changing_policies_stays_within_its_window(
    data: st.DataObject,
) -> None:
    """CMP-25, MSC-14, TOK-8: policy and window may change at each call; text alone always fits."""
    rows = [r for r in data.draw(TIDY) if not any(_is_picture(b) for b in r.message.blocks)]
    view = View.of(())
    for at, row in enumerate(rows):
        view = view.extended((row,))
        if row.kind is not RowKind.USER and at < len(rows) - 1:
            continue
        situation = replace(
            data.draw(situations()), window=data.draw(st.sampled_from([8_000, 16_000, 64_000]))
        )
        outcome = await compacted(
            view, situation, data.draw(NAMES), data.draw(st.sampled_from(TEXTS))
        )
        holds(outcome, rows[: at + 1], situation)
        assert outcome.view.tokens <= situation.room
        view = outcome.view


def _is_picture(block: object) -> bool:
    return type(block).__name__ == "Image"


@given(st.data())
@settings(max_examples=40, deadline=None, phases=PHASES)
async def test_between_decisions_a_request_begins_with_the_one_before(data: st.DataObject) -> None:
    """CMP-3: where nothing was decided, not a byte of what was sent changes."""
    rows = data.draw(TIDY)
    name, situation = data.draw(NAMES), data.draw(situations())
    view, before = View.of(()), None
    for row in rows:
        view = view.extended((row,))
        if row.kind is not RowKind.USER:
            continue
        outcome = await compacted(view, situation, name, TEXTS[2])
        now = [encode(m) for m in outcome.view.messages]
        if before is not None and not outcome.checkpoints:
            assert now[: len(before)] == before
        view, before = outcome.view, now


@given(st.data())
@settings(max_examples=40, deadline=None, phases=PHASES)
async def test_everything_that_went_can_be_found_by_a_reference_or_a_range(
    data: st.DataObject,
) -> None:
    """ARC-4, CMP-7: what a view leaves out lies in rows that its checkpoints name."""
    rows = data.draw(TIDY)
    situation = replace(data.draw(situations()), window=4_000)
    outcome = await compacted(View.of(rows), situation, data.draw(NAMES), TEXTS[2])
    named: set[int] = set()
    for made in outcome.checkpoints:
        seqs = getattr(body_of(made), "seqs", None)
        named |= set(seqs) if seqs is not None else set(range(made.after + 1, made.until))
    whole = {seq: p.message for p in View.of(rows).parts for seq in p.seqs}
    seen = {seq: p.message for p in outcome.view.parts for seq in p.seqs}
    gone = {seq for seq, message in whole.items() if seen.get(seq) != message}
    recalled = {
        r.seq for r in rows if any(getattr(b, "kind", "") == "recall" for b in r.message.blocks)
    }
    answered = {
        s
        for p in View.of(rows).parts
        if p.kind == "results" and named & set(p.seqs)
        for s in p.seqs
    }
    assert gone <= named | recalled | answered


@pytest.mark.parametrize("name", sorted(POLICIES))
async def test_an_empty_session_is_left_alone(name: str) -> None:
    """Bad input: nothing there yet."""
    outcome = await compacted(View.of(()), Situation(64_000), name, TEXTS[2])
    assert (outcome.checkpoints, outcome.view.messages) == ((), ())
