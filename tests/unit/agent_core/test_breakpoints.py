"""Where cache marks go and how long they live (PCH-5, PCH-6, PCH-7), judged by a cache that bills as Anthropic does."""

import pytest

from agent_core.assembly.breakpoints import FAR, breakpoints
from agent_core.models.anthropic_wire import Form, body
from agent_core.ports import Breakpoint, ModelRequest
from agent_core.types import Message, Text, ToolResult, ToolUse, assistant, user
from tests.twins.anthropic_cache import PrefixCache
from tests.unit.agent_core.model_requests import CLAUDE, QUOTE

HOUR = "1h"


def loop(rounds: int, wide: int = 1, start: int = 0) -> list[Message]:
    """Rounds of a tool loop: an answer with calls, and their results."""
    found = []
    for n in range(start, start + rounds):
        ids = [f"c{n}-{i}" for i in range(wide)]
        found.append(assistant("look", *(ToolUse(id_, "quote", {"n": id_}) for id_ in ids)))
        found.append(Message("user", tuple(ToolResult(id_, "quote", "r" * 400) for id_ in ids)))
    return found


def test_nothing_has_no_marks() -> None:
    assert breakpoints([], [], 1) == ()


@pytest.mark.parametrize(
    ("messages", "turns", "turn", "expected"),
    [
        ([user("a")], [1], 1, [(0, "1h")]),
        ([user("a"), assistant("b"), user("c")], [1, 1, 2], 2, [(1, "1h"), (2, "1h")]),
        ([user("a"), *loop(1)], [1, 1, 1], 1, [(2, "5m")]),
        (
            [user("a"), assistant("b"), user("c"), *loop(1)],
            [1, 1, 2, 2, 2],
            2,
            [(1, "1h"), (4, "5m")],
        ),
        ([user("a"), assistant("b")], [1, 1], 2, [(1, "1h")]),
    ],
)
def test_the_end_of_what_is_stable_and_the_end(
    messages: list[Message], turns: list[int], turn: int, expected: list[tuple[int, str]]
) -> None:
    """PCH-5; an hour in plain chat, 5 minutes at the end of a tool loop."""
    assert [(b.at, b.ttl) for b in breakpoints(messages, turns, turn)] == expected


def test_a_long_turn_has_a_mark_where_the_call_before_ended() -> None:
    """PCH-7: more than about 15 blocks since the stable end."""
    earlier = [user("a"), assistant("b")]
    short = [user("c"), *loop(4)]  # 13 blocks
    long = [user("c"), *loop(5)]  # 16 blocks
    assert sum(len(m.blocks) for m in short) <= FAR < sum(len(m.blocks) for m in long)
    assert len(breakpoints([*earlier, *short], [1, 1] + [2] * len(short), 2)) == 2
    found = breakpoints([*earlier, *long], [1, 1] + [2] * len(long), 2)
    assert found == (Breakpoint(1, "1h"), Breakpoint(10), Breakpoint(12))


def test_marks_ascend_are_three_at_most_and_hours_stand_first() -> None:
    for rounds in range(12):
        for wide in (1, 3, 12):
            messages = [user("a"), assistant("b"), user("c"), *loop(rounds, wide)]
            turns = [1, 1] + [2] * (len(messages) - 2)
            found = breakpoints(messages, turns, 2)
            places = [b.at for b in found]
            assert places == sorted(set(places))
            assert len(found) <= 3
            lives = [b.ttl for b in found]
            assert lives == sorted(lives)  # "1h" < "5m"


def bill(
    cache: PrefixCache, messages: list[Message], turns: list[int], turn: int
) -> dict[str, int]:
    marks = breakpoints(messages, turns, turn)
    request = ModelRequest("s" * 8_000, tuple(messages), (QUOTE,), breakpoints=marks)
    return cache.read(body(request, CLAUDE, Form()))


@pytest.mark.parametrize("wide", [1, 2, 5, 12, 18])
def test_every_call_of_a_tool_loop_reads_all_that_the_call_before_wrote(wide: int) -> None:
    """PCH-6, PCH-7: also where one answer and its results are more than the 20 blocks that are looked back at."""
    cache = PrefixCache(smallest=100, clock=lambda: 0.0)
    messages = [user("a" * 4_000), assistant("b" * 400), user("c" * 400)]
    turns = [1, 1, 2]
    before = 0
    for n in range(6):
        used = bill(cache, messages, turns, 2)
        assert used["cache_read_input_tokens"] >= before
        assert used["input_tokens"] == 0
        before = used["cache_read_input_tokens"] + used["cache_creation_input_tokens"]
        more = loop(1, wide, n)
        messages, turns = messages + more, turns + [2] * len(more)


def test_the_next_turn_reads_what_this_turn_wrote_within_the_hour() -> None:
    """PCH-6: fresh input of a turn is what is new, not the history."""
    now = [0.0]
    cache = PrefixCache(smallest=100, clock=lambda: now[0])
    messages: list[Message] = []
    turns: list[int] = []
    for turn in range(1, 21):
        messages = [*messages, user(f"question {turn} " + "q" * 200)]
        turns = [*turns, turn]
        used = bill(cache, messages, turns, turn)
        if turn > 1:
            assert used["cache_creation_input_tokens"] < 600
            assert used["cache_read_input_tokens"] > 2_000
        messages = [*messages, Message("assistant", (Text("answer " + "a" * 1_200),))]
        turns = [*turns, turn]
        now[0] += 1_500  # 25 minutes: dead after 5, alive within the hour
