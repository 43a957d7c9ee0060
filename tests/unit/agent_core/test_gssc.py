"""Gather, select, summarise, compose: each stage against a golden file of its own (GSC-5, GSC-6)."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from agent_core.assembly.gssc import (
    Budgets,
    Candidate,
    compose,
    gather,
    pipeline,
    select,
    shortened,
    summarise,
)

GOLDEN = Path(__file__).parents[2] / "fixtures" / "gssc"
TASK = "Should I buy more NVDA before the earnings, given my stop rule? 英伟达财报前要不要加仓"


def candidates() -> list[Candidate]:
    """A person's rule, two memories, a foreign one, a tool's output that is long, an example, and noise."""
    return [
        Candidate(
            "rule", "memory", "facts", "Never buy NVDA in the week before earnings.", "alice", 30.0
        ),
        Candidate(
            "stop", "memory", "facts", "My stop rule: sell at 8 % below cost.", "alice", 20.0
        ),
        Candidate("zh", "memory", "facts", "英伟达财报前不加仓", "alice", 25.0),
        Candidate("bob", "memory", "facts", "Buy NVDA before earnings.", "bob", 40.0),
        Candidate(
            "news",
            "tool",
            "context",
            "NVDA earnings are due. " + "Filler text. " * 60,
            "alice",
            50.0,
            "objective fact",
        ),
        Candidate(
            "post", "web", "context", "To the moon, buy NVDA!", "alice", 60.0, "emotional view"
        ),
        Candidate(
            "example", "skill", "examples", "Earnings checklist: position, stop, size.", "alice"
        ),
        Candidate("noise", "history", "context", "The weather in Lisbon is fine.", "alice", 90.0),
        Candidate(
            "again",
            "history",
            "facts",
            "never  buy nvda in the week before earnings.",
            "alice",
            5.0,
        ),
        Candidate("blank", "history", "context", "   ", "alice"),
        Candidate("now", "person", "system", "Answer in English.", "alice", 99.0, pinned=True),
    ]


def golden(name: str, found: Any) -> None:
    """Compare with the golden file."""
    data = json.loads(json.dumps(found, ensure_ascii=False))
    assert data == json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


def plain(kept: Any, dropped: Any) -> dict[str, Any]:
    return {
        "kept": [c.id for c in kept],
        "dropped": {d.candidate.id: d.reason for d in dropped},
    }


def test_gather_takes_each_text_of_the_owner_once() -> None:
    """GSC-1, MEM-17."""
    staged = gather([candidates], "alice")
    golden("gather", plain(staged.kept, staged.dropped))


def test_select_scores_against_the_task_and_keeps_what_is_pinned() -> None:
    """GSC-2, GSC-6: low scores go, pinned candidates pass."""
    staged = select(gather([candidates], "alice").kept, TASK, Budgets())
    golden("select", plain(staged.kept, staged.dropped))
    scores = {c.id: round(c.score, 3) for c in staged.kept}
    assert scores["now"] == 0.0
    assert scores["rule"] > scores["stop"]


@pytest.mark.parametrize(
    ("budgets", "lost"),
    [
        (Budgets(sources={"memory": 20}), "source budget"),
        (Budgets(total=30), "total budget"),
        (Budgets(least_score=0.9), "low score"),
    ],
)
def test_select_says_why_it_drops(budgets: Budgets, lost: str) -> None:
    staged = select(gather([candidates], "alice").kept, TASK, budgets)
    assert lost in {d.reason for d in staged.dropped}
    assert "now" in {c.id for c in staged.kept}


def test_select_hangs_on_nothing_but_its_arguments() -> None:
    found = gather([candidates], "alice").kept
    assert select(found, TASK, Budgets()) == select(tuple(reversed(found)), TASK, Budgets())


def test_summarise_shortens_long_items_and_says_what_is_missing() -> None:
    """GSC-3."""
    staged = summarise(gather([candidates], "alice").kept, Budgets(item_chars=120))
    golden("summarise", {c.id: c.text for c in staged.kept})
    assert all(len(c.text) <= 120 for c in staged.kept if not c.pinned)


@pytest.mark.parametrize("chars", [40, 60, 100, 399, 400])
def test_a_shortened_text_tells_exactly_how_much_went(chars: int) -> None:
    text = "".join(chr(97 + n % 26) for n in range(400))
    short = shortened(text, chars)
    assert len(short) <= chars
    if chars < 400:
        head, _, rest = short.partition(" […")
        missing, _, tail = rest.partition(" characters left out…] ")
        assert len(head) + int(missing) + len(tail) == 400


def test_compose_orders_by_kind_and_labels_by_credibility() -> None:
    """GSC-4, CRD-2: system, facts, examples, context."""
    text = compose(gather([candidates], "alice").kept)
    golden("compose", text.splitlines())


def test_the_whole_pipeline_accounts_for_every_candidate() -> None:
    """GSC-5: what is not shown has a reason."""
    done = pipeline([candidates], TASK, "alice")
    shown = {c.id for c in done.kept}
    lost = {d.candidate.id for d in done.dropped}
    assert shown | lost == {c.id for c in candidates()}
    assert not shown & lost
    golden(
        "pipeline", {"text": done.text.splitlines(), "kept": [asdict(c)["id"] for c in done.kept]}
    )


def test_nothing_gives_an_empty_text() -> None:
    assert pipeline([list], TASK, "alice").text == ""
