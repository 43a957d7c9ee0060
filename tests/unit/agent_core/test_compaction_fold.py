"""Layer 2: folding long texts (CMP-5, CMP-6), and clips of the emergency guard (CMP-25)."""

import re

import pytest

from agent_core.compaction.decisions import Cleared, Clipped, Folded, Summary, checkpoint
from agent_core.compaction.fold import HEAD, LEAST, PRESERVE_RECENT, TAIL, foldable, freed
from agent_core.compaction.shown import clip_text, fold_text
from agent_core.types import Context, Message, RowKind, Text, Thinking, ToolUse
from tests.unit.agent_core.transcript import Transcript, texts

LONG = "".join(chr(ord("a") + i % 26) for i in range(5_000))


def long_chat() -> Transcript:
    """Rows 1-4 are long, and eight short ones follow."""
    t = Transcript()
    t.said(LONG)
    t.looked("a", LONG)
    t.replied(LONG)
    for n in range(4):
        t.said(f"q{n}")
        t.replied(f"a{n}")
    return t


def test_the_constants_are_those_of_the_source() -> None:
    """CMP-5."""
    assert (PRESERVE_RECENT, LEAST, HEAD, TAIL) == (6, 2_400, 900, 500)
    assert (Folded(()).least, Folded(()).head, Folded(()).tail) == (LEAST, HEAD, TAIL)


def test_a_folded_text_is_head_mark_and_tail_with_the_exact_number() -> None:
    """CMP-5: a person's words, an answer and a result alike."""
    view = long_chat().view(Folded((1, 3, 4)))
    expected = LONG[:900] + "...[3600 chars collapsed]..." + LONG[-500:]
    assert texts(view)[:3] == [expected] * 3


def test_what_may_be_folded() -> None:
    """CMP-5: longer than 2,400 characters, not among the last six messages."""
    t = long_chat()
    assert foldable(t.view()) == (1, 3, 4)
    assert foldable(t.view(), preserve_recent=10) == (1,)
    assert foldable(t.view(), preserve_recent=11) == ()
    assert foldable(t.view(), least=5_000) == ()


@pytest.mark.parametrize(("size", "found"), [(2_400, ()), (2_401, (1,))])
def test_the_boundary(size: int, found: tuple[int, ...]) -> None:
    t = Transcript()
    t.said("x" * size)
    for n in range(8):
        t.said(f"q{n}")
    assert foldable(t.view()) == found


def test_a_few_messages_are_left_alone() -> None:
    """CMP-5: no more than the preserved ones and one."""
    t = Transcript()
    for n in range(7):
        t.said(LONG + str(n))
    assert foldable(t.view()) == ()
    t.said("one more")
    assert foldable(t.view()) == (1, 2)


def test_what_the_person_says_in_this_turn_is_never_folded() -> None:
    t = Transcript()
    t.said(LONG)
    for n in range(5):
        t.looked(f"k{n}", LONG)
    assert 1 not in foldable(t.view())
    assert foldable(t.view()) == (3, 5)


def test_cleared_folded_and_clipped_rows_are_done() -> None:
    """CMP-5, CMP-6: a second run changes nothing."""
    t = long_chat()
    view = t.view(Cleared((3,)), Folded((1,)), Clipped((4,), 3_000))
    assert foldable(view) == ()
    again = view.extended((), [checkpoint(Folded((1,)), until=13)])
    assert again.messages == view.messages


def test_a_cleared_result_stays_cleared_when_it_is_folded() -> None:
    assert "[cleared ref=r3]" in texts(long_chat().view(Folded((3,)), Cleared((3,)), Folded((3,))))


def test_calls_and_reasoning_are_not_touched() -> None:
    t = Transcript()
    t.said("go")
    blocks = (Thinking(LONG, "signed"), Text(LONG), ToolUse("a", "quote", {"note": LONG}))
    t.add(RowKind.ASSISTANT, Message("assistant", blocks))
    shown = t.view(Folded((2,)), Clipped((2,), 50)).messages[1].blocks
    assert (shown[0], shown[2]) == (blocks[0], blocks[2])
    assert isinstance(shown[1], Text)
    assert len(shown[1].text) <= 50


def test_what_folding_frees_is_what_the_view_loses() -> None:
    t = long_chat()
    t.said("价格" * 2_000)
    for n in range(8):
        t.said(f"q{n}")
    seqs = foldable(t.view())
    assert len(seqs) == 4
    assert abs(freed(t.view(), seqs) - (t.view().tokens - t.view(Folded(seqs)).tokens)) <= len(seqs)


def test_folding_never_makes_a_text_longer() -> None:
    assert fold_text("x" * 40, 10, 10) == "x" * 40
    assert fold_text("x" * 100, 0, 0) == "...[100 chars collapsed]..."
    assert fold_text("ab" * 50, 3, 0) == "aba...[97 chars collapsed]..."


def test_the_head_is_not_folded() -> None:
    t = long_chat()
    made = checkpoint(Summary("s" * 5_000, "structured"), until=5)
    assert foldable(t.view(made)) == ()
    assert "s" * 5_000 in texts(t.view(made))[0]


@pytest.mark.parametrize("chars", [60, 400, 4_999])
def test_a_clip_keeps_head_and_tail_and_counts_what_is_missing(chars: int) -> None:
    """A single message larger than the window: at most so many characters, mark included, and where the rest is."""
    shown = clip_text(LONG, chars, 17)
    found = re.fullmatch(r"([a-z]*)\.\.\.\[(\d+) chars left out ref=r17\]\.\.\.([a-z]*)", shown)
    assert found is not None
    head, missing, tail = found[1], int(found[2]), found[3]
    assert len(shown) <= chars
    assert len(head) + missing + len(tail) == len(LONG)
    assert LONG.startswith(head)
    assert LONG.endswith(tail)


def test_a_clip_without_room_is_its_mark_alone() -> None:
    assert clip_text(LONG, 0, 3) == "...[5000 chars left out ref=r3]..."
    assert clip_text("short", 5, 3) == "short"


def test_a_clip_counts_from_the_rows_own_text_and_the_newest_counts() -> None:
    t = Transcript()
    t.add(RowKind.USER, Message("user", (Context("memory", "recall"), Text(LONG))))
    shown = texts(t.view(Folded((1,)), Clipped((1,), 1_000), Clipped((1,), 200)))
    assert shown == [clip_text(LONG, 200, 1)]
    wide = texts(t.view(Folded((1,)), Clipped((1,), 2_000)))
    assert wide == [fold_text(LONG, 900, 500)]
