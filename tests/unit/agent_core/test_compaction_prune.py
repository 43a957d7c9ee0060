"""Layer 1: clearing old tool results (CMP-1 … CMP-4)."""

import pytest

from agent_core.compaction.decisions import Cleared, Dropped, checkpoint
from agent_core.compaction.prune import KEEP_RECENT, OVER, freed, prunable
from agent_core.types import ArtifactRef, ToolResult
from tests.unit.agent_core.transcript import Transcript, texts


def looks(*contents: str) -> Transcript:
    """A turn with one lookup after the other: results are rows 3, 5, 7 …"""
    t = Transcript()
    t.said("go " * 100)
    for i, content in enumerate(contents):
        t.looked(f"k{i}", content)
    return t


def test_the_constants_are_those_of_the_source() -> None:
    """CMP-1."""
    assert (KEEP_RECENT, OVER) == (3, 100)


def test_the_last_results_and_short_ones_stay() -> None:
    """CMP-1: more than 100 characters, and not among the last three; nobody's words are results."""
    t = looks("x" * 101, "y" * 100, "z" * 5_000, *["w" * 900] * 3)
    t.replied("a long answer " * 50)
    assert prunable(t.view()) == (3, 7)
    assert prunable(t.view(), keep_recent=0, over=99) == (3, 5, 7, 9, 11, 13)
    assert prunable(looks(*["w" * 900] * 3).view()) == ()


@pytest.mark.parametrize(("plain", "mark"), [(False, "[cleared ref=r3]"), (True, "[cleared]")])
def test_a_cleared_result_is_exactly_its_mark(plain: bool, mark: str) -> None:
    """CMP-4: with the reference that gives it back, or as the source has it; a result all the same."""
    chart = ArtifactRef("b", "chart.png", "image/png")
    t = Transcript()
    t.said("go")
    t.called("k")
    t.answered("k", "x" * 400, is_error=True, artifacts=(chart,))
    shown = t.view(Cleared((3,), plain)).messages[2].blocks
    assert shown == (ToolResult("k", "quote", mark, is_error=True, artifacts=(chart,)),)


def test_once_cleared_always_cleared_in_the_same_form() -> None:
    """CMP-3: a later decision does not change what a model has seen."""
    t = looks("x" * 400, *"abc")
    view = t.view(Cleared((3,)), Cleared((3,), plain=True))
    assert texts(view)[1] == "[cleared ref=r3]"
    assert prunable(view, keep_recent=0) == ()


def test_a_dropped_result_is_not_cleared_again() -> None:
    t = looks("x" * 400, *"abc")
    assert prunable(t.view(checkpoint(Dropped(), after=2, until=4))) == ()


def test_only_results_that_are_shown_are_cleared() -> None:
    t = looks("x" * 400, *["y" * 400] * 3)
    t.answered("lost", "z" * 400)
    assert prunable(t.view(Cleared((1, 2)))) == (3,)
    assert texts(t.view(Cleared((1, 2)))) == texts(t.view())


def test_what_clearing_frees_is_what_the_view_loses() -> None:
    t = looks("x" * 4_000, "价" * 3_000, *["y" * 400] * 3)
    seqs = prunable(t.view())
    after = t.view(Cleared(seqs))
    assert freed(t.view(), seqs) == t.view().tokens - after.tokens
    assert freed(after, seqs) == 0
