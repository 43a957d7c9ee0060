"""Rules of consent as plain data: which call they hold for, and what several of them mean together (TGV-8)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core import approvals
from agent_core.approvals import Condition, Rule


@pytest.mark.parametrize(
    ("condition", "args", "holds"),
    [
        (Condition("mode", "is", "live"), {"mode": "live"}, True),
        (Condition("mode", "is", "live"), {"mode": " LIVE"}, True),
        (Condition("mode", "is", "live"), {"mode": "paper"}, False),
        (Condition("mode", "not", "paper"), {"mode": "paper"}, False),
        (Condition("mode", "not", "paper"), {"mode": "Paper"}, True),
        (Condition("n", "is", 5), {"n": 5.0}, True),
        (Condition("n", "is", 5), {"n": "5"}, True),
        (Condition("on", "is", True), {"on": True}, True),
        (Condition("on", "is", True), {"on": 1}, False),
        (Condition("n", "gt", 1_000), {"n": 1_000}, False),
        (Condition("n", "gt", 1_000), {"n": 1_000.01}, True),
        (Condition("n", "gte", 1_000), {"n": 1_000}, True),
        (Condition("n", "lt", 1_000), {"n": 1_000}, False),
        (Condition("n", "lte", 1_000), {"n": "1e3"}, True),
        (Condition("s", "in", ("AAPL", "GOOG")), {"s": "goog"}, True),
        (Condition("s", "in", ("AAPL", "GOOG")), {"s": "MSFT"}, False),
        (Condition("s", "in", ("AAPL",)), {"s": ["MSFT", "AAPL"]}, True),
        (Condition("order.n", "gt", 1), {"order": {"n": 2}}, True),
        (Condition("order.n", "gt", 1), {"order": {"n": 1}}, False),
    ],
)
def test_a_condition_is_judged_by_the_argument(
    condition: Condition, args: dict[str, Any], holds: bool
) -> None:
    assert condition.holds(args) is holds


@pytest.mark.parametrize(
    "args",
    [{}, {"n": None}, {"n": "much"}, {"n": {"x": 1}}, {"n": float("nan")}, {"n": True}, {"n": []}],
)
def test_what_cannot_be_judged_counts_as_a_match(args: dict[str, Any]) -> None:
    """Leaving an argument out is no way around a rule."""
    assert Condition("n", "gt", 1_000).holds(args)
    assert Condition("n", "lte", 1_000).holds(args)


SMALL = Rule("order", when=(Condition("n", "lte", 10),), expires=600, remember="always")
LARGE = Rule("order", when=(Condition("n", "gt", 10),), expires=120, editable=("n",))
EACH = Rule("order", show=("n",), remember="session", editable=("n", "at"))


def test_rules_add_up() -> None:
    rules = approvals.of_tool((SMALL, LARGE, EACH, Rule("pay")), "order")
    assert approvals.matching(rules, {"n": 5}) == (SMALL, EACH)
    assert approvals.matching(rules, {"n": 50}) == (LARGE, EACH)
    assert approvals.matching(rules, {}) == (SMALL, LARGE, EACH)


def test_the_shortest_time_the_fewest_changes_and_the_narrowest_memory_win() -> None:
    assert approvals.valid_for((SMALL, LARGE, EACH), 300) == 120
    assert approvals.valid_for((EACH,), 300) == 300
    assert approvals.may_change((LARGE, EACH, SMALL)) == {"n"}
    assert approvals.may_change((SMALL,)) == frozenset()
    assert approvals.kept_for((SMALL, EACH)) == "session"
    assert approvals.kept_for((SMALL, EACH, LARGE)) == "never"
    assert approvals.kept_for(()) == "never"


scalars = st.one_of(st.text(max_size=5), st.integers(), st.floats(allow_nan=False), st.booleans())
conditions = st.builds(
    Condition,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["is", "not", "lt", "gt", "in"]),
    st.one_of(scalars, st.tuples(scalars, scalars)),
)
rules = st.builds(
    Rule,
    st.just("order"),
    when=st.tuples(conditions, conditions),
    quorum=st.integers(1, 10),
    expires=st.none() | st.floats(1, 1_000),
    editable=st.none() | st.just(("n",)),
)


@given(st.lists(rules, max_size=4), st.dictionaries(st.sampled_from(["a", "b"]), scalars))
def test_rules_outlive_being_stored(some: list[Rule], args: dict[str, Any]) -> None:
    again = approvals.from_json(json.loads(json.dumps(approvals.to_json(some))))
    assert again == tuple(some)
    assert approvals.digest(again) == approvals.digest(some)
    assert approvals.matching(again, args) == approvals.matching(some, args)
