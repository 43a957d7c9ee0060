"""The view of rows under decisions (ASM-14, INJ-3, INJ-4, CMP-8, CMP-35)."""

import pytest

from agent_core.compaction.decisions import Cleared, Clipped, Dropped, Folded, Summary, checkpoint
from agent_core.compaction.view import HEAD_TURN, View
from agent_core.models.normalise import normalise, problems
from agent_core.types import Checkpoint, Context, Message, RowKind, Text, ToolResult, encode
from tests.pace import cpu_seconds
from tests.unit.agent_core.transcript import Transcript, texts


def chat() -> Transcript:
    """Three turns with a lookup each: rows 1-4, 5-8, 9-12."""
    t = Transcript()
    for n in "abc":
        t.said(f"question {n}", recall=f"memory {n}")
        t.looked(n, f"result {n} " * 30)
        t.replied(f"answer {n}")
    return t


def summary(text: str = "so far", until: int = 5, **more: object) -> Checkpoint:
    return checkpoint(Summary(text, "brief", **more), until=until)  # type: ignore[arg-type]


def test_rows_are_never_changed() -> None:
    """ASM-14: a view is another object than what is stored."""
    t = chat()
    before = [encode(r.message) for r in t.rows]
    view = t.view(Cleared((3, 7)), Folded((1, 4)), Clipped((8,), 5), summary())
    assert "[cleared ref=r7]" in texts(view)
    assert [encode(r.message) for r in t.rows] == before
    assert view.rows == tuple(t.rows)


def test_rows_behind_a_summary_show_as_one_head() -> None:
    """CMP-18: a head, then the tail as it was."""
    view = chat().view(summary())
    assert [p.kind for p in view.parts] == ["head", *["row", "row", "results", "row"] * 2]
    assert [p.seqs for p in view.parts[:3]] == [(), (5,), (6,)]
    assert view.parts[0].turn_id == HEAD_TURN
    assert (view.until, view.summary is not None) == (5, True)
    assert isinstance(view.messages[0].blocks[0], Context)
    assert "question a" not in " ".join(texts(view))


def test_a_later_summary_replaces_an_earlier_one() -> None:
    """CMP-33: there is one summary, whatever came before."""
    view = chat().view(summary("the first"), summary("the second", 9))
    said = " ".join(texts(view))
    assert "the second" in said
    assert "the first" not in said
    assert view.until == 9


def test_an_undo_of_summarised_rows_voids_the_summary() -> None:
    t = chat()
    undo = Checkpoint("undo", 4, 13)  # rows 5-12
    view = t.view(summary("the first"), summary("the second", 9), undo)
    assert "the first" in texts(view)[0]
    assert [p.kind for p in view.parts] == ["head"]
    raw = t.view(summary("the second", 9), undo)
    assert raw.summary is None
    assert [p.seqs for p in raw.parts] == [(1,), (2,), (3,), (4,)]


def test_an_undo_of_newer_rows_leaves_the_summary() -> None:
    view = chat().view(summary("the first", 9), Checkpoint("undo", 8, 13))
    assert "the first" in texts(view)[0]


def test_a_summary_after_an_undo_stands() -> None:
    view = chat().view(Checkpoint("undo", 4, 9), summary("without b", 9))
    assert "without b" in texts(view)[0]
    assert view.until == 9


def test_a_summary_of_a_voided_summary_is_voided_too() -> None:
    """What was made from a text that is void is void."""
    made = [summary("one", 9), summary("from one", 7), Checkpoint("undo", 7, 9)]
    assert chat().view(*made).summary is None


def test_recalled_memory_goes_with_the_next_compaction() -> None:
    """INJ-3, INJ-4: it stands in the row until then; nothing is put back, since nothing was changed."""
    t = chat()
    assert [x for x in texts(t.view()) if x.startswith("memory")] == [
        "memory a",
        "memory b",
        "memory c",
    ]
    assert [x for x in texts(t.view(Cleared((3,)))) if x.startswith("memory")] == []
    t.said("question d", recall="memory d")  # after the compaction, in a turn that it did not end
    made = checkpoint(Cleared((3,)), until=13)
    assert [x for x in texts(t.view(made)) if x.startswith("memory")] == ["memory d"]
    assert "question a" in texts(t.view(made))


def test_a_compaction_inside_a_turn_keeps_the_persons_words() -> None:
    """INJ-4: whatever is compacted while a turn runs, its words stay as they were written."""
    t = chat()
    t.said("question d", recall="memory d")
    t.looked("d", "result d")
    view = t.view(summary("all before", 9, words=(1, 5)), Cleared((11,)))
    assert Text("question d") in next(p for p in view.parts if p.seqs == (13,)).message.blocks
    assert "memory d" not in texts(view)


def test_a_row_of_recalled_memory_alone_disappears() -> None:
    t = chat()
    t.add(RowKind.USER, Message("user", (Context("alone", "recall"),)))
    assert t.view().parts[-1].seqs == (13,)
    assert t.view(Folded(())).parts[-1].seqs == (12,)


def test_hidden_rows_are_never_shown() -> None:
    t = chat()
    t.add(RowKind.NOTE, t.rows[0].message, hidden=True)
    assert t.view().parts[-1].seqs == (12,)
    assert 13 not in [r.seq for r in t.view().visible]


def test_the_last_delivered_answer_stays_raw_where_the_summary_says_so() -> None:
    """CMP-35: a message of its own behind the head, with the model's own words."""
    view = chat().view(summary(until=9, words=(1, 8)))
    assert [p.seqs for p in view.parts][:3] == [(), (8,), (9,)]
    assert view.messages[1].text == "answer b"
    assert view.messages[1].role == "assistant"


def test_dropped_rows_leave_one_mark_and_whole_pairs() -> None:
    """CMP-25: touching ranges are one; the mark names what is gone."""
    t = chat()
    view = t.view(checkpoint(Dropped(), after=0, until=4), checkpoint(Dropped(), after=3, until=9))
    assert [p.kind for p in view.parts] == ["note", "row", "row", "results", "row"]
    assert "r1-r8 " in texts(view)[0]
    assert problems(normalise(view.messages).messages) == []


def test_a_dropped_result_leaves_a_mark_that_names_it() -> None:
    """TPR-1: a call whose result is gone gets a stub, and it says where the result is."""
    view = chat().view(checkpoint(Dropped(), after=2, until=4))
    result = view.messages[2].blocks[0]
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.content) == ("a", "[cleared ref=r3]")


def test_a_gap_and_an_orphan_of_an_older_version_are_no_matter() -> None:
    t = Transcript()
    t.said("one")
    t.answered("lost", "whose call is gone")
    t.called("x")
    t.answered("x", "fine")
    del t.rows[2]  # and now the other way: a result without its call
    t.said("two")
    view = t.view(Cleared((99,)), Folded((3,)), summary(until=1), Clipped((2, 4), 3))
    assert [p.seqs for p in view.parts if p.seqs] == [(1,), (5,)]
    assert view.row(3) is None
    assert view.shown(3) is None
    assert problems(normalise(view.messages).messages) == []


def test_a_call_without_a_result_is_left_to_the_normaliser() -> None:
    """TPR-1: partial results of parallel calls are shown; the provider's normaliser stands in for the rest."""
    t = Transcript()
    t.said("go")
    t.called("x", "y")
    t.answered("y", "2")
    view = t.view()
    assert [b.call_id for b in view.messages[2].blocks if isinstance(b, ToolResult)] == ["y"]
    assert problems(normalise(view.messages).messages) == []


def test_results_come_in_call_order_whenever_they_come() -> None:
    """TGV-2: also when a person wrote between, and when a view grew row by row."""
    t = Transcript()
    t.said("go")
    t.called("x", "y")
    t.said("wait", same_turn=True)
    t.answered("y", "2")
    t.answered("x", "1")
    view = View.of(())
    for row in t.rows:
        view = view.extended([row])
    assert texts(view) == ["go", "1", "2", "wait"]
    assert view.parts == t.view().parts


def test_rows_that_do_not_come_after_are_refused() -> None:
    t = chat()
    with pytest.raises(ValueError, match="row 1 does not come after row 12"):
        t.view().extended(t.rows[:1])


def test_rows_behind_the_cut_may_come_after_the_summary() -> None:
    """What the summary keeps raw is shown, whichever was read first."""
    t = chat()
    kept = summary(words=(1, 4), until=7)
    assert View.of((), [kept]).extended(t.rows).parts == View.of(t.rows, [kept]).parts


def test_a_view_is_not_changed_by_what_comes_after() -> None:
    t = chat()
    first = View.of(t.rows[:6])
    before = (first.parts, first.tokens)
    first.extended(t.rows[6:])
    first.extended([], [summary()])
    assert (first.parts, first.tokens) == before
    assert first.extended(t.rows[6:]).parts == t.view().parts


def test_broken_surrogates_pass_through() -> None:
    t = Transcript()
    t.said("half \ud83d a picture " * 200)
    t.looked("x", "\udc00" * 3_000)
    t.replied("ok")
    view = t.view(Folded((1, 3)), Clipped((3,), 100))
    assert view.tokens == sum(p.tokens for p in view.parts) > 0
    assert texts(view)[0].startswith("half \ud83d")


def test_a_new_row_costs_little_in_a_long_session() -> None:
    """1,000 messages: at most 5 ms of CPU (median) for the next view and its messages."""
    t = Transcript()
    for n in range(250):
        t.said("价格多少？ " * 30)
        t.looked(f"k{n}", "close 101.25 " * 150)
        t.replied("about a hundred " * 20)
    view = View.of(t.rows)
    t.said("and now?")

    def after() -> View:
        return view.extended(t.rows[-1:])

    assert len(after().messages) == len(t.rows)
    assert cpu_seconds(lambda: after().messages, 25) <= 0.005


def test_parts_that_no_decision_touches_are_kept() -> None:
    """Token estimates are made once for each part."""
    view = chat().view()
    after = view.extended((), [checkpoint(Cleared((3,)), until=1)])
    kept = [a is b for a, b in zip(view.parts, after.parts, strict=True)]
    assert kept == [True, True, False, *[True] * 9]
