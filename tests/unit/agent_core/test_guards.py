"""The doom-loop guard, by its vectors (DOM-1 … DOM-6)."""

import datetime as dt
import random

import pytest

from agent_core.runtime.guards import EXEMPT, first_loop, made_calls
from agent_core.types import Message, Row, RowKind, ToolUse, assistant
from tests.harness import call

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
QUESTION = (
    "What do analysts expect of the company's revenue in the next fiscal year, in US dollars?"
)
SHARED = "trend, support, resistance, volume, moving averages, and news"


def quote(symbol: str, n: int = 0) -> ToolUse:
    return call("quote", f"q{symbol}{n}", symbol=symbol)


def search(words: str, n: int = 0) -> ToolUse:
    return call("search", f"s{n}", query=words)


def test_the_third_equal_call_is_the_one_that_closes_the_loop() -> None:
    """DOM-1."""
    assert first_loop([quote("A", 1)], [quote("A", 2)]) is None
    assert first_loop([quote("A", 1), quote("A", 2)], [quote("A", 3)]) == 0


def test_the_order_of_arguments_does_not_matter() -> None:
    calls = [call("f", "1", a=1, b=2), call("f", "2", b=2, a=1), call("f", "3", a=1, b=2)]
    assert first_loop([], calls) == 2


def test_the_same_arguments_of_another_tool_are_another_call() -> None:
    calls = [call(name, name, symbol="A") for name in ("one", "two", "three")]
    assert first_loop([], calls) is None


@pytest.mark.parametrize(("others", "trips"), [(3, True), (4, False)])
def test_only_the_last_six_calls_count(others: int, trips: bool) -> None:
    """DOM-1: three within six, the present call included."""
    between = [quote(f"X{n}") for n in range(others)]
    past = [quote("A", 1), quote("A", 2), *between]
    assert (first_loop(past, [quote("A", 3)]) == 0) is trips


def test_a_loop_inside_one_batch_is_seen_before_it_runs() -> None:
    """DOM-5: three equal parallel calls never all run."""
    assert first_loop([], [quote("A", 1), quote("B"), quote("A", 2), quote("A", 3)]) == 3


def test_nearly_the_same_long_text_trips() -> None:
    """DOM-2: 50 characters or more, 3-gram Jaccard of 0.8 or more, three times."""
    calls = [search(QUESTION), search(QUESTION + "!", 1), search(QUESTION[:-1], 2)]
    assert first_loop([], calls) == 2


def test_a_long_text_that_differs_enough_does_not_trip() -> None:
    calls = [search(QUESTION), search(QUESTION[:40] + SHARED, 1), search(SHARED + QUESTION[40:], 2)]
    assert first_loop([], calls) is None


def test_short_texts_are_only_compared_exactly() -> None:
    """DOM-2: under 50 characters there is no likeness."""
    text = "a" * 49
    assert first_loop([], [search(text), search(text + "\n", 1), search("b" + text, 2)]) is None
    assert first_loop([], [search(text, n) for n in range(3)]) == 2


def test_ten_symbols_with_one_long_shared_text_do_not_trip() -> None:
    """DOM-6."""
    assert len(SHARED) >= 60
    batch = [call("analyse", f"c{n}", symbol=f"SYM{n}", focus=SHARED) for n in range(10)]
    assert first_loop([], batch) is None
    for n in range(10):
        assert first_loop(batch[:n], batch[n : n + 1]) is None


def test_a_sweep_over_parameters_does_not_trip() -> None:
    """DOM-6: data of a call is compared exactly, however long; only words may be nearly the same."""

    def params(n: int) -> dict[str, object]:
        return {"start": "2012-01-01", "end": "2013-01-01", "fast": n, "slow": 50, "cash": 10_000}

    batch = [call("run_backtest", f"c{n}", symbol="A", params=params(n)) for n in range(10, 20)]
    assert first_loop([], batch) is None
    lists = [call("screen", f"l{n}", symbols=[f"S{i}" for i in range(n, n + 20)]) for n in range(6)]
    assert first_loop([], lists) is None


def test_polling_a_background_task_is_no_loop_and_hides_none() -> None:
    """DOM-3: an exempt call is not recorded at all."""
    [exempt] = EXEMPT
    polls = [call(exempt, f"p{n}", id="1") for n in range(8)]
    assert first_loop([], polls) is None
    assert first_loop([quote("A", 1), quote("A", 2), *polls], [quote("A", 3)]) == 0


def test_broken_arguments_are_the_same_only_when_their_text_is() -> None:
    broken = [ToolUse(f"c{n}", "f", None, raw='{"a"') for n in range(3)]
    other = [ToolUse(f"c{n}", "f", None, raw=f'{{"a{n}"') for n in range(3)]
    assert first_loop([], broken) == 2
    assert first_loop([], other) is None


def test_the_window_is_one_turn() -> None:
    """DOM-6: calls of earlier turns do not count, whatever was compacted since."""
    rows = [
        Row(n, turn, RowKind.ASSISTANT, assistant("", quote("A", n)), "m", NOW)
        for n, turn in enumerate([1, 1, 2], 1)
    ]
    assert [c.id for c in made_calls(rows, 2)] == ["qA3"]
    assert made_calls([Row(1, 2, RowKind.USER, Message("user", ()), "", NOW)], 2) == []


def test_distinct_short_calls_never_trip() -> None:
    rng = random.Random(7)
    calls = [quote(str(n), n) for n in rng.sample(range(1000), 200)]
    assert first_loop(calls[:100], calls[100:]) is None
