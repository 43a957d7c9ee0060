"""Decisions carried out: summaries made or not, what is kept beside them, and the guard that always holds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent_core.compaction.compactor import Outcome, compact
from agent_core.compaction.decisions import Fact, Summary, body_of, checkpoint
from agent_core.compaction.economics import HOUR, Situation
from agent_core.compaction.frame import said
from agent_core.compaction.guard import guard
from agent_core.compaction.ladder import Asked
from agent_core.compaction.strategies import POLICIES, Policy
from agent_core.compaction.summary import Job, Made
from agent_core.compaction.view import View
from agent_core.errors import ModelOverloaded
from agent_core.models.normalise import normalise, problems
from agent_core.ports import ModelRequest
from agent_core.types import Usage
from tests.unit.agent_core.transcript import Transcript, texts

ECONOMIC, RESERVE = POLICIES["economic"], POLICIES["window_reserve"]
WARM = Situation(64_000)
TEXT = "The person compares two shares; nothing is decided yet."


def chat(turns: int, words: int = 3_000, result: int = 50) -> Transcript:
    made = Transcript()
    for n in range(turns):
        made.said(f"q{n} " + "w" * words)
        made.looked(f"c{n}", "r" * result)
        made.replied(f"a{n} " + "a" * words)
    return made


class Summariser:
    """Gives one text; keeps the jobs that it got."""

    def __init__(self, text: str = TEXT, **more: Any) -> None:
        self.jobs: list[Job] = []
        self.text, self.more = text, more

    async def __call__(self, job: Job) -> Made:
        self.jobs.append(job)
        return Made(self.text, job.profile, "a/m", Usage(10, 5), **self.more)


async def run(
    view: View,
    policy: Policy = RESERVE,
    situation: Situation = WARM,
    summariser: Callable[[Job], Any] | None = None,
    **more: Any,
) -> Outcome:
    return await compact(
        view,
        situation,
        policy,
        summariser or Summariser(),
        lambda v: ModelRequest("system", v.messages),
        **more,
    )


def summary_of(outcome: Outcome) -> Summary:
    bodies = [body_of(c) for c in outcome.checkpoints]
    found = [b for b in bodies if isinstance(b, Summary)]
    assert len(found) == 1
    return found[0]


async def test_a_summary_stands_for_what_is_behind_the_cut() -> None:
    """CMP-18, CMP-26: one head, before and after in the checkpoint, the range of rows, usage of the call."""
    view = chat(20).view()
    summariser = Summariser()
    outcome = await run(view, summariser=summariser)
    made = summary_of(outcome)
    assert outcome.summary_made
    assert (outcome.usage, outcome.model) == (Usage(10, 5), "a/m")
    assert made.before == outcome.before == view.tokens
    assert made.after == outcome.after < 0.6 * view.tokens
    assert made.archive == f"r1-r{outcome.view.until - 1}"
    assert [p.kind for p in outcome.view.parts].count("head") == 1
    assert summariser.jobs[0].rows[0].seq == 1
    assert outcome.notes[-1]["event"] == "compaction"
    assert outcome.notes[-1]["kinds"] == ["summary"]


async def test_the_outcome_is_what_the_checkpoints_say() -> None:
    """CMP-35, DESIGN 1.3: stored rows and checkpoints alone give the view back."""
    made = chat(20)
    for policy in POLICIES.values():
        outcome = await run(made.view(), policy)
        again = View.of(made.rows, outcome.checkpoints)
        assert again.messages == outcome.view.messages


@pytest.mark.parametrize("text", ["", "   ", "too short"])
async def test_an_empty_or_short_summary_leaves_everything_as_it_was(text: str) -> None:
    """CMP-14, CMP-20, ARC-6: the very same view, but the call is paid; the problem is told (CMP-15)."""
    view = chat(14).view()
    outcome = await run(
        view,
        situation=replace(WARM, threshold_tokens=view.tokens - 1),
        summariser=Summariser(text, problem="empty"),
    )
    assert not outcome.summary_made
    assert all(c.kind in {"drop", "clip"} for c in outcome.checkpoints)
    assert outcome.usage.total_input == 10
    assert any(n.get("problem") == "empty" for n in outcome.notes)


async def test_a_failed_summary_when_asked_for_changes_nothing() -> None:
    """CMP-14, CMP-15, CMP-20: nothing is due, so nothing is dropped either."""
    view = chat(6).view()

    async def fails(job: Job) -> Made:
        raise ModelOverloaded("a", "529")

    outcome = await run(view, summariser=fails, asked=Asked())
    assert outcome.view.messages == view.messages
    assert outcome.checkpoints == ()
    assert any("529" in n.get("problem", "") for n in outcome.notes)


async def test_history_is_bounded_even_when_every_summary_fails() -> None:
    """CMP-15, CMP-25: and the guard does not come back at every call."""
    made, view, guarded, summariser = Transcript(), View.of(()), 0, Summariser("")
    for n in range(120):
        made.said(f"q{n} " + "w" * 1_500)
        view = view.extended(made.rows[len(view.rows) :])
        outcome = await run(view, ECONOMIC, summariser=summariser)
        guarded += any(c.kind == "drop" for c in outcome.checkpoints)
        view = outcome.view
        assert WARM.total(view.tokens) <= WARM.threshold
        assert "q" + str(n) + " " in texts(view)[-1]
        made.replied("a" * 500)
    assert 0 < guarded < 40
    assert len(summariser.jobs) < 40


async def test_a_summary_that_came_to_nothing_is_not_tried_again_at_once() -> None:
    """CMP-15: not before a tenth of the window was added; when it is asked for, at any time."""
    made = chat(13)
    summariser = Summariser("")
    first = await run(made.view(), ECONOMIC, WARM, summariser)
    assert first.view.messages == made.view().messages
    view = View.of(made.rows, first.checkpoints)
    again = await run(view, ECONOMIC, WARM, summariser)
    assert len(summariser.jobs) == 1
    assert again.view.messages == view.messages
    await run(view, ECONOMIC, WARM, summariser, asked=Asked())
    assert len(summariser.jobs) == 2
    for n in range(6):
        made.said(f"more {n} " + "w" * 2_200)
    await run(View.of(made.rows, first.checkpoints), ECONOMIC, WARM, summariser)
    assert len(summariser.jobs) == 3


async def test_a_forked_summary_stands_on_the_request_that_would_be_sent() -> None:
    """Guide, 9: the same prefix on a warm cache; the rows alone on a cold one and for other policies."""
    view = chat(16).view()
    warm, cold, other = Summariser(), Summariser(), Summariser()
    await run(view, ECONOMIC, WARM, warm)
    await run(view, ECONOMIC, replace(WARM, idle_s=HOUR), cold)
    await run(chat(20).view(), RESERVE, WARM, other)
    request = warm.jobs[0].request
    assert request is not None
    assert request.messages == view.messages
    assert cold.jobs[0].request is None
    assert other.jobs[0].request is None


async def test_what_a_person_said_is_kept_word_for_word() -> None:
    """Guide, 3: clipped 300 + 300, through every compaction."""
    made = Transcript()
    made.said("Never sell at a loss. " + "x" * 2_000 + " I live in Lyon.")
    made.replied("understood")
    for n in range(60):
        made.said(f"and place {n}?")
        made.looked(f"c{n}", "r" * 1_000)
        made.replied("a" * 1_000)
    first = await run(made.view(), ECONOMIC, WARM)
    assert first.summary_made
    for n in range(60):
        made.said(f"and then place {n}?")
        made.replied("b" * 2_000)
    second = await run(View.of(made.rows, first.checkpoints), ECONOMIC, WARM)
    head = texts(second.view)[0]
    assert "Never sell at a loss." in head
    assert "I live in Lyon." in head
    assert "and place 7?" in head
    assert "x" * 700 not in head


def test_words_beyond_their_share_go_by_what_they_say() -> None:
    """Guide, 3: at most .2 W; first short words without a figure, then the oldest, rules last."""
    made = Transcript()
    made.said("Never sell at a loss, whatever happens to the price of it.")
    for n in range(40):
        made.said("yes, go on")
        made.said(f"my order {n} is number {n}{n}{n}, it came from the north of the country")
    seqs = [r.seq for r in made.rows]
    whole, clip = said(made.rows, 10_000, (300, 300))
    assert (list(whole), clip) == (seqs, (300, 300))
    some, clip = said(made.rows, 1_700, (300, 300), laid_down={1})
    assert clip == (300, 300)
    assert {r.seq for r in made.rows if r.message.text.startswith("my order")} <= set(some)
    assert len(some) < len(whole)
    few, _ = said(made.rows, 200, (300, 300), laid_down={1})
    assert few[0] == 1
    assert few[-1] == seqs[-1]
    assert said(made.rows, 0, (300, 300))[0] == ()


async def test_a_later_summary_gets_the_earlier_one_and_the_rows_since() -> None:
    """CMP-31: never a summary of a summary; the new one replaces it."""
    made = chat(20)
    first = await run(made.view())
    for n in range(20):
        made.said(f"more {n} " + "w" * 3_000)
        made.replied("a" * 2_000)
    summariser = Summariser("Brought up to date: the person has decided for one share.")
    second = await run(View.of(made.rows, first.checkpoints), summariser=summariser)
    job = summariser.jobs[0]
    assert job.previous is not None
    assert job.previous.text == TEXT
    assert job.rows[0].seq == first.view.until
    shown = texts(second.view)
    assert sum("Brought up to date" in t for t in shown) == 1
    assert not any(TEXT in t for t in shown)


async def test_facts_and_anchors_go_to_the_summariser_and_stay_beside_its_text() -> None:
    """CMP-16, KFS-6, ANC-1."""
    made = Transcript()
    made.said("预算是每天 500 元，代码 603373，看 plan.py")
    made.replied("好的")
    for n in range(20):
        made.said(f"q{n} " + "w" * 3_000)
        made.replied("a" * 3_000)
    summariser = Summariser()
    outcome = await run(made.view(), POLICIES["eager"], WARM, summariser, asked=Asked())
    assert [f.text for f in summariser.jobs[0].facts] == [
        "预算是每天 500 元，代码 603373，看 plan.py"
    ]
    assert any("603373" in a.text for a in summariser.jobs[0].anchors)
    assert "500" in texts(outcome.view)[0]


async def test_the_task_at_hand_survives_a_cut_inside_its_turn() -> None:
    """CMP-35, ASM-8: a tool loop longer than the window; the request stands in the head nearly whole."""
    made = Transcript()
    made.said("Mend the parser. " + "Detail. " * 300 + "Do not touch the tests.")
    for n in range(40):
        made.called(f"c{n}", words="I think that " * 250)
        made.answered(f"c{n}", f"line {n} " * 600)
    outcome = await run(made.view(), ECONOMIC, WARM, state="run: r1")
    head = texts(outcome.view)[0]
    assert "Mend the parser." in head
    assert "Do not touch the tests." in head
    assert head.count("Detail.") == 300
    assert head.rstrip().endswith("run: r1")
    assert problems(normalise(outcome.view.messages).messages) == []


async def test_the_last_delivered_answer_stays_raw() -> None:
    """CMP-35: also when a long tool loop has pushed it behind the cut."""
    made = Transcript()
    for n in range(3):
        made.said(f"q{n}")
        made.replied(f"The answer number {n} that you got.")
    made.said("Now look at everything.")
    for n in range(40):
        made.looked(f"c{n}", f"line {n} " * 600)
    outcome = await run(made.view(), RESERVE)
    raw = [p.message.text for p in outcome.view.parts if p.kind == "row"]
    assert "The answer number 2 that you got." in raw


async def test_a_compaction_that_gains_nothing_is_not_kept() -> None:
    """CMP-15: a summary larger than what it stands for."""
    view = chat(3, words=100).view()
    outcome = await run(view, summariser=Summariser("s" * 5_000), asked=Asked())
    assert not outcome.summary_made
    assert outcome.view.messages == view.messages


def test_the_guard_leaves_alone_what_fits() -> None:
    """CMP-25."""
    view = chat(4).view()
    assert guard(view, view.tokens) == (view, ())


def test_the_guard_drops_the_oldest_and_keeps_what_is_pinned() -> None:
    """CMP-25, defect 7: the head with the fresh summary, the last thing said, the newest exchange."""
    made = chat(12)
    head = Summary("Fresh summary of what was before.", "structured", archive="r1-r4")
    view = made.view(checkpoint(head, until=5))
    slim, found = guard(view, view.tokens // 2)
    assert slim.tokens <= view.tokens // 2
    assert [c.kind for c in found] == ["drop"]
    shown = texts(slim)
    assert "Fresh summary" in shown[0]
    assert any(t.startswith("q11 ") for t in shown)
    assert any(t.startswith("a11 ") for t in shown)
    assert not any(t.startswith("q2 ") for t in shown)
    assert problems(normalise(slim.messages).messages) == []


def test_in_one_long_turn_the_guard_drops_around_what_was_asked() -> None:
    """CMP-25: the last user message stays although it is the oldest."""
    made = Transcript()
    made.said("old question")
    made.replied("old answer")
    made.said("Do all of it.")
    for n in range(30):
        made.looked(f"c{n}", "r" * 4_000)
    slim, _ = guard(made.view(), 20_000)
    shown = texts(slim)
    assert slim.tokens <= 20_000
    assert "Do all of it." in shown
    assert "old question" not in shown
    assert problems(normalise(slim.messages).messages) == []


@pytest.mark.parametrize("who", ["person", "tool"])
def test_one_message_larger_than_the_window_is_clipped(who: str) -> None:
    """CMP-25, bad input: never an invalid request, never a lost row."""
    made = Transcript()
    made.said("look" if who == "tool" else "Begin. " + "x" * 400_000 + " End.")
    if who == "tool":
        made.looked("a", "Begin. " + "y" * 10_000_000 + " End.")
    slim, found = guard(made.view(), 47_616)
    assert slim.tokens <= 47_616
    assert {c.kind for c in found} == {"clip"}
    shown = "\n".join(texts(slim))
    assert "Begin." in shown
    assert "End." in shown
    assert "left out ref=" in shown


def test_a_head_that_was_made_for_a_larger_window_gives_up_words_before_facts() -> None:
    """CMP-25, MSC-14: the model of a session may have a smaller window from one call to the next."""
    made = Transcript()
    for n in range(6):
        made.said(f"q{n} " + "w" * 400)
        made.replied(f"a{n}")
    facts = (Fact(1, 1, "Never more than 5 % in one share.", "rule"),)
    long = " ".join(f"Sentence {n} of the summary." for n in range(2_000))
    head = Summary(long, "structured", facts=facts, words=(1, 3, 5), state="files " * 500)
    slim, found = guard(made.view(checkpoint(head, until=7)), 2_000)
    shown = texts(slim)
    assert slim.tokens <= 2_000
    assert "Sentence 1 of the summary." in shown[0]
    assert "Never more than 5 %" in shown[0]
    assert any(t.startswith("q5 ") for t in shown)
    assert "files" not in shown[0]
    assert guard(slim, 2_000) == (slim, ())
    tight, _ = guard(made.view(checkpoint(head, until=7)), 150)
    assert "Never more than 5 %" in texts(tight)[0]
    assert "Sentence" not in texts(tight)[0]
    assert not any(c.kind == "summary" for c in guard(tight, 1)[1]), "it is as small as it gets"
    assert found[-1].kind == "summary"


async def test_an_overflow_is_told_with_counts() -> None:
    """CMP-25: `context_overflow`."""
    made = Transcript()
    made.said("x" * 400_000)
    outcome = await run(made.view(), ECONOMIC)
    note = next(n for n in outcome.notes if n["event"] == "context_overflow")
    assert note["clipped"] > 0
    assert note["after"] <= WARM.threshold < note["before"]
