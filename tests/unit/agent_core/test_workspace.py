"""The state of the work, and the ledger of what was found out, through a compaction (ASM-8, DOM-7)."""

from dataclasses import replace

from agent_core.models.scripted import INFO, Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.workspace import EMPTY, LEDGER_CHARS, LEDGER_LINES, kept, ledger, state
from agent_core.types import Context
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, team
from tests.house import on_sqlite
from tests.unit.agent_core.transcript import Transcript


def work(*symbols: str) -> Transcript:
    made = Transcript()
    made.said("go")
    for symbol in symbols:
        made.looked(symbol, f"{symbol} closed\nat 10")
    return made


def test_an_empty_state_says_so_and_is_not_kept() -> None:
    """ASM-8."""
    assert state(work().rows, 1) == EMPTY == "(empty state)"
    assert kept(work().rows, 1) == ""


def test_the_state_counts_calls_in_two_lines_at_most() -> None:
    """ASM-8: a run directory and a counter for each tool, nothing else."""
    rows = work("A", "B").rows
    assert state(rows, 1) == "tool calls in this turn: quote ×2"
    assert state(rows, 1, "runs/7\nx").splitlines() == [
        "run directory: runs/7 x",
        "tool calls in this turn: quote ×2",
    ]


def test_the_state_lives_for_one_turn() -> None:
    """ASM-8."""
    made = work("A")
    made.replied("done")
    made.said("next")
    assert state(made.rows, 2) == EMPTY
    assert kept(made.rows, 2) == ""


def test_the_ledger_names_call_result_and_reference() -> None:
    """DOM-7."""
    lines = ledger(work("A", "B").rows, 1).splitlines()
    assert lines[1:] == [
        '- r3 quote("symbol": "A"): A closed at 10',
        '- r5 quote("symbol": "B"): B closed at 10',
    ]


def test_failures_are_no_verified_results_and_repeats_count_once() -> None:
    made = work("A")
    made.called("B")
    made.answered("B", "broken", is_error=True)
    made.called("A")
    last = made.answered("A", "A closed at 11")
    assert ledger(made.rows, 1).splitlines()[1:] == [
        f'- r{last} quote("symbol": "A"): A closed at 11'
    ]


def test_the_ledger_has_sixty_lines_and_four_thousand_characters_at_most() -> None:
    """DOM-7: the newest stay, and what is left out is said."""
    assert LEDGER_LINES == 60
    made = work(*(f"S{n}" for n in range(200)))
    text = ledger(made.rows, 1)
    lines = text.splitlines()
    assert len(lines) <= 60
    assert len(text) <= LEDGER_CHARS + 50
    assert '"S199"' in lines[-1]
    listed = len(lines) - 2
    assert lines[1] == f"({200 - listed} older results are not listed)"


SUMMARY = "## Goal\nmany words\n" + "\n".join(
    f"## {name}\nnone"
    for name in (
        *("Constraints & Preferences", "Progress", "Key Decisions", "Resolved Questions"),
        *("Pending User Asks", "Relevant Files", "Remaining Work", "Critical Context"),
        "Tools & Patterns",
    )
)


@on_sqlite
async def test_state_and_ledger_are_attached_again_after_a_compaction_inside_a_turn(
    db: Database,
) -> None:
    """ASM-8, DOM-7, EVT-2: before every round it is looked whether the request has grown too long."""
    rounds = iter(range(100))
    long = "the quick brown fox jumps over a lazy dog " * 90

    def script(request: ModelRequest) -> Answer | str:
        if "Critical Context" in request.messages[-1].text:
            return SUMMARY
        if any("State of the work" in t for t in texts(request)):
            return "done"
        return Answer(calls=(call("echo", f"c{(n := next(rounds))}", words=f"{n} {long}"),))

    model = ScriptedModel(script, info=replace(INFO, context_window=16_000))
    desk = Desk(db, model)
    answer = await desk.ask("go", team(agent(tools=("echo",), limits={"tool_rounds": 30})))
    assert answer.startswith("done")
    [head] = [t for t in texts(model.requests[-1]) if "State of the work" in t]
    assert "tool calls in this turn: echo ×" in head
    assert "Verified results of this turn" in head
    assert '- r4 echo("words": "0 the quick' in head
    assert not model.violations


def texts(request: ModelRequest) -> list[str]:
    return [b.text for m in request.messages for b in m.blocks if isinstance(b, Context)]
