"""The view for any transcript and any decisions about it (ASM-14, TPR-4)."""

import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agent_core.compaction.decisions import Cleared, Folded, Summary, checkpoint
from agent_core.compaction.fold import foldable
from agent_core.compaction.pairs import safe_cut, spans, tail_tokens
from agent_core.compaction.prune import prunable
from agent_core.compaction.view import View
from agent_core.models.normalise import normalise, problems
from agent_core.models.tokens import of_message
from agent_core.types import Checkpoint, Message, Row, RowKind, ToolResult, encode
from tests.property.transcripts import TIDY, TRANSCRIPTS, checkpoints


def plainly(rows: Sequence[Row], made: Sequence[Checkpoint] = ()) -> list[tuple[int, Message]]:
    """What a view without compaction is, said in the simplest way."""
    undone = {s for c in made for s in range(c.after + 1, c.until)}
    rows = [r for r in rows if r.seq not in undone and "hidden" not in r.meta]
    newest = {r.ref: r for r in rows if r.kind is RowKind.RESULT}
    seen = []
    for row in rows:
        if row.kind in (RowKind.USER, RowKind.NOTE, RowKind.ASSISTANT):
            seen.append((row.turn_id, row.message))
        if row.kind is RowKind.ASSISTANT:
            found = [newest[c.id] for c in row.message.calls if c.id in newest]
            blocks = tuple(b for r in found for b in r.message.blocks if isinstance(b, ToolResult))
            if blocks:
                seen.append((row.turn_id, Message("user", blocks)))
    return seen


def same(one: View, other: View) -> None:
    assert one.parts == other.parts
    assert (one.rows, one.checkpoints, one.tokens) == (other.rows, other.checkpoints, other.tokens)
    assert one.standing == other.standing


@given(TRANSCRIPTS, st.data())
def test_without_compaction_it_is_the_rows_with_results_behind_their_calls(
    rows: tuple[Row, ...], data: st.DataObject
) -> None:
    undo = [c for c in data.draw(checkpoints(rows)) if c.kind == "undo"]
    view = View.of(rows, undo)
    assert list(zip(view.turns, view.messages, strict=True)) == plainly(rows, undo)


@given(TRANSCRIPTS, st.data())
def test_a_view_that_grew_is_the_view_of_everything(
    rows: tuple[Row, ...], data: st.DataObject
) -> None:
    """Row by row, or with decisions in between: the same parts and the same tokens."""
    made = data.draw(checkpoints(rows))
    view = View.of((), ())
    for at in sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4))):
        view = view.extended([r for r in rows[:at] if r not in view.rows])
    if made:
        view = view.extended((), made[:1]).extended(rows[len(view.rows) :], made[1:])
    else:
        view = view.extended(rows[len(view.rows) :])
    same(view, View.of(rows, made))


@given(TRANSCRIPTS, st.data())
def test_it_is_a_pure_function_of_what_is_stored(
    rows: tuple[Row, ...], data: st.DataObject
) -> None:
    """ASM-13, ASM-14: rebuilt from the stored form of the checkpoints it has the same bytes; rows stay as they are."""
    made = data.draw(checkpoints(rows))
    before = [encode(r.message) for r in rows]
    view = View.of(rows, made)
    stored = [replace(c, body=json.loads(json.dumps(c.body))) for c in made]
    again = View.of(tuple(rows), stored)
    assert [encode(m) for m in view.messages] == [encode(m) for m in again.messages]
    assert [encode(r.message) for r in rows] == before


@given(TRANSCRIPTS, st.data())
def test_a_provider_accepts_it_under_any_decisions(
    rows: tuple[Row, ...], data: st.DataObject
) -> None:
    """TPR-1, TPR-4: results have calls, calls have results, in the next message; mending twice changes nothing."""
    view = View.of(rows, data.draw(checkpoints(rows)))
    calls: set[str] = set()
    for part in view.parts:
        if part.kind == "results":
            assert {b.call_id for b in part.message.blocks if isinstance(b, ToolResult)} <= calls
        calls = {c.id for c in part.message.calls}
    normal = normalise(view.messages).messages
    assert not normal or problems(normal) == []
    assert normalise(normal).messages == normal


@given(TRANSCRIPTS, st.data())
def test_its_tokens_are_those_of_its_messages(rows: tuple[Row, ...], data: st.DataObject) -> None:
    view = View.of(rows, data.draw(checkpoints(rows)))
    assert [p.tokens for p in view.parts] == [of_message(m) for m in view.messages]
    assert view.tokens == sum(p.tokens for p in view.parts)


@given(TIDY, st.data())
def test_what_was_sent_stays_a_prefix_between_decisions(
    rows: tuple[Row, ...], data: st.DataObject
) -> None:
    """CMP-3: only a checkpoint changes what a model has seen before."""
    asked = [i for i, r in enumerate(rows) if r.kind is RowKind.ASSISTANT]  # rows[:i] was sent
    made = tuple(c for c in data.draw(checkpoints(rows[: asked[0]])) if c.kind != "undo")
    view = View.of((), made)
    before: tuple[Message, ...] = ()
    for at in asked:
        view = view.extended(rows[len(view.rows) : at])
        assert view.messages[: len(before)] == before
        before = view.messages


@given(TRANSCRIPTS, st.data())
def test_layers_1_and_2_act_once_and_lose_nothing(
    rows: tuple[Row, ...], data: st.DataObject
) -> None:
    """CMP-3, CMP-6: after a layer has acted it finds nothing more; it never makes a view longer."""
    view = View.of(rows, data.draw(checkpoints(rows, most=2)))
    until = rows[-1].seq + 1 if rows else 1
    cleared = view.extended((), [checkpoint(Cleared(prunable(view)), until=until)])
    assert prunable(cleared) == ()
    folded = cleared.extended((), [checkpoint(Folded(foldable(cleared)), until=until)])
    assert foldable(folded) == ()
    assert folded.tokens <= cleared.tokens <= view.tokens
    assert len(folded.messages) <= len(view.messages)
    assert folded.rows == rows


@given(TRANSCRIPTS, st.data())
def test_a_safe_cut_splits_no_pair(rows: tuple[Row, ...], data: st.DataObject) -> None:
    """TPR-2, TPR-3, CMP-10: whatever was wanted; a safe cut stays where it is."""
    view = View.of(rows, data.draw(checkpoints(rows, most=2)))
    wanted = data.draw(st.integers(0, (rows[-1].seq if rows else 0) + 3))
    budget = data.draw(st.sampled_from([None, 0, 50, 2_000]))
    cut = safe_cut(view, wanted, budget=budget)
    if cut <= view.until:
        return
    assert not any(span.splits(cut) for span in spans(view))
    lead = view.row(cut)
    assert lead is not None
    assert lead.kind in (RowKind.USER, RowKind.ASSISTANT, RowKind.NOTE)
    assert safe_cut(view, cut, budget=budget) == cut
    after = view.extended((), [checkpoint(Summary("so far", "brief"), until=cut)])
    kept = [p.seqs for p in view.parts if p.kind in ("row", "note") and p.seqs and p.seqs[0] >= cut]
    assert [p.seqs for p in after.parts if p.kind in ("row", "note") and p.seqs] == kept
    heads = sum(p.tokens for p in after.parts if p.kind == "head")
    marks = sum(p.tokens for p in after.parts if p.kind == "note" and not p.seqs)
    assert tail_tokens(view, cut) >= after.tokens - heads - marks
