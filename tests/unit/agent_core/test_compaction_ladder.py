"""What the ladder decides, layer by layer and policy by policy."""

import math
from dataclasses import replace

import pytest

from agent_core.compaction.economics import HOUR, Situation
from agent_core.compaction.ladder import Asked, Plan, plan, tail_budget
from agent_core.compaction.strategies import POLICIES
from agent_core.compaction.view import View
from tests.unit.agent_core.transcript import Transcript

EAGER, ECONOMIC, RESERVE = POLICIES["eager"], POLICIES["economic"], POLICIES["window_reserve"]
WARM = Situation(64_000)  # T = 47,616
COLD = replace(WARM, idle_s=HOUR)


def chat(turns: int, *, result: int = 4_000, words: int = 200, looks: int = 1) -> Transcript:
    """A chat of turns with tool results, about (result x looks + 2 x words) / 2 tokens each."""
    made = Transcript()
    for n in range(turns):
        made.said(f"q{n} " + "w" * words)
        for look in range(looks):
            made.looked(f"c{n}-{look}", "r" * result)
        made.replied("a" * words)
    return made


def of_size(tokens: int, **kinds: int) -> View:
    """The smallest such chat above so many tokens."""
    turns = 1
    while (view := chat(turns, **kinds).view()).tokens <= tokens:
        turns += 1
    return view


def kinds(found: Plan) -> list[str]:
    return [c.kind for c in found.checkpoints]


def test_nothing_is_done_to_nothing() -> None:
    """A view without rows, under every policy."""
    for policy in POLICIES.values():
        assert plan(View.of(()), WARM, policy).cut is None


def test_below_the_first_mark_nothing_is_cleared() -> None:
    """CMP-2, TOK-9: a short run keeps its whole tool history."""
    assert plan(of_size(20_000), WARM, EAGER).checkpoints == ()
    assert plan(of_size(20_000), WARM, ECONOMIC).checkpoints == ()


def test_each_layer_has_its_mark_and_the_ladder_stops_when_it_is_low_enough() -> None:
    """TOK-9: above .5 T layer 1; it is measured again before the next."""
    found = plan(of_size(36_000), WARM, EAGER)
    assert kinds(found) == ["clear"]
    assert found.cut is None
    assert WARM.total(found.view.tokens) < 0.7 * WARM.threshold


def test_long_texts_are_folded_where_clearing_did_not_do() -> None:
    """TOK-9, CMP-5: above .7 T layer 2; above T a summary."""
    words_alone = of_size(36_000, result=50, words=3_000)
    assert kinds(plan(words_alone, WARM, EAGER)) == ["fold"]
    short = of_size(50_000, result=50, words=2_000)
    found = plan(short, WARM, EAGER)
    assert (kinds(found), found.cut is not None) == ([], True)


def test_eager_clears_row_by_row() -> None:
    """CMP-1: all but the last three, at every call; the schedule of the source."""
    made = chat(16)
    first = plan(made.view(), WARM, EAGER)
    made.said("next")
    made.looked("new", "r" * 4_000)
    again = plan(View.of(made.rows, first.checkpoints), WARM, EAGER)
    cleared = again.checkpoints[0].body["seqs"] if again.checkpoints else []
    assert len(cleared) <= 1


def test_what_was_cleared_stays_cleared_and_is_not_cleared_again() -> None:
    """CMP-3: sticky."""
    view = of_size(36_000)
    first = plan(view, WARM, EAGER)
    assert plan(first.view, WARM, EAGER).checkpoints == ()


def test_on_a_warm_cache_economic_clears_in_batches_alone() -> None:
    """CMP-3, guide, 1: at least a fifth of the window, however many calls that takes."""
    made, view, sizes = Transcript(), View.of(()), []
    for n in range(40):
        made.said("q " + "w" * 200)
        view = view.extended(made.rows[len(view.rows) :])
        found = plan(view, WARM, ECONOMIC)
        if found.checkpoints:
            sizes.append(view.tokens - found.view.tokens)
        view = found.view
        if found.cut is not None:
            break
        made.looked(f"c{n}", "r" * 1_500)
        made.replied("done")
    assert sizes
    assert min(sizes) >= 0.2 * 64_000


def test_a_batch_that_is_not_paid_back_before_the_next_summary_is_left() -> None:
    """Guide, 1: near the mark of a summary there are too few requests ahead."""
    view = of_size(37_000, words=4_000)
    found = plan(view, replace(WARM, ttl_s=HOUR), ECONOMIC)
    assert found.checkpoints == ()


def test_a_cold_cache_is_used_for_a_whole_compaction() -> None:
    """Guide, 2: above .4 W the prefix is written anew anyway."""
    view = of_size(27_000, result=50, words=3_000)
    assert plan(view, WARM, ECONOMIC).cut is None
    found = plan(view, COLD, ECONOMIC)
    assert (found.reason, found.cut is not None) == ("the cache is cold", True)
    assert plan(of_size(24_000, result=50, words=3_000), COLD, ECONOMIC).cut is None


def test_with_an_hours_life_the_cache_is_warm_for_longer() -> None:
    """Guide, 7."""
    view = of_size(27_000, result=50, words=3_000)
    assert plan(view, Situation(64_000, ttl_s=HOUR, idle_s=1_800), ECONOMIC).cut is None


@pytest.mark.parametrize(("policy", "share"), [(RESERVE, 1.0), (EAGER, 1.0), (ECONOMIC, 0.8)])
def test_a_summary_is_due_when_the_request_is_strictly_larger(policy, share: float) -> None:
    """TOK-5, C-1."""
    view = of_size(30_000, result=50, words=1_500)
    at = math.ceil(view.tokens / share)
    assert plan(view, replace(WARM, threshold_tokens=at), policy).cut is None
    assert plan(view, replace(WARM, threshold_tokens=at - 2), policy).cut is not None


def test_system_text_schemas_and_the_models_ratio_count() -> None:
    """TOK-10."""
    view = of_size(30_000, result=50, words=1_500)
    assert plan(view, WARM, RESERVE).cut is None
    assert plan(view, replace(WARM, fixed_tokens=18_000), RESERVE).cut is not None
    assert plan(view, replace(WARM, ratio=1.7), RESERVE).cut is not None


def test_after_a_fallback_to_a_smaller_window_compaction_fires_at_the_next_check() -> None:
    """TOK-8, FBK-2: from 200K to 64K between two rounds."""
    view = of_size(60_000, result=50, words=1_500)
    for policy in (ECONOMIC, RESERVE, EAGER):
        assert plan(view, Situation(200_000), policy).cut is None
        assert plan(view, Situation(64_000), policy).cut is not None


def test_a_window_of_a_million_is_not_used_to_the_brim() -> None:
    """Guide, 8: cost falls with a lower threshold; economic ends at 200,000."""
    view = of_size(170_000, result=50, words=20_000)
    assert plan(view, Situation(1_000_000), ECONOMIC).cut is not None
    assert plan(view, Situation(1_000_000), RESERVE).cut is None


def test_the_tail_is_kept_by_tokens_and_has_at_least_four_messages() -> None:
    """CMP-9, CMP-9b, C-3, C-23: 20,000 tokens; messages, not rounds."""
    view = of_size(50_000, result=50, words=1_500)
    cut = plan(view, WARM, RESERVE).cut
    assert cut is not None
    tail = [p for p in view.parts if p.seqs[0] >= cut]
    assert 15_000 < sum(p.tokens for p in tail) <= 1.25 * 20_000
    large = of_size(120_000, result=50, words=30_000)
    cut = plan(large, Situation(64_000), RESERVE).cut
    assert cut is not None
    assert len([p for p in large.parts if p.seqs[0] >= cut]) >= 4


def test_the_tail_of_a_policy_follows_the_window() -> None:
    """TOK-7: 20,000 tokens from 64K up; economic takes .08 W, never more than that."""
    assert [tail_budget(RESERVE, w) for w in (16_000, 32_000, 64_000)] == [4_000, 8_000, 20_000]
    assert [tail_budget(ECONOMIC, w) for w in (64_000, 200_000, 1_000_000)] == [
        5_120,
        16_000,
        20_000,
    ]


def test_a_cut_never_begins_with_a_result_also_inside_a_turn() -> None:
    """CMP-10, C-4, TPR-3: one long turn is cut between its calls."""
    view = chat(1, looks=30).view()
    cut = plan(view, WARM, RESERVE).cut
    assert cut is not None
    first = next(p for p in view.parts if p.seqs and p.seqs[0] >= cut)
    assert first.kind == "row"
    assert first.message.calls


def test_few_messages_are_not_summarised() -> None:
    """CMP-22: not with six or fewer, however large they are."""
    made = Transcript()
    for n in range(3):
        made.said(f"{n}" + "w" * 30_000)
        made.replied("a" * 30_000)
    found = plan(made.view(), WARM, RESERVE)
    assert found.cut is None
    assert found.notes[-1]["why"] == "few messages"


def test_a_compaction_that_gains_too_little_is_not_tried() -> None:
    """CMP-15: a model call that frees less than a tenth of the window would be due again at once."""
    made = Transcript()
    for n in range(4):
        made.said(f"{n}" + "w" * 900)
        made.replied("ok")
    for n in range(4):
        made.said(f"{n}" + "w" * 24_000)
    found = plan(made.view(), WARM, RESERVE)
    assert found.cut is None
    assert found.notes[-1]["why"] == "too little gained"


def test_what_is_asked_for_is_done_at_any_size() -> None:
    """CMP-27, CMP-30, CMP-11: where all fits the tail, half of it goes."""
    made = chat(3)
    found = plan(made.view(), WARM, RESERVE, asked=Asked("prices"))
    assert found.reason == "asked"
    assert found.cut is not None
    parts = made.view().parts
    behind = [p for p in parts if p.seqs[0] < found.cut]
    assert 1 <= len(behind) < len(parts)


def test_two_messages_are_not_split_even_when_asked() -> None:
    """CMP-11: nothing to gain, and it cannot loop."""
    made = Transcript()
    made.said("hello")
    made.replied("hello")
    found = plan(made.view(), WARM, RESERVE, asked=Asked())
    assert (found.cut, found.checkpoints) == (None, ())


@pytest.mark.parametrize(("name", "due"), [("truncate", 7), ("summary", 13), ("layered", 13)])
def test_counting_policies_act_by_messages(name: str, due: int) -> None:
    """STR-1 … STR-3: six are kept; those with a model call wait until twice as many stand there."""
    made = Transcript()
    found = []
    for n in range(14):
        made.said(f"q{n}") if n % 2 == 0 else made.replied(f"a{n}")
        if plan(made.view(), WARM, POLICIES[name]).cut is not None:
            found.append(n + 1)
    assert found[0] in {due, due + 1}


def test_the_policy_may_change_between_two_calls() -> None:
    """STR-4, MSC-14: each decision is made anew, on what stands."""
    view = of_size(36_000)
    eager = plan(view, WARM, EAGER)
    assert kinds(eager) == ["clear"]
    assert plan(eager.view, WARM, RESERVE).cut is None
    assert plan(eager.view, WARM, POLICIES["truncate"]).cut is not None


def test_a_plan_is_a_pure_function() -> None:
    """Same view, situation and policy: same plan."""
    view = of_size(50_000)
    for policy in POLICIES.values():
        one, two = plan(view, WARM, policy), plan(view, WARM, policy)
        assert (one.checkpoints, one.cut, one.reason) == (two.checkpoints, two.cut, two.reason)
