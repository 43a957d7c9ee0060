"""A request is kept inside the model's window by leaving out whole old turns."""

from agent_core.assembly.window import fit
from agent_core.models.normalise import normalise, problems
from agent_core.models.tokens import mixed, threshold
from agent_core.types import Message, ToolResult, assistant, user
from tests.harness import call

WINDOW = 4_000
LONG = "words " * 300  # about 900 tokens


def turn(number: int, size: str = LONG) -> list[tuple[int, Message]]:
    asked = assistant("", call("echo", f"c{number}"))
    answer = Message("user", (ToolResult(f"c{number}", "echo", size),))
    return [(number, m) for m in (user(f"q{number}"), asked, answer, assistant(f"a{number}"))]


def test_what_fits_is_untouched() -> None:
    seen = turn(1, "x") + turn(2, "x")
    assert fit(seen, "sys", (), WINDOW) == seen


def test_the_oldest_turns_leave_whole_and_a_note_says_so() -> None:
    seen = [entry for n in range(1, 6) for entry in turn(n)]
    kept = fit(seen, "sys", (), WINDOW)
    assert "left out" in kept[0][1].text
    turns = [number for number, _ in kept[1:]]
    assert turns == [n for n in range(turns[0], 6) for _ in range(4)]
    assert mixed("sys", [m for _, m in kept[1:]]) <= threshold(WINDOW)


def test_as_many_turns_stay_as_fit() -> None:
    seen = [entry for n in range(1, 6) for entry in turn(n)]
    kept = {number for number, _ in fit(seen, "sys", (), WINDOW)}
    one_more = [entry for entry in seen if entry[0] >= min(kept) - 1]
    assert mixed("sys", [m for _, m in one_more]) > threshold(WINDOW)


def test_tool_pairs_stay_whole() -> None:
    seen = [entry for n in range(1, 9) for entry in turn(n)]
    kept = normalise([m for _, m in fit(seen, "sys", (), WINDOW)])
    assert not problems(kept.messages)


def test_the_present_turn_always_stays() -> None:
    """It is for the model's provider to refuse it; nothing of it is left out in silence."""
    huge = turn(2, LONG * 20)
    kept = fit(turn(1) + huge, "sys", (), WINDOW)
    assert [m for _, m in kept[1:]] == [m for _, m in huge]
    assert fit(huge, "sys", (), WINDOW) == huge
