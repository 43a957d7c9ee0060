"""What a conversation goes on from after a compaction: four parts, and what breaks without each (MSC-6)."""

from dataclasses import replace

import pytest

from agent_core.compaction import archive
from agent_core.compaction.anchors import pick
from agent_core.compaction.decisions import Cleared, Summary, checkpoint
from agent_core.compaction.view import View
from agent_core.types import Checkpoint, Row
from tests.unit.agent_core.transcript import Transcript, texts

TAIL = "the draft stands at 14 lots"
ANCHOR = "the backtest of 603373 is in results/run_7.csv and failed"
MEMORY = "[preference] never sell on a Friday"
BARS = "2013-02-11 close 786.17 " * 20
PARTS = frozenset({"tail", "anchors", "memory", "archive"})


def conversation(*, memory: bool) -> Transcript:
    """A head with a finding and a long tool result, small talk, and a present turn."""
    made = Transcript()
    made.said(ANCHOR)
    made.looked("bars", BARS)
    made.replied("Noted.")
    for n in range(6):
        made.said(f"small talk {n}")
        made.replied(f"indeed {n}")
    made.replied(TAIL)
    made.said("go on with it", recall=MEMORY if memory else "")
    return made


def condensed(made: Transcript, parts: frozenset[str]) -> tuple[list[Row], list[Checkpoint]]:
    """The conversation behind a summary that says nothing of the four facts."""
    rows = made.rows
    end = rows[-1].seq
    cut = end - 1 if "tail" in parts else end
    picked = pick([r for r in rows if r.seq < cut]) if "anchors" in parts else ()
    body = Summary("They talked about stocks.", "structured", anchors=picked)
    if "archive" not in parts:
        rows = [r for r in rows if r.seq >= cut]
    return rows, [checkpoint(Cleared((3,)), until=4), checkpoint(body, until=cut)]


def known(parts: frozenset[str]) -> set[str]:
    """Which of the four facts a model can still get at."""
    rows, made = condensed(conversation(memory="memory" in parts), parts)
    seen = "\n".join(texts(View.of(rows, made)))
    facts = {"tail": TAIL, "anchors": "results/run_7.csv", "memory": MEMORY}
    found = {part for part, fact in facts.items() if fact in seen}
    assert BARS not in seen
    if BARS.strip() in archive.read(rows, made, "r3"):
        found.add("archive")
    return found


def test_the_four_parts_together_keep_everything() -> None:
    assert known(PARTS) == PARTS


@pytest.mark.parametrize("gone", sorted(PARTS))
def test_without_one_part_its_fact_is_lost_and_no_other(gone: str) -> None:
    """MSC-6: working state, excerpts, long-term memory and the archive each carry what the others do not."""
    assert known(PARTS - {gone}) == PARTS - {gone}


def test_the_summary_itself_is_not_what_they_hang_on() -> None:
    rows, made = condensed(conversation(memory=True), PARTS)
    body = replace(made[-1], body={**made[-1].body, "text": "Another text."})
    assert TAIL in "\n".join(texts(View.of(rows, [made[0], body])))
