"""Where a transcript may be cut (TPR-1 … TPR-4, CMP-10, CMP-35, C-4, FIX-1b)."""

from agent_core.compaction.decisions import Summary, checkpoint
from agent_core.compaction.pairs import SLACK, delivered_behind, safe_cut, tail_tokens
from agent_core.models.normalise import normalise, problems
from agent_core.types import ToolResult
from tests.unit.agent_core.transcript import Transcript


def loop(rounds: int = 3, size: int = 400) -> Transcript:
    """Row 1 said; each round is a call of two (2, 5, 8 …) and its results."""
    t = Transcript()
    t.said("go")
    for n in range(rounds):
        t.called(f"a{n}", f"b{n}")
        t.answered(f"b{n}", "x" * size)
        t.answered(f"a{n}", "y" * size)
    return t


def chat(turns: int = 4) -> Transcript:
    """Rows 1, 3, 5 … said; 2, 4, 6 … delivered."""
    t = Transcript()
    for n in range(turns):
        t.said(f"q{n}")
        t.replied(f"a{n}")
    return t


def test_a_cut_on_a_result_moves_to_its_call() -> None:
    """TPR-2, TPR-3: earlier, so that the call is in the tail."""
    view = loop().view()
    assert [safe_cut(view, wanted) for wanted in (5, 6, 7, 8, 9, 10)] == [5, 5, 5, 8, 8, 8]


def test_a_cut_moves_later_where_the_earlier_tail_is_too_large() -> None:
    """CMP-10, C-4: 1.25 times the budget is the border."""
    view = loop().view()
    from_call = tail_tokens(view, 5)
    assert safe_cut(view, 6, budget=int(from_call / SLACK) + 1) == 5
    assert safe_cut(view, 6, budget=int(from_call / SLACK) - 1) == 8
    assert SLACK == 1.25


def test_a_cut_moves_later_where_nothing_would_be_in_front_of_it() -> None:
    t = Transcript()
    for n in range(3):
        t.called(f"k{n}")
        t.answered(f"k{n}", "x")
    assert safe_cut(t.view(), 2) == 3


def test_the_newest_round_is_never_split_or_left_empty() -> None:
    """FIX-1b: tool messages in the tail, and a tail of nothing: the last round stays."""
    view = loop().view()
    assert [safe_cut(view, wanted, budget=1) for wanted in (9, 10, 11, 99)] == [8, 8, 8, 8]


def test_calls_that_still_wait_stay_in_the_tail() -> None:
    """A result that comes after a cut needs its call."""
    t = loop(1)
    t.called("late", "later")
    t.answered("later", "x")
    t.said("meanwhile", same_turn=True)
    t.said("and more", same_turn=True)
    view = t.view()
    assert [safe_cut(view, wanted, budget=1) for wanted in (6, 7, 8, 99)] == [5, 5, 5, 5]


def test_a_call_that_was_never_answered_holds_nothing_back() -> None:
    t = Transcript()
    t.said("go")
    t.called("lost")
    t.said("again")
    t.looked("k", "x")
    t.replied("done")
    assert safe_cut(t.view(), 3) == 3


def test_interleaved_words_stay_with_the_round_they_fell_into() -> None:
    t = loop(1)
    t.called("k")
    t.said("steered", same_turn=True)
    t.answered("k", "x")
    assert safe_cut(t.view(), 6) == 5


def test_a_late_result_pulls_its_caller_and_all_between_to_a_fixpoint() -> None:
    """TPR-2: what the first move takes in may need more."""
    t = Transcript()
    t.said("go")
    t.called("a")
    t.called("b")
    t.answered("a", "x")
    t.called("c")
    t.answered("b", "x")
    t.answered("c", "x")
    t.said("next")
    t.replied("fine")
    view = t.view()
    assert safe_cut(view, 7) == 2
    assert safe_cut(view, 7, budget=1) == 8


def test_nothing_to_cut() -> None:
    t = Transcript()
    assert safe_cut(t.view(), 5) == 1
    t.said("one")
    assert safe_cut(t.view(), 5) == 1
    behind = chat().view(checkpoint(Summary("s", "brief"), until=7))
    assert safe_cut(behind, 3) == behind.until


def test_keep_nothing_keeps_the_last_delivered_answer() -> None:
    """CMP-35, FIX-1b with keep_last 0."""
    assert safe_cut(chat().view(), 99) == 8
    t = chat()
    t.said("and?")
    assert safe_cut(t.view(), 99) == 8
    assert delivered_behind(t.view(), 8) is None


def test_an_answer_that_is_far_from_the_cut_is_named() -> None:
    """CMP-35: a summary can keep it raw, instead of the whole tool loop after it."""
    t = chat(1)
    t.said("go on")
    for n in range(3):
        t.looked(f"k{n}", "x" * 500)
    view = t.view()
    cut = safe_cut(view, 6)
    assert cut == 6
    assert delivered_behind(view, cut) == 2
    after = t.view(checkpoint(Summary("s", "brief", words=(1, 3, 2)), until=cut))
    assert [p.seqs for p in after.parts] == [(), (2,), (6,), (7,), (8,), (9,)]


def test_both_sides_of_a_bad_cut_are_whole_all_the_same() -> None:
    """TPR-1: a summary of an older version that cut through a round gives a valid request."""
    t = loop()
    for until in range(1, 12):
        view = t.view(checkpoint(Summary("s", "brief"), until=until))
        messages = normalise(view.messages).messages
        assert problems(messages) == []
        ids = {b.call_id for m in messages for b in m.blocks if isinstance(b, ToolResult)}
        assert ids == {c.id for m in messages for c in m.calls}
