"""The doom-loop guard for any series of calls (DOM-1, DOM-2, DOM-6)."""

from hypothesis import given
from hypothesis import strategies as st

from agent_core.runtime.guards import EXEMPT, SAME_CALLS, first_loop
from agent_core.types import ToolUse

REPEATS = SAME_CALLS + 1
WINDOW = 2 * REPEATS
SHARED = "trend, support, resistance, volume, moving averages, and the news of the week"
names = st.sampled_from(["quote", "search", *EXEMPT])
values = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b", "x" * 60]), st.none())
calls = st.builds(
    ToolUse, st.uuids().map(str), names, st.dictionaries(st.sampled_from("pq"), values, max_size=2)
)


@given(st.lists(calls, max_size=12), st.lists(calls, max_size=12))
def test_a_trip_has_three_calls_of_one_tool_within_six(past: list[ToolUse], batch: list[ToolUse]):
    found = first_loop(past, batch)
    if found is None:
        return
    assert batch[found].name not in EXEMPT
    seen = [c for c in [*past, *batch[: found + 1]] if c.name not in EXEMPT][-WINDOW:]
    assert sum(c.name == batch[found].name for c in seen) >= REPEATS


@given(st.lists(calls, max_size=12), st.lists(calls, max_size=12))
def test_equal_calls_are_always_found(past: list[ToolUse], batch: list[ToolUse]):
    """Whatever surrounds them, three exactly equal calls within six never run."""
    series = [c for c in [*past, *batch] if c.name not in EXEMPT]
    exact = any(
        sum((c.name, c.args) == (last.name, last.args) for c in series[max(0, i - 5) : i + 1]) >= 3
        for i, last in enumerate(series)
        if i >= len(series) - sum(c.name not in EXEMPT for c in batch)
    )
    if exact:
        assert first_loop(past, batch) is not None


@given(st.lists(calls, max_size=12), st.lists(calls, max_size=8))
def test_a_batch_is_judged_as_if_its_calls_came_one_by_one(
    past: list[ToolUse], batch: list[ToolUse]
):
    alone = next(
        (i for i, c in enumerate(batch) if first_loop([*past, *batch[:i]], [c]) == 0), None
    )
    assert first_loop(past, batch) == alone


@given(st.lists(st.text("ABCDEFGHIJ0123456789", min_size=1, max_size=12), unique=True, max_size=30))
def test_different_symbols_never_trip_whatever_they_share(symbols: list[str]):
    batch = [ToolUse(str(n), "analyse", {"s": s, "focus": SHARED}) for n, s in enumerate(symbols)]
    assert first_loop([], batch) is None
